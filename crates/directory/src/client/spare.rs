//! A second socket beside the one by which the client is in the game (PROTOCOL §5.2).
//!
//! When the machine's network changes, the client asks for a second socket while the first lives on. It moves to the
//! second once the relay has let it in there. So a false report of a change costs nothing, and the relay always has a
//! connection of the peer.
//!
//! ```text
//!             opened              Entered: the client moves
//!  Opening -----------> Entering -----------------------------> (the former socket is read until the relay closes it)
//!     ^                    |
//!     |  closed, late, refused, from both
//!     |                    v
//!     +---- Waiting <------+ ----> (dropped, if the relay was heard on the first one meanwhile)
//! ```

use samovar_wire::relay::{Entered, FromRelay, RelayFrame, ToRelay};
use samovar_wire::{Duration, Time};

use super::identity::verify;
use super::{Client, ClientEvent, ClientRequest, Fault, Phase, SocketId};
use crate::limits::{OPEN_WITHIN, RETRY_FIRST, SILENCE_MAX};

/// The time for which a client reads a socket that it has moved from: the relay closes it after its last message.
const FORMER_FOR: Duration = Duration::from_millis(2_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    Entering,
    Waiting,
}

/// The second socket.
#[derive(Debug)]
pub(super) struct Spare {
    socket: SocketId,
    stage: Stage,
    deadline: Time,
    /// When the second socket was first wanted. If the relay has been heard on the first socket since, the first one
    /// works.
    since: Time,
    /// The ENTER message that is still to be sent on the second socket.
    enter: Option<Vec<u8>>,
}

/// A socket that the client has moved from, and the time until which the client still reads it.
#[derive(Debug)]
pub(super) struct Former {
    pub(super) socket: SocketId,
    until: Time,
}

impl Client {
    /// Opens a second socket, in place of an earlier second one.
    pub(super) fn want_spare(&mut self, now: Time) {
        self.close_spare();
        self.pause = RETRY_FIRST;
        self.open_spare(now, now);
    }

    fn open_spare(&mut self, now: Time, since: Time) {
        let socket = self.draw_socket();
        let deadline = now + OPEN_WITHIN;
        self.spare = Some(Spare { socket, stage: Stage::Opening, deadline, since, enter: None });
    }

    pub(super) fn is_spare(&self, socket: SocketId) -> bool {
        self.spare.as_ref().is_some_and(|spare| spare.socket == socket && spare.stage != Stage::Waiting)
    }

    pub(super) fn on_spare_opened(&mut self, now: Time) {
        let enter = RelayFrame::control(&ToRelay::Enter(self.enter()));
        if let Some(spare) = self.spare.as_mut().filter(|spare| spare.stage == Stage::Opening) {
            (spare.stage, spare.deadline, spare.enter) = (Stage::Entering, now + SILENCE_MAX, Some(enter));
        }
    }

    pub(super) fn on_spare_message(&mut self, now: Time, bytes: &[u8]) {
        let Ok(RelayFrame::Control(body)) = RelayFrame::decode(bytes) else { return self.fail_spare(now) };
        match FromRelay::decode(body) {
            Ok(FromRelay::Pulse) => {}
            Ok(FromRelay::Entered(entered)) if verify(self.identity.as_ref(), &entered).is_ok() => {
                self.move_over(now, &entered)
            }
            _ => self.fail_spare(now),
        }
    }

    /// The relay has let the client in by the second socket, and closes the first.
    fn move_over(&mut self, now: Time, entered: &Entered) {
        let Some(spare) = self.spare.take() else { return };
        self.close_former();
        let former = core::mem::replace(&mut self.socket, spare.socket);
        self.former = Some(Former { socket: former, until: now + FORMER_FOR });
        (self.deadline, self.pause) = (now + SILENCE_MAX, RETRY_FIRST);
        self.outbox.forget_sent();
        self.events.push_back(ClientEvent::Moved);
        self.take_pass(entered.pass);
        if self.adopt(entered.warrant) {
            self.events.push_back(ClientEvent::Issued(entered.warrant));
        }
        self.flush(now);
    }

    /// Messages that the relay sent before it closed the former socket still count, except those about that socket
    /// itself.
    pub(super) fn on_former_message(&mut self, now: Time, bytes: &[u8]) -> Result<(), Fault> {
        if self.phase != Phase::Entered {
            return Ok(());
        }
        match RelayFrame::decode(bytes).map_err(|_| Fault::Malformed)? {
            RelayFrame::Forward { peer, mode, payload } => self.on_forward(peer, mode, payload),
            RelayFrame::Control(body) => match FromRelay::decode(body).map_err(|_| Fault::Malformed)? {
                FromRelay::Refused(_) | FromRelay::Reachable | FromRelay::Entered(_) => Ok(()),
                message => self.on_control(now, message),
            },
        }
    }

    /// Handles a failure of the second socket. The client tries again, unless the first socket has proved that it
    /// works.
    pub(super) fn fail_spare(&mut self, now: Time) {
        let Some(spare) = self.spare.take() else { return };
        self.requests.push_back(ClientRequest::Close(spare.socket));
        if self.heard <= spare.since {
            let deadline = now + self.next_pause();
            self.spare = Some(Spare { stage: Stage::Waiting, deadline, enter: None, ..spare });
        }
    }

    /// Goes on with the second socket, because the first is lost. Returns `false` if there is no second one.
    pub(super) fn fall_back_on_spare(&mut self) -> bool {
        let Some(spare) = self.spare.take() else { return false };
        self.phase = match spare.stage {
            Stage::Opening => Phase::Opening,
            Stage::Entering => Phase::Entering,
            Stage::Waiting => Phase::Waiting,
        };
        (self.socket, self.deadline) = (spare.socket, spare.deadline);
        self.outbox.clear();
        self.outbox.extend(spare.enter);
        // The relay may have closed the first socket because it let the client in by the second; that message comes
        // later.
        if self.phase != Phase::Entering {
            self.note_lost();
        }
        true
    }

    pub(super) fn take_spare_enter(&mut self) -> Option<(SocketId, Vec<u8>)> {
        let spare = self.spare.as_mut()?;
        spare.enter.take().map(|bytes| (spare.socket, bytes))
    }

    pub(super) fn close_spare(&mut self) {
        if let Some(spare) = self.spare.take() {
            self.requests.push_back(ClientRequest::Close(spare.socket));
        }
    }

    pub(super) fn close_former(&mut self) {
        if let Some(former) = self.former.take() {
            self.requests.push_back(ClientRequest::Close(former.socket));
        }
    }

    pub(super) fn expire_spare(&mut self, now: Time) {
        if self.former.as_ref().is_some_and(|former| former.until <= now) {
            self.close_former();
        }
        let Some(spare) = self.spare.as_ref().filter(|spare| spare.deadline <= now) else { return };
        match (spare.stage, spare.since) {
            (Stage::Waiting, since) if self.heard <= since => self.open_spare(now, since),
            (Stage::Waiting, _) => self.spare = None,
            _ => self.fail_spare(now),
        }
    }

    pub(super) fn spare_due(&self) -> Time {
        let former = self.former.as_ref().map_or(Time::FAR, |former| former.until);
        self.spare.as_ref().map_or(Time::FAR, |spare| spare.deadline).min(former)
    }
}
