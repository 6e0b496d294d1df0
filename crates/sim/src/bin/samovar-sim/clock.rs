//! The only module of the simulator that reads a real clock. A soak needs the real time to end after `--minutes`, and
//! to report its speed.

#![expect(
    clippy::disallowed_types,
    reason = "the worlds have a time of their own; this is about the machine's"
)]

use std::time::Duration;
use std::time::Instant;

/// A stopwatch of real time.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The CPU seconds that this process has used on all cores together. On a system without `/proc/self/stat`, this is
/// the real time multiplied by the number of cores.
pub(crate) fn core_seconds(watch: Stopwatch) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let told = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| ticks(&stat));
    told.map_or(watch.elapsed().as_secs_f64() * cores as f64, |ticks| ticks as f64 / 100.0)
}

/// User and system time, in hundredths of a second (proc(5)): the 14th and 15th field. The second field is a name in
/// brackets that may hold blanks.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn cpu_time_is_read_after_the_name_of_the_program() {
        let stat = "7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 120 34 0 0 20 0";
        assert_eq!(ticks(stat), Some(154));
    }
}
