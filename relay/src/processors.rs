//! The threads of one kind: how many there are for a machine's processors.

/// The number of a thread among those of its kind.
pub(crate) type ThreadId = usize;

/// The number of threads for the data channels, and that of the workers for everything else, on this machine. One
/// processor is left to the other kind and the system. A small machine has one of each kind: two that wake each other up
/// would make packets late.
#[must_use]
pub fn threads() -> usize {
    of(std::thread::available_parallelism().map_or(1, usize::from))
}

const fn of(processors: usize) -> usize {
    if processors > 2 { processors - 1 } else { 1 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_processor_is_left_on_machines_that_have_some() {
        assert_eq!([1, 2, 3, 4, 16].map(super::of), [1, 1, 2, 3, 15]);
    }
}
