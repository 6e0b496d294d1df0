//! The usage of a process, from Linux.

use std::fs;
use std::time::Duration;

/// Bytes of a page, and ticks of the clock in a second: the same on every Linux that this runs on.
const PAGE: usize = 4_096;
const TICKS: u64 = 100;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    /// The part of `cpu` that the kernel used on the process's behalf.
    pub(crate) system: Duration,
    /// Bytes of memory that the process holds.
    pub(crate) memory: usize,
}

impl Usage {
    pub(crate) fn of(process: u32) -> Self {
        let read =
            |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).expect("Linux, and it runs");
        let stat = read("stat");
        // After the program's name in parentheses come the state and then numbers.
        let (_, fields) = stat.rsplit_once(") ").expect("a name");
        let field = |index: usize| -> u64 {
            fields.split(' ').nth(index).and_then(|text| text.parse().ok()).expect("a number")
        };
        let ticks = |ticks: u64| Duration::from_millis(ticks * 1_000 / TICKS);
        let (cpu, system) = (ticks(field(11) + field(12)), ticks(field(12)));
        let statm = read("statm");
        let pages: usize = statm.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a number");
        Self { cpu, system, memory: pages * PAGE }
    }
}
