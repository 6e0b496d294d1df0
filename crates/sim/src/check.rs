//! The checkers of the promises (docs/recovery.md, "Promises"). They run while the world runs.

mod agreement;
mod clocks;
mod divergence;
mod idle;
mod memory;
mod offices;
mod owners;
mod recovery;
mod reigns;
mod stale;
mod standstill;

use samovar_session::Session;
use samovar_wire::PeerId;

use crate::game::ProcessId;
use crate::promise::Broken;
pub(crate) use agreement::{disagreement, picture};
pub(crate) use clocks::{Clocks, out_of_step};
pub(crate) use divergence::Divergence;
pub(crate) use idle::Idle;
pub(crate) use memory::footprint;
pub(crate) use offices::{Offices, SLEPT};
pub(crate) use owners::Owners;
pub(crate) use recovery::Recoveries;
pub use recovery::Recovery;
pub(crate) use reigns::{News, Reigns};
pub(crate) use stale::StaleHosts;
pub(crate) use standstill::Standstills;

/// The checkers that run for every process.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) forks: bool,
    pub(crate) clocks: Clocks,
    pub(crate) divergence: Divergence,
    pub(crate) idle: Idle,
    pub(crate) offices: Offices,
    pub(crate) owners: Owners,
    pub(crate) reigns: Reigns,
    pub(crate) stale_hosts: StaleHosts,
}

impl Checks {
    /// Checks all objects of a process.
    pub(crate) fn look(&mut self, process: ProcessId, session: &Session) -> Result<(), Broken> {
        self.owners.look(process, session, self.side(session))
    }

    /// The side of a partition that a process is on, named by its host. `None` if the rules do not let both sides
    /// play on. Each side has its own host, owners, and terms that votes gave.
    pub(crate) fn side(&self, session: &Session) -> Option<PeerId> {
        self.forks.then(|| session.host())
    }

    /// Forgets a process that has ended.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.clocks.forget(process);
        self.divergence.forget(process);
        self.idle.forget(process);
        self.offices.forget(process);
        self.owners.forget(process);
        self.reigns.forget(process);
        self.stale_hosts.forget(process);
    }
}
