//! Drives a peer with tokio and the webrtc crate.
