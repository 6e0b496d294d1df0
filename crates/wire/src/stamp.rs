//! The stamp of an ownership: its age relative to others.

use crate::Term;

/// `(term, counter)`, compared in that order (PROTOCOL §4.2).
///
/// The source has the counter alone (docs/sources.md, "Bitsquid"). The term keeps two hosts that each count to one from
/// naming two owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The term in which this ownership began.
    pub term: Term,
    /// Grows at each ownership change; the host counts.
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
