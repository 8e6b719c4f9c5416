//! A proxy before the API server that holds requests, so that a test can stop a program between two of them.
//!
//! It speaks plain HTTP on loopback, adds the user's credentials (clients do not send theirs without TLS), and passes on
//! everything else as it is, watches included.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use serde_json::json;

use super::{Client, Cluster, User};

/// Whether to hold a request, from the number of requests that passed before and from its method and path (with query).
type Rule = Box<dyn Fn(usize, &str) -> bool + Send>;

#[derive(Default)]
struct State {
    rule: Option<Rule>,
    passed: Vec<String>,
    held: Vec<String>,
    gone: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    client: Client,
}

/// The proxy. It is open at first; dropping it drops the requests that it holds.
pub struct Gate {
    kubeconfig: PathBuf,
    shared: Arc<Shared>,
}

impl Cluster {
    /// A gate through which requests come in the name of `user`.
    pub fn gate(&self, user: &User) -> Gate {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let kubeconfig = self.dir().join(format!("{}.kubeconfig", self.unique("gate")));
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "gate",
            "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate", "namespace": "default"}}],
            "clusters": [{"name": "gate", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "gate", "user": {}}],
        });
        fs::write(&kubeconfig, config.to_string()).expect("the directory is writable");
        let client = self.client_as(user, "gate");
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), client });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.state().gone {
                    break;
                }
                let shared = Arc::clone(&accepting);
                // A client that goes away in the middle is what gates are for.
                thread::spawn(move || serve(&shared, &stream).ok());
            }
        });
        Gate { kubeconfig, shared }
    }
}

impl Gate {
    /// The kubeconfig that leads through the gate.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Holds each request for which `rule` says so, from the number of requests that passed before and from its method and
    /// path, for instance `PATCH /apis/apps/v1/namespaces/x/deployments/y?fieldManager=kctl`.
    pub fn hold_when(&self, rule: impl Fn(usize, &str) -> bool + Send + 'static) {
        self.shared.change(|state| state.rule = Some(Box::new(rule)));
    }

    /// Lets `count` more requests pass and holds those after them.
    pub fn close_after(&self, count: usize) {
        let limit = self.passed().len() + count;
        self.hold_when(move |passed, _| passed >= limit);
    }

    /// Lets everything pass, also what is held, unless its sender is gone.
    pub fn open(&self) {
        self.shared.change(|state| state.rule = None);
    }

    /// The requests that passed.
    pub fn passed(&self) -> Vec<String> {
        self.shared.state().passed.clone()
    }

    /// Waits until a request is held, or until `ended` says that none will come. Gives the request.
    #[track_caller]
    pub fn wait_held(&self, deadline: Duration, mut ended: impl FnMut() -> bool) -> Option<String> {
        let start = Instant::now();
        let mut state = self.shared.state();
        loop {
            if let Some(request) = state.held.first() {
                return Some(request.clone());
            }
            if ended() {
                return None;
            }
            assert!(start.elapsed() < deadline, "no request was held in {deadline:?}; passed: {:#?}", state.passed);
            let pause = Duration::from_millis(20);
            state = self.shared.changed.wait_timeout(state, pause).expect("no panic while locked").0;
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shared.change(|state| state.gone = true);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until `request` may pass; tells whether it still should.
    fn pass(&self, request: &str, stream: &TcpStream) -> bool {
        let is_held = |state: &State| state.rule.as_ref().is_some_and(|rule| rule(state.passed.len(), request));
        let mut state = self.state();
        if is_held(&state) {
            state.held.push(request.to_owned());
            self.changed.notify_all();
            while is_held(&state) && !state.gone && !is_closed(stream) {
                let pause = Duration::from_millis(20);
                state = self.changed.wait_timeout(state, pause).expect("no panic while locked").0;
            }
            state.held.retain(|held| held != request);
        }
        let passes = !state.gone && !is_closed(stream);
        if passes {
            state.passed.push(request.to_owned());
        }
        passes
    }
}

/// Whether the other side closed the connection. It sends nothing while it waits for an answer.
fn is_closed(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let open =
        stream.set_nonblocking(false).is_ok() && peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
    !open
}

fn serve(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        let line = format!("{} {}", request.method(), request.uri());
        if !shared.pass(&line, stream) {
            break;
        }
        relay(&shared.client, request, stream)?;
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<http::Request<Vec<u8>>>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut builder = http::Request::builder().method(words.next().unwrap_or("")).uri(words.next().unwrap_or(""));
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str()) {
            length = value.trim().parse().map_err(io::Error::other)?;
        } else if ![HOST, CONNECTION].iter().any(|header| name.eq_ignore_ascii_case(header.as_str())) {
            builder = builder.header(name, value.trim());
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    builder.body(body).map(Some).map_err(io::Error::other)
}

fn relay(client: &Client, request: http::Request<Vec<u8>>, mut stream: &TcpStream) -> io::Result<()> {
    let mut answer = client.begin(request).map_err(io::Error::other)?;
    write!(stream, "HTTP/1.1 {}\r\n", answer.status())?;
    for (name, value) in answer.headers() {
        if ![CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION].contains(name) {
            stream.write_all(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat())?;
        }
    }
    stream.write_all(b"transfer-encoding: chunked\r\n\r\n")?;
    while let Some(chunk) = client.next_chunk(&mut answer).map_err(io::Error::other)? {
        stream.write_all(&[format!("{:x}\r\n", chunk.len()).as_bytes(), &chunk, b"\r\n"].concat())?;
    }
    stream.write_all(b"0\r\n\r\n")
}
