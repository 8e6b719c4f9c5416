//! Waiting for conditions. Tests never sleep for a fixed time.

use std::thread;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(20);

/// Asks `condition` again and again until it holds. Panics with `what` when `deadline` passes first.
#[track_caller]
pub fn wait_until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(what, deadline, || if condition() { Ok(()) } else { Err(String::new()) });
}

/// Asks `probe` again and again until it gives a value. Panics with `what` and the last error when `deadline` passes first.
#[track_caller]
pub fn wait_for<T>(what: &str, deadline: Duration, probe: impl FnMut() -> Result<T, String>) -> T {
    try_wait_for(what, deadline, probe).unwrap_or_else(|error| panic!("{error}"))
}

/// Like [`wait_for`], for callers that can go on without.
pub fn try_wait_for<T>(
    what: &str,
    deadline: Duration,
    mut probe: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let start = Instant::now();
    loop {
        match probe() {
            Ok(value) => return Ok(value),
            Err(last) if start.elapsed() >= deadline => {
                let last = if last.is_empty() { last } else { format!(": {last}") };
                return Err(format!("waited {:.1} s in vain for {what}{last}", start.elapsed().as_secs_f32()));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
