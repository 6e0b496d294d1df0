//! The part of a connection before its peer has entered, at a relay that asks who may.

use samovar_directory::Incoming;
use samovar_wire::JoinToken;
use samovar_wire::relay::{Enter, RelayFrame, ToRelay};
use tracing::Instrument as _;

use crate::gate::{Gate, Verdict};
use crate::hub::Hub;
use crate::line::Line;

/// The stage of a peer's entry.
#[derive(Debug)]
pub(crate) enum Entry {
    /// The relay asks no more: the peer has said what it wants, or the relay lets everybody in.
    Over,
    /// The peer has not said what it wants. It may have shown a token.
    Before(Option<JoinToken>),
}

impl Entry {
    pub(crate) fn new(hub: &Hub, line: &Line) -> Self {
        if hub.gate.is_some() && !line.is_own() { Self::Before(None) } else { Self::Over }
    }

    /// Looks at a message before the directory gets it. For the message by which the peer enters, this asks about the
    /// peer, which may take some seconds; meanwhile the relay reads no other message of that peer.
    pub(crate) async fn look(&mut self, hub: &Hub, line: &Line, bytes: &[u8]) {
        let (Self::Before(shown), Some(gate)) = (&mut *self, &hub.gate) else { return };
        let Ok(RelayFrame::Control(body)) = RelayFrame::decode(bytes) else { return };
        match ToRelay::decode(body) {
            // The first one counts.
            Ok(ToRelay::Token(token)) => drop(shown.get_or_insert(token)),
            Ok(ToRelay::Enter(enter)) => {
                let token = shown.take();
                *self = Self::Over;
                let is_genuine = Incoming::read(hub.key(), bytes).is_genuine();
                let span = tracing::info_span!("entry", request = line.request(), conn = line.conn.0);
                let token = token.as_ref().map(|token| &*token.0);
                judge((hub, gate), line, token, (&enter, is_genuine)).instrument(span).await;
            }
            _ => {}
        }
    }
}

async fn judge(
    (hub, gate): (&Hub, &Gate),
    line: &Line,
    token: Option<&str>,
    (enter, is_genuine): (&Enter, bool),
) {
    let verdict = match hub.preview(line, enter, is_genuine) {
        Ok(preview) => gate.judge(token, (enter, preview), line.address()).await,
        Err(refusal) => return hub.refuse(line, refusal, None),
    };
    hub.judged(line, verdict);
}

impl Hub {
    /// Takes the word of the game's own server about a peer that is about to enter.
    fn judged(&self, line: &Line, verdict: Verdict) {
        match verdict {
            Verdict::Known => {}
            Verdict::Vouched(clearance) => self.admit(line, clearance),
            Verdict::Fault(fault) => self.fault(line, fault),
            Verdict::Refused(told) => self.refuse(line, samovar_wire::relay::Refusal::NotAllowed, told),
        }
    }
}
