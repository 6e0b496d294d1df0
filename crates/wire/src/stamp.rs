//! The stamp of an ownership: its age relative to others.

use crate::Term;

/// `(term, counter)`, compared in that order (PROTOCOL §4.2).
///
/// The source of this scheme (docs/sources.md, "Bitsquid") has only the counter. Here two hosts of different terms
/// may give the same counter to two owners; the term then decides between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The term in which this ownership began.
    pub term: Term,
    /// Grows with each change of the owner; the host counts these.
    pub counter: u32,
}

impl Stamp {
    /// The stamp of an object created in `term`.
    #[must_use]
    pub const fn created(term: Term) -> Self {
        Self { term, counter: 0 }
    }

    /// The stamp of the next ownership, granted in `term`.
    #[must_use]
    pub const fn granted(self, term: Term) -> Self {
        Self { term, counter: self.counter.saturating_add(1) }
    }
}
