//! Measurements of real browsers and processes: medians, with room, and beside a control of the same run, because a
//! shared machine promises no milliseconds. `cargo xtask prove` runs it.

mod latency;
mod lost_host;
mod silence;
