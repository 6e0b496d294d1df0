//! The protocol without the source's fix (docs/sources.md, "Bitsquid"): no stamps, so that the last message wins.

use samovar_wire::object::MessageKind;
use samovar_wire::{PeerId, Stamp};

use crate::exhaustive::stage::{Content, Hearer, Letter, Scenario};

/// An observer that believes the last message.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Naive {
    object: Option<(PeerId, Vec<u8>)>,
    gone: Vec<PeerId>,
}

impl Naive {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let known = scenario.start.get(scenario.id);
        Self { object: known.map(|o| (o.owner(), o.field(0).to_vec())), gone: Vec::new() }
    }
}

impl Hearer for Naive {
    fn hear(&mut self, letter: &Letter) -> Result<(), String> {
        if self.gone.contains(&letter.from) {
            return Ok(());
        }
        match &letter.content {
            Content::Reliable { kind: MessageKind::Destroy, .. } => self.object = None,
            Content::Reliable { kind: MessageKind::Granted, .. } => {}
            Content::Reliable { value, kind, .. } => {
                // A grant makes its receiver the owner, whichever peer sent it.
                let owner =
                    if *kind == MessageKind::Grant { crate::exhaustive::stage::B } else { letter.from };
                self.object = Some((owner, value.clone()));
            }
            Content::Update { value, .. } => {
                if let Some((_, state)) = self.object.as_mut().filter(|(owner, _)| *owner == letter.from) {
                    state.clone_from(value);
                }
            }
            Content::Gone(peer) => self.gone.push(*peer),
            Content::Host(..) => {}
        }
        Ok(())
    }

    fn picture(&self) -> Option<(PeerId, Option<Stamp>, Vec<u8>)> {
        self.object.clone().map(|(owner, value)| (owner, None, value))
    }
}
