//! The relay as a process, over real sockets on the loopback interface.

#[cfg(target_os = "linux")]
mod addresses;
#[cfg(unix)]
mod admin;
mod attack;
mod bars;
mod bots;
mod bounds;
mod caller;
mod channels;
mod deploy;
mod drain;
mod farewell;
mod figures;
mod forward;
mod gate;
mod guide;
mod herd;
mod limits;
mod log;
mod metrics;
mod nested;
mod page;
mod peer;
mod process;
mod refusals;
mod settings;
mod siege;
mod start;
mod status;
mod strangers;
mod terms;
mod tls;
#[cfg(feature = "otel")]
mod traces;
