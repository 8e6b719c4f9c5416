//! The one place that holds a client: connect, observe, apply, wait, access.
