//! `person`: people who click, type, reload, close and cut networks at random, on three pages and a relay.
//!
//! The walk itself is a test of `samovar-tests`; a seed gives the same actions each time.

use crate::check::browser::{self, Stage};
use crate::process::Result;
use crate::repo::Repo;
use crate::tools::Toolbox;

/// The seed and the length of a walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Order {
    /// The seed, which determines every action.
    pub(crate) seed: u64,
    /// The time for which the people act, in minutes.
    pub(crate) minutes: f64,
}

/// Builds what is out of date, and runs the walk.
///
/// # Errors
/// A page reports an error, stands still or loses its seat: the seed is printed with all acts.
pub(crate) fn walk(repo: &Repo, toolbox: &Toolbox<'_>, order: Order) -> Result<()> {
    let Order { seed, minutes } = order;
    println!("`cargo xtask person --seed {seed} --minutes {minutes}` does the same again.");
    let own = [("SAMOVAR_PERSON_SEED", seed.to_string()), ("SAMOVAR_PERSON_MINUTES", minutes.to_string())];
    let own = own.map(|(name, value)| (name, value.into()));
    let stage = Stage::build(repo, toolbox)?;
    browser::run(repo, &["person"], &stage.variables().into_iter().chain(own).collect::<Vec<_>>())
}
