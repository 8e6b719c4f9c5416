//! A small HTTP server that answers what a test tells it to, or nothing at all.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use tempfile::TempDir;

/// An answer: the HTTP status and the body. `None` keeps the caller waiting.
pub type Answer = Option<(u16, String)>;

/// A server on loopback. It ends with the test's process.
pub struct Server {
    address: String,
    asked: Mutex<mpsc::Receiver<String>>,
    folder: TempDir,
}

impl Server {
    /// A server that answers `METHOD path?query` with what the function says.
    pub fn new(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (tell, asked) = mpsc::channel();
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, tell) = (Arc::clone(&answer), tell.clone());
                thread::spawn(move || serve(stream, &*answer, &tell));
            }
        });
        Self { address, asked: Mutex::new(asked), folder: tempfile::tempdir().expect("a folder") }
    }

    /// A kubeconfig that leads here.
    pub fn kubeconfig(&self) -> PathBuf {
        let path = self.folder.path().join("kubeconfig");
        let text = format!(
            "{{current-context: test, contexts: [{{name: test, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}], users: [{{name: u, user: {{token: t0ken}}}}]}}",
            self.address
        );
        std::fs::write(&path, text).expect("written");
        path
    }

    /// Waits for a request and returns its first line without the protocol.
    pub fn next_request(&self) -> String {
        let asked = self.asked.lock().expect("one reader");
        asked.recv_timeout(Duration::from_secs(60)).expect("a request")
    }
}

fn serve(stream: TcpStream, answer: &(dyn Fn(&str) -> Answer + Send + Sync), tell: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut writer = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 {
                return;
            }
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let request = first.trim().trim_end_matches(" HTTP/1.1").to_owned();
        let _ = tell.send(request.clone());
        let Some((status, body)) = answer(&request) else {
            // The connection stays open until the caller gives up.
            let _ = reader.read_line(&mut String::new());
            return;
        };
        let head =
            format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

/// A Status as an API server writes one.
pub fn status(code: u16, reason: &str, message: &str) -> Answer {
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code,
    });
    Some((code, body.to_string()))
}
