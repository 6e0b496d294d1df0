//! Measurements of real browsers and processes. A shared machine promises no milliseconds, so a test compares medians
//! with generous bounds, and with a control of the same run. `cargo xtask prove` runs them.

mod latency;
mod lost_host;
mod silence;
