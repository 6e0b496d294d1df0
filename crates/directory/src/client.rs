//! A peer's client of the relay: it enters a game, comes back after a loss, and verifies the relay's signatures.
//!
//! The client asks its driver for a WebSocket, and gives it messages to send. When the network changes it asks for a
//! second one, until it is clear which of the two works. It leaves a relay that breaks the protocol ([`Fault`]), and
//! never gives up on one that is merely away.
//!
//! ```text
//!            opened             Entered
//!  Opening ----------> Entering ----------> Entered
//!     ^  \                |                    |            Refused for good, Fault, leave()
//!     |   \ closed,       | closed, late,      | closed,    from every phase
//!     |    \ late         | refused for now    | silent           |
//!     |     v             v                    v                  v
//!     +---- Waiting <-----+--------------------+                Over
//!      pause over
//! ```

mod event;
mod identity;
mod outbox;
mod spare;

use std::collections::VecDeque;

use samovar_roster::RelayKey;
use samovar_wire::limits::{BULK_CHUNK_MAX, DESCRIPTION_MAX, MEMBERS_MAX, PACKET_MAX, TOKEN_MAX};
use samovar_wire::relay::{
    Enter, Entered, FromRelay, Listing, Purpose, Refusal, RelayFrame, Signal, ToRelay,
};
use samovar_wire::{Duration, Entropy, JoinToken, Mode, PeerId, PeerPass, SortedSet, Term, Time, Warrant};

use crate::limits::{ANSWER_WITHIN, OPEN_WITHIN, RETRY_FIRST, RETRY_MAX, SILENCE_MAX};
pub use event::{ClientEvent, ClientRequest, Fault, SocketId};
use identity::Identity;
use outbox::Outbox;
use spare::{Former, Spare};

/// The configuration of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// [`samovar_wire::PROTOCOL_VERSION`], except in tests of a mismatch.
    pub version: u16,
    /// Hash of the agreed parameters; the relay lets only peers with equal ones into one game.
    pub params: u64,
    /// The peer's purpose: to create or to join. The client itself uses [`Purpose::Resume`] later.
    pub purpose: Purpose,
    /// The token of the game's own server that lets this peer in, if it has one.
    pub token: Option<JoinToken>,
    /// Seeds the jitter of reconnection.
    pub entropy: [u8; 32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Entering,
    Entered,
    Waiting,
    Over,
}

/// The state machine; see the picture in the module's documentation.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    entropy: Entropy,
    phase: Phase,
    /// The socket of the present phase. `last_socket` is the socket that the client asked for last.
    socket: SocketId,
    last_socket: SocketId,
    spare: Option<Spare>,
    former: Option<Former>,
    /// When the relay was last heard on the present socket.
    heard: Time,
    /// When the phase ends by itself: the pause is over, or the relay is late.
    deadline: Time,
    pause: Duration,
    lost: bool,
    identity: Option<Identity>,
    /// Whether a host has named this peer.
    is_member: bool,
    warrant: Option<Warrant>,
    outbox: Outbox,
    requests: VecDeque<ClientRequest>,
    events: VecDeque<ClientEvent>,
}

impl Client {
    /// A client that asks for its first socket at once.
    #[must_use]
    pub fn new(now: Time, config: ClientConfig) -> Self {
        Self {
            entropy: Entropy::new(config.entropy),
            config,
            phase: Phase::Opening,
            socket: SocketId::FIRST,
            last_socket: SocketId::FIRST,
            spare: None,
            former: None,
            heard: now,
            deadline: now + OPEN_WITHIN,
            pause: RETRY_FIRST,
            lost: false,
            identity: None,
            is_member: false,
            warrant: None,
            outbox: Outbox::new(),
            requests: VecDeque::from([ClientRequest::Open(SocketId::FIRST)]),
            events: VecDeque::new(),
        }
    }

    /// A socket is open. This method and those below ignore sockets that are closed or not this client's.
    pub fn handle_opened(&mut self, now: Time, socket: SocketId) {
        if self.is_spare(socket) {
            return self.on_spare_opened(now);
        }
        if self.phase != Phase::Opening || socket != self.socket {
            return;
        }
        self.phase = Phase::Entering;
        // A returning peer gets its answer at once; a newcomer may have to wait for a member.
        self.deadline = now + if self.identity.is_some() { SILENCE_MAX } else { ANSWER_WITHIN };
        let enter = self.enter();
        // A longer token would be misbehaviour. Without it, the relay's refusal names the fault.
        let token = self.config.token.as_ref().filter(|token| token.0.len() <= TOKEN_MAX);
        if let (Some(token), false) = (token, matches!(enter.purpose, Purpose::Resume(..))) {
            self.outbox.push(&ToRelay::Token(token.clone()));
        }
        self.outbox.push(&ToRelay::Enter(enter));
    }

    /// The first message on a socket.
    fn enter(&self) -> Enter {
        let purpose = match (&self.identity, self.warrant) {
            (Some(Identity { entered, .. }), Some(warrant)) => {
                Purpose::Resume(entered.code.clone(), entered.pass, warrant)
            }
            _ => self.config.purpose.clone(),
        };
        Enter { version: self.config.version, params: self.config.params, purpose }
    }

    /// A socket closed, or could not be opened.
    pub fn handle_closed(&mut self, now: Time, socket: SocketId) {
        if self.former.take_if(|former| former.socket == socket).is_some() {
            return;
        }
        if self.is_spare(socket) {
            return self.fail_spare(now);
        }
        if socket == self.socket && matches!(self.phase, Phase::Opening | Phase::Entering | Phase::Entered) {
            self.lose_socket(now);
        }
    }

    /// Opens another socket at once and enters by it, because the machine's network may have changed and the present
    /// socket may be dead. The relay then closes the older socket.
    pub fn reconnect(&mut self, now: Time) {
        match self.phase {
            Phase::Entered => return self.want_spare(now),
            Phase::Opening | Phase::Entering => {
                self.requests.push_back(ClientRequest::Close(self.socket));
                self.pause = RETRY_FIRST;
                self.become_waiting(now);
            }
            Phase::Waiting => self.pause = RETRY_FIRST,
            Phase::Over => return,
        }
        self.deadline = now;
        self.handle_timeout(now);
    }

    /// Handles a whole binary WebSocket message from the relay. The driver hands over a text message as empty bytes.
    pub fn handle_message(&mut self, now: Time, socket: SocketId, bytes: &[u8]) {
        if self.is_spare(socket) {
            return self.on_spare_message(now, bytes);
        }
        let is_former = self.former.as_ref().is_some_and(|former| former.socket == socket);
        let is_open = socket == self.socket && matches!(self.phase, Phase::Entering | Phase::Entered);
        let handled = if is_former {
            self.on_former_message(now, bytes)
        } else if is_open {
            self.on_message(now, bytes)
        } else {
            return;
        };
        if let Err(fault) = handled {
            self.become_over(ClientEvent::Failed(fault));
        }
    }

    fn on_message(&mut self, now: Time, bytes: &[u8]) -> Result<(), Fault> {
        self.heard = now;
        if self.phase == Phase::Entered {
            self.deadline = now + SILENCE_MAX;
        }
        match RelayFrame::decode(bytes).map_err(|_| Fault::Malformed)? {
            RelayFrame::Forward { peer, mode, payload } => self.on_forward(peer, mode, payload),
            RelayFrame::Control(body) => {
                let message = FromRelay::decode(body).map_err(|_| Fault::Malformed)?;
                self.on_control(now, message)
            }
        }
    }

    /// Handles all timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire_spare(now);
        if now >= self.deadline {
            match self.phase {
                Phase::Opening | Phase::Entering | Phase::Entered => {
                    self.requests.push_back(ClientRequest::Close(self.socket));
                    self.lose_socket(now);
                }
                Phase::Waiting => {
                    self.phase = Phase::Opening;
                    self.deadline = now + OPEN_WITHIN;
                    self.socket = self.draw_socket();
                }
                Phase::Over => self.deadline = Time::FAR,
            }
        }
        self.flush(now);
    }

    /// Claims a term for a member: this peer misses the host, or is the host and renews its term or hands over. The
    /// answer is [`ClientEvent::Issued`] or [`ClientEvent::Denied`]. Returns `false`, and claims nothing, while the
    /// relay is not reachable.
    ///
    /// A claim counts for [`CLAIM_COUNTS_FOR`](crate::limits::CLAIM_COUNTS_FOR). A peer that still misses the host
    /// claims again, every 250 ms. A peer that hears the host again calls [`Self::doubt`]. The client sends at most
    /// ten claims a second in the long run.
    pub fn claim(&mut self, now: Time, term: Term, candidate: PeerId) -> bool {
        let is_entered = self.phase == Phase::Entered;
        if is_entered {
            self.outbox.claim(now, term, candidate);
        }
        is_entered
    }

    /// Asks the relay to probe the host, which has been silent for longer than usual. If this peer has claimed and
    /// hears the host again, this also withdraws the claim. The rate limit is that of claims.
    pub fn doubt(&mut self, now: Time) {
        if self.phase == Phase::Entered {
            self.outbox.doubt(now);
        }
    }

    /// Sends a peer a step in opening data channels to this one. Signals to members go ahead of all others. The
    /// client drops signals while the relay is lost.
    pub fn signal(&mut self, now: Time, to: PeerId, signal: Signal, is_member: bool) {
        // A longer description would be misbehaviour. Without the signal, packets still go through the relay.
        let (Signal::Offer(_, text) | Signal::Answer(_, text)) = &signal;
        if self.phase == Phase::Entered && text.len() <= DESCRIPTION_MAX {
            self.outbox.signal(to, signal, is_member);
            self.flush(now);
        }
    }

    /// Sets the game's entry in the list. The client sends it while this peer hosts by the highest known warrant:
    /// after a change, at most twice a second, and again after a reconnection.
    pub fn set_listing(&mut self, now: Time, listing: Listing) {
        self.outbox.set_listing(ToRelay::Listing(listing));
        self.flush(now);
    }

    /// Sets whether the host has named this peer. A named peer's client tries again after a temporary refusal.
    pub const fn set_named(&mut self, is_member: bool) {
        self.is_member = is_member;
    }

    /// Sets the members, at most [`MEMBERS_MAX`] and the host included, in the order of succession: only they count
    /// when the relay decides claims. The last `joining` of them may not have the session's state yet: the relay
    /// reserves no term for them. To be called with each view. The client sends the list like the listing, but at once.
    pub fn set_members(&mut self, now: Time, mut members: Vec<PeerId>, joining: usize) {
        let (mut known, all) = (SortedSet::new(), members.len());
        members.retain(|&member| known.insert(member));
        members.truncate(MEMBERS_MAX);
        let joining = joining.saturating_sub(all - members.len()) as u8;
        self.outbox.set_members(ToRelay::Members(members, joining));
        self.flush(now);
    }

    /// Bars a peer, and newcomers from its address, as the host. The client sends a bar like the members, once on
    /// each connection and under each term. It keeps the last [`BARS_MAX`](crate::limits::BARS_MAX) bars.
    pub fn bar(&mut self, now: Time, peer: PeerId) {
        self.outbox.bar(peer);
        self.flush(now);
    }

    /// Takes a warrant that other members showed; the client shows it when it comes back to the relay. Returns
    /// `false` if the relay did not sign it for this session. One that is not newer changes nothing.
    pub fn set_warrant(&mut self, now: Time, warrant: Warrant) -> bool {
        let genuine = self.verifies(&warrant);
        if genuine {
            self.adopt(warrant);
            self.flush(now);
        }
        genuine
    }

    /// The WebSocket message that forwards a payload to a member, to be sent on [`Client::socket`]. `None` while the
    /// relay is lost, and for a payload above the limit of its mode.
    #[must_use]
    pub fn forward(&self, to: PeerId, mode: Mode, payload: &[u8]) -> Option<Vec<u8>> {
        let max = if mode == Mode::Unreliable { PACKET_MAX } else { BULK_CHUNK_MAX };
        let fits = self.phase == Phase::Entered && payload.len() <= max;
        fits.then(|| RelayFrame::forward(to, mode, payload))
    }

    /// Leaves the game for good, without an event. The socket closes when LEAVE has been polled.
    pub fn leave(&mut self, now: Time) {
        self.say_and_close(now, &ToRelay::Leave);
    }

    /// Like [`Client::leave`], for a peer that may come back as a new one, by [`Purpose::Rejoin`].
    pub fn go_away(&mut self, now: Time) {
        self.say_and_close(now, &ToRelay::Away);
    }

    fn say_and_close(&mut self, now: Time, farewell: &ToRelay) {
        if self.phase == Phase::Over {
            return;
        }
        if self.phase == Phase::Entered {
            self.outbox.push(farewell);
        } else {
            self.outbox.clear();
        }
        // The driver may poll for requests before it polls for this message, so the timeout asks it to come again at
        // once.
        self.phase = Phase::Over;
        self.deadline = now;
        self.requests.clear();
        self.close_spare();
        self.close_former();
        self.outbox.close_when_empty();
    }

    /// Forgets everything and begins anew on another socket, as a peer that the relay does not know yet.
    pub fn start_over(&mut self, now: Time, config: ClientConfig) {
        if self.phase != Phase::Over {
            self.requests.push_back(ClientRequest::Close(self.socket));
            self.close_spare();
            self.close_former();
        }
        let (requests, last_socket) = (core::mem::take(&mut self.requests), self.last_socket);
        *self = Self { requests, last_socket, ..Self::new(now, config) };
        self.socket = self.draw_socket();
    }

    /// The next WebSocket message to send, and its socket.
    pub fn poll_transmit(&mut self) -> Option<(SocketId, Vec<u8>)> {
        self.take_spare_enter().or_else(|| Some((self.socket, self.outbox.pop()?)))
    }

    /// The next request to the driver.
    pub fn poll_request(&mut self) -> Option<ClientRequest> {
        if self.outbox.take_close() {
            self.requests.push_back(ClientRequest::Close(self.socket));
        }
        self.requests.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// When to call [`Client::handle_timeout`]. Any other call may change this, so the driver polls it last.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let flush =
            if self.phase == Phase::Entered { self.outbox.ready_at(self.is_host()) } else { Time::FAR };
        Some(self.deadline.min(flush).min(self.spare_due())).filter(|&t| t != Time::FAR)
    }

    /// Whether the relay has let this peer into the game now.
    #[must_use]
    pub fn is_entered(&self) -> bool {
        self.phase == Phase::Entered
    }

    /// The socket by which this peer is in the game, or will be next.
    #[must_use]
    pub const fn socket(&self) -> SocketId {
        self.socket
    }

    /// Whether the relay has let this peer in, and no other socket is to replace the present one.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.phase == Phase::Entered && self.spare.is_none()
    }

    /// This peer's id, from the first entry on.
    #[must_use]
    pub fn peer(&self) -> Option<PeerId> {
        self.identity.as_ref().map(|identity| identity.entered.pass.peer)
    }

    /// The pass that proves this peer's identity to the relay, from the first entry on.
    #[must_use]
    pub fn pass(&self) -> Option<PeerPass> {
        self.identity.as_ref().map(|identity| identity.entered.pass)
    }

    /// The key that verifies warrants and passes, from the first entry on.
    #[must_use]
    pub fn key(&self) -> Option<RelayKey> {
        self.identity.as_ref().map(|identity| identity.key)
    }

    /// The highest warrant known here.
    #[must_use]
    pub const fn warrant(&self) -> Option<Warrant> {
        self.warrant
    }

    fn on_forward(&mut self, from: PeerId, mode: Mode, payload: &[u8]) -> Result<(), Fault> {
        if self.phase != Phase::Entered {
            return Err(Fault::Unexpected);
        }
        self.events.push_back(ClientEvent::Forwarded { from, mode, payload: payload.to_vec() });
        Ok(())
    }

    fn on_control(&mut self, now: Time, message: FromRelay) -> Result<(), Fault> {
        match (self.phase, message) {
            (Phase::Entering, FromRelay::Entered(entered)) => self.on_entered(now, entered)?,
            (_, FromRelay::Told(text)) => self.events.push_back(ClientEvent::Told(text)),
            (_, FromRelay::Refused(refusal)) => self.on_refused(now, refusal),
            (_, FromRelay::Pulse) => {}
            (Phase::Entered, FromRelay::Issued(warrant)) => self.on_issued(now, warrant)?,
            (Phase::Entered, FromRelay::Signal(from, signal)) => {
                self.events.push_back(ClientEvent::Signal(from, signal));
            }
            (Phase::Entered, FromRelay::Denied(term, denial)) => {
                self.events.push_back(ClientEvent::Denied(term, denial));
            }
            (Phase::Entered, FromRelay::Successor(warrant)) => {
                if !self.verifies(&warrant) {
                    return Err(Fault::BadSignature);
                }
                self.events.push_back(ClientEvent::Successor(warrant));
            }
            (Phase::Entered, FromRelay::Draining(seconds)) => {
                let within = Duration::from_millis(u64::from(seconds) * 1_000);
                self.events.push_back(ClientEvent::Draining(within));
            }
            (Phase::Entered, FromRelay::Reachable) => self.events.push_back(ClientEvent::Reachable),
            (Phase::Entered, FromRelay::PutOut(peer)) => self.events.push_back(ClientEvent::PutOut(peer)),
            (Phase::Entered, FromRelay::Pass(pass)) => self.on_pass(pass)?,
            (Phase::Entered, FromRelay::Gone(peer)) => self.events.push_back(ClientEvent::Gone(peer)),
            // The relay only wants to know whether this peer's loop runs, so the client never delays the answer.
            (Phase::Entered, FromRelay::Probe(nonce)) => self.outbox.push(&ToRelay::Alive(nonce)),
            _ => return Err(Fault::Unexpected),
        }
        Ok(())
    }

    fn on_entered(&mut self, now: Time, entered: Entered) -> Result<(), Fault> {
        let key = identity::verify(self.identity.as_ref(), &entered)?;
        self.phase = Phase::Entered;
        self.deadline = now + SILENCE_MAX;
        self.pause = RETRY_FIRST;
        let was_lost = core::mem::take(&mut self.lost);
        self.outbox.forget_sent();
        let warrant = entered.warrant;
        if self.identity.is_some() {
            self.take_pass(entered.pass);
            self.events.push_back(if was_lost { ClientEvent::Restored } else { ClientEvent::Moved });
            if let Some(voucher) = entered.voucher {
                self.events.push_back(ClientEvent::Vouched(voucher));
            }
            if self.adopt(warrant) {
                self.events.push_back(ClientEvent::Issued(warrant));
            }
        } else {
            self.identity = Some(Identity { key, entered: entered.clone() });
            self.adopt(warrant);
            self.events.push_back(ClientEvent::Entered(entered));
        }
        self.flush(now);
        Ok(())
    }

    fn on_issued(&mut self, now: Time, warrant: Warrant) -> Result<(), Fault> {
        if !self.verifies(&warrant) {
            return Err(Fault::BadSignature);
        }
        if self.adopt(warrant) {
            self.events.push_back(ClientEvent::Issued(warrant));
            self.flush(now);
        }
        Ok(())
    }

    /// A refusal that may pass soon does not end a member's client: the game may live on over direct paths.
    fn on_refused(&mut self, now: Time, refusal: Refusal) {
        let for_now = matches!(refusal, Refusal::Busy | Refusal::CodeTaken | Refusal::UnknownGame);
        if for_now && self.is_member && self.identity.is_some() {
            self.requests.push_back(ClientRequest::Close(self.socket));
            self.lose_socket(now);
            if refusal == Refusal::CodeTaken {
                self.events.push_back(ClientEvent::CodeTaken);
            }
        } else {
            self.become_over(ClientEvent::Refused(refusal));
        }
    }

    fn draw_socket(&mut self) -> SocketId {
        self.last_socket = self.last_socket.next();
        self.requests.push_back(ClientRequest::Open(self.last_socket));
        self.last_socket
    }

    fn lose_socket(&mut self, now: Time) {
        if !self.fall_back_on_spare() {
            self.become_waiting(now);
        }
    }

    fn become_waiting(&mut self, now: Time) {
        self.phase = Phase::Waiting;
        self.deadline = now + self.next_pause();
        self.outbox.clear();
        // If the driver has not taken the request to open this socket yet, it need not open it.
        let socket = self.socket;
        self.requests.retain(|request| *request != ClientRequest::Open(socket));
        self.note_lost();
    }

    /// Draws a pause between half of the mean and three halves of it. The jitter spreads the members of a dead relay,
    /// which all begin to wait at the same moment.
    fn next_pause(&mut self) -> Duration {
        let pause = self.pause.as_micros();
        self.pause = self.pause.times(2).min(RETRY_MAX);
        Duration::from_micros(pause / 2 + self.entropy.number() % (pause + 1))
    }

    fn become_over(&mut self, event: ClientEvent) {
        self.phase = Phase::Over;
        self.deadline = Time::FAR;
        self.outbox.clear();
        self.requests.clear();
        self.requests.push_back(ClientRequest::Close(self.socket));
        self.close_spare();
        self.close_former();
        if self.identity.is_some() {
            self.note_lost();
        }
        self.events.push_back(event);
    }

    fn note_lost(&mut self) {
        if !core::mem::replace(&mut self.lost, true) {
            self.events.push_back(ClientEvent::Lost);
        }
    }

    /// Queues the messages that may be sent by now.
    fn flush(&mut self, now: Time) {
        if self.phase == Phase::Entered {
            let is_host = self.is_host();
            self.outbox.flush(now, is_host);
        }
    }

    fn is_host(&self) -> bool {
        self.warrant.is_some_and(|warrant| Some(warrant.host) == self.peer())
    }

    fn verifies(&self, warrant: &Warrant) -> bool {
        self.identity.as_ref().is_some_and(|Identity { key, entered }| {
            warrant.session == entered.session && key.verifies_warrant(warrant)
        })
    }

    /// Keeps a verified warrant when it is newer.
    fn adopt(&mut self, warrant: Warrant) -> bool {
        let newer = self.warrant.is_none_or(|known| warrant.term > known.term);
        if newer {
            self.warrant = Some(warrant);
            self.outbox.forget_sent();
        }
        newer
    }
}
