//! Manifests and dumps as a Kubernetes API in memory.
