//! The planted bugs: rules of the session that are broken one at a time, and the checks that must notice.

mod directory;
mod fitness;
mod hostile;
mod link;
mod objects;
mod order;
mod relay;
mod returns;
mod roster;
mod samovar;
mod session;

/// One planted bug.
pub(super) struct Mutant {
    /// The bug's name on the command line.
    pub(super) name: &'static str,
    /// The package's directory: below `crates/`, except that the relay's is below the root.
    pub(super) package: &'static str,
    /// A pattern that fits exactly one place in the package's sources.
    pub(super) text: &'static str,
    /// The code that replaces the pattern. `$` stands for the text that the pattern's first `$` fits, `$2` for that
    /// of the second.
    pub(super) instead: &'static str,
    /// The resulting fault.
    pub(super) breaks: &'static str,
    /// The promise that the bug breaks.
    pub(super) guards: Promise,
    /// The check that must notice.
    pub(super) finder: Finder,
}

/// Samovar's promises, which it keeps whatever dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// When changes stop, all live members have the same objects, owners and values.
    Convergence,
    /// A stamp names one owner; at every peer stamps of an object only grow.
    OneOwner,
    /// An update from a peer that is not the owner, or under an older stamp, changes nothing.
    OwnerSpeaks,
    /// A warrant has one host. After a partition heals, the session has one host.
    OneHost,
    /// A lane keeps its guarantee: reliable messages arrive exactly once and in order, sequenced ones never after a
    /// newer one.
    Reliable,
    /// Causal, total and time-stamp deliveries and frames of lockstep keep their order at every member.
    Order,
    /// An accepted input survives any single failure, and what a losing side accepted alone is reported.
    Accepted,
    /// Hostile bytes and strangers take nothing from a member.
    UntrustedBytes,
    /// Memory is bounded by live members and objects.
    Memory,
    /// A dead relay does not stop a direct game, nor do dead hosts while the relay or a majority lives.
    Survival,
    /// Whenever a majority is connected and quiet, it has a host.
    Liveness,
    /// A member whose game stands still does not host.
    Playing,
    /// No act of a person or a browser ends a seat within its grace time.
    Seat,
    /// A relay's restart drops no seat and deposes no host of a game with direct paths.
    RelayRestart,
}

/// The check that must notice a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finder {
    /// The simulator in this scenario, within the first thousand seeds.
    Sim(&'static str),
    /// A model: a test that runs the real state machines through all orders of events within bounds, or through many.
    Model(&'static [&'static str]),
    /// A test: the arguments of `cargo test`, the name of the test last.
    Test(&'static [&'static str]),
}

/// Finds bugs of elections in thousands of histories of peers and a relay.
const ELECTIONS: Finder =
    Finder::Model(&["-p", "samovar-tests", "--test", "election", "random_histories_have_one_host_per_term"]);

/// All planted bugs. Those of one file follow each other, so that little is compiled again from one to the next.
pub(super) fn all() -> impl Iterator<Item = &'static Mutant> {
    let lists = [
        roster::MUTANTS,
        samovar::MUTANTS,
        directory::MUTANTS,
        returns::MUTANTS,
        fitness::MUTANTS,
        relay::MUTANTS,
        session::MUTANTS,
        hostile::MUTANTS,
        objects::MUTANTS,
        order::MUTANTS,
        link::MUTANTS,
    ];
    lists.into_iter().flatten()
}
