//! Switching between instances that share an id.
