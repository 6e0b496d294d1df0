//! What real browsers and processes measure: medians, with room, and beside a control of the same run, since a machine
//! that others use promises no milliseconds. `cargo xtask prove` runs it.

mod latency;
mod lost_host;
mod silence;
