//! Stands in for inputs where the feature `extras` is off: this peer submits none. It tells each host that it has none
//! to pass on, so that the host does not wait for them (PROTOCOL §4.12).

use samovar_objects::Objects;
use samovar_wire::input::Told;
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, PeerId, Reader, Time};

use crate::Event;
use crate::core::{Core, Phase};
use crate::settle::News;

/// Stands in for the inputs: remembers the host that was told that this peer has none.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The host that was told under this term.
    told: Option<PeerId>,
}

impl Inputs {
    pub(crate) fn handle(&mut self, _: &Core, _: Time, _: PeerId, _: &[u8]) -> Result<News, CloseCode> {
        Err(CloseCode::Unexpected)
    }

    pub(crate) fn handle_held(&mut self, _: &Core, _: PeerId, _: &[u8]) -> Result<News, CloseCode> {
        Err(CloseCode::Unexpected)
    }

    /// Takes TOLD, which members with the feature send to each host.
    pub(crate) fn handle_told(&mut self, _: &Core, _: PeerId, body: &[u8]) -> Result<News, CloseCode> {
        Told::decode(&mut Reader::new(body)).map(|_| News::NONE).map_err(|_| CloseCode::Malformed)
    }

    pub(crate) fn begin_term(&mut self, _: &Core, _: Time, _: PeerId) {
        self.told = None;
    }

    pub(crate) fn on_linked(&mut self, peer: PeerId) {
        self.told.take_if(|told| *told == peer);
    }

    pub(crate) fn pump(&mut self, core: &mut Core, _: &Objects, _: Time, to: PeerId) {
        let is_member = core.phase == Phase::Member && core.seat().is_some();
        if is_member && to == core.host() && self.told.is_none() {
            let told = Told { term: core.term() };
            let is_sent = core.net.send_about(to, MessageKind::Told, |out| told.encode(out));
            self.told = is_sent.then_some(to);
        }
    }

    pub(crate) fn poll(&mut self, _: &Core) -> Option<Event> {
        None
    }

    pub(crate) fn settle(&mut self, _: &mut Core, _: Time) {}

    pub(crate) fn review(&mut self, _: &mut Core, _: Time) {}

    pub(crate) fn accepted_since(&self, _: &Core, _: Time) -> Option<u64> {
        None
    }

    pub(crate) fn are_backed_up(&self, _: &Core) -> bool {
        true
    }
}
