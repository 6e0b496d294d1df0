//! Drives a peer in the browser: data channels, WebSocket, timers.

pub mod connection;
mod listener;
