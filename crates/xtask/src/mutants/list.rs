//! The planted bugs: rules of the session that are broken one at a time, and what has to notice.

mod directory;
mod link;
mod objects;
mod order;
mod roster;
mod session;

/// One planted bug.
pub(super) struct Mutant {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// The file, below the root.
    pub(super) file: &'static str,
    /// A text that is there exactly once.
    pub(super) text: &'static str,
    /// What takes its place.
    pub(super) instead: &'static str,
    /// What is wrong then.
    pub(super) breaks: &'static str,
    /// What has to notice.
    pub(super) finder: Finder,
}

/// What has to notice a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finder {
    /// The simulator in this scenario, within the first thousand seeds.
    Sim(&'static str),
    /// The same with members that are linked to the host and its backups only.
    Star(&'static str),
    /// A model: a test that goes through histories or orders of what can happen to the real machines, all or many.
    Model(&'static [&'static str]),
    /// A test: the arguments of `cargo test`, the name of the test last.
    Test(&'static [&'static str]),
}

/// Elections: thousands of histories of peers and a relay.
const ELECTIONS: Finder =
    Finder::Model(&["-p", "samovar-tests", "--test", "election", "random_histories_have_one_host_per_term"]);

/// All planted bugs, those of one file beside each other, so that little is compiled anew from one to the next.
pub(super) fn all() -> impl Iterator<Item = &'static Mutant> {
    let lists = [
        roster::MUTANTS,
        directory::MUTANTS,
        session::MUTANTS,
        objects::MUTANTS,
        order::MUTANTS,
        link::MUTANTS,
    ];
    lists.into_iter().flatten()
}
