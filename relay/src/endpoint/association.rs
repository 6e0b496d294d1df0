//! One member's connection: a state machine of str0m, its two channels, and the addresses of its datagrams.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use samovar_directory::description::Offer;
use samovar_wire::Mode;
use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::crypto::dtls::DtlsCert;
use str0m::crypto::{CryptoProvider, Fingerprint};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, IceConnectionState, IceCreds, Input, Output, Rtc, RtcError};

use super::answered::Answered;
use super::path::Paths;
use super::stun;
use super::wire::{Batch, Datagram, Wire};
use crate::line::Line;
use crate::outbox::{Next, Waiting};
use crate::processors::ThreadId;

/// The longest time until a connection is open.
pub(super) const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// The longest silence of an open connection.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The most addresses from which a connection takes checks in its whole life, because str0m forgets none. A browser
/// with several networks has a few, and one more whenever its NAT changes the port.
const SOURCES_MAX: usize = 32;
/// The most datagrams that a connection takes between two polls. One poll costs as much as taking all of them.
const UNPOLLED_MAX: usize = 8;
/// Bytes that may wait in the unreliable channel itself. Further messages wait in the outbox, which drops the oldest.
const LOSSY_AHEAD: usize = 16 * 1_024;
/// Bytes that may wait in the reliable channel itself.
const STEADY_AHEAD: usize = 64 * 1_024;
/// The longest message that SCTP takes, in bytes. The longest message of either channel is far shorter.
const MESSAGE_MAX: u32 = 64 * 1_024;

/// The reason for a connection's end, for the log.
#[derive(Debug)]
pub(super) enum End {
    /// The connection's state machine failed.
    Failed(RtcError),
    /// The other end closed the connection, or one of its channels.
    Closed,
    /// The other end opened a third channel, or sent a text or an invalid message.
    Misbehaved,
    /// The connection did not open in time, or was silent for too long.
    Silent,
    /// Too many reliable messages wait for the member.
    TooSlow,
    /// The connection's state machine panicked.
    Panicked,
}

impl From<RtcError> for End {
    fn from(error: RtcError) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Closed => write!(f, "closed by the other end"),
            Self::Misbehaved => write!(f, "misbehaved"),
            Self::Silent => write!(f, "silent"),
            Self::TooSlow => write!(f, "too slow"),
            Self::Panicked => write!(f, "panicked"),
        }
    }
}

/// The values that all connections share.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) certificate: DtlsCert,
    /// The addresses at which the relay is reached.
    pub(super) addresses: Vec<SocketAddr>,
}

#[derive(Debug)]
pub(super) struct Association {
    pub(super) line: Arc<Line>,
    /// The relay's own user name fragment, by which it recognises checks for this connection.
    pub(super) ufrag: String,
    rtc: Rtc,
    offer: Offer,
    channels: [(ChannelId, bool); 2],
    paths: Paths,
    /// The addresses that checks came from.
    sources: Vec<SocketAddr>,
    pub(super) born: Instant,
    /// The time when the last datagram of this connection arrived.
    came: Instant,
    /// Whether a message has come on a channel.
    pub(super) is_heard: bool,
    /// The addresses of the member whose datagrams come to the sockets of other threads.
    pub(super) passed: Vec<(SocketAddr, ThreadId)>,
    pub(super) timeout: Instant,
    /// Datagrams since the last poll.
    unpolled: usize,
    /// The time at which the connection's timer fires.
    pub(super) armed: Instant,
}

/// A message from a channel.
pub(super) type Message = (Mode, Vec<u8>);

impl Association {
    /// Makes the connection of an answered offer.
    ///
    /// # Errors
    /// The state machine refuses the offer.
    pub(super) fn open(now: Instant, identity: &Identity, answered: Answered) -> Result<Self, End> {
        let Answered { line, offer, ufrag, password, born } = answered;
        let creds = IceCreds { ufrag: ufrag.clone(), pass: password };
        let mut rtc = Rtc::builder()
            .set_crypto_provider(Arc::clone(&identity.provider))
            .set_dtls_cert(identity.certificate.clone())
            // As an ICE lite agent, the relay waits to be contacted and contacts no address.
            .set_ice_lite(true)
            .set_local_ice_credentials(creds)
            .set_sctp_max_message_size(MESSAGE_MAX)
            .set_sctp_max_buffered_amount(2 * STEADY_AHEAD)
            .clear_codecs()
            .build(now);
        for &address in &identity.addresses {
            let candidate = Candidate::host(address, "udp").map_err(|_| End::Closed)?;
            rtc.add_local_candidate(candidate);
        }
        let mut api = rtc.direct_api();
        api.set_ice_controlling(false);
        api.set_remote_ice_credentials(IceCreds { ufrag: offer.ufrag.clone(), pass: offer.password.clone() });
        let bytes = offer.fingerprint.to_vec();
        api.set_remote_fingerprint(Fingerprint { hash_func: "sha-256".to_owned(), bytes });
        let channels = CHANNELS.map(|channel| (api.create_data_channel(channel()), false));
        api.start_dtls(false)?;
        api.start_sctp(false);
        Ok(Self {
            line,
            ufrag,
            rtc,
            offer,
            channels,
            paths: Paths::default(),
            sources: Vec::new(),
            born,
            came: now,
            is_heard: false,
            passed: Vec::new(),
            timeout: now,
            unpolled: 0,
            armed: now + OPEN_WITHIN,
        })
    }

    /// Notes that datagrams from an address come to another thread.
    pub(super) fn comes_by(&mut self, from: SocketAddr, by: ThreadId) {
        if !self.passed.contains(&(from, by)) {
            self.passed.push((from, by));
        }
    }

    /// Whether to take checks from this address. A new address is remembered.
    pub(super) fn takes_checks_from(&mut self, address: SocketAddr) -> bool {
        let is_known = self.sources.contains(&address);
        let takes = is_known || self.sources.len() < SOURCES_MAX;
        if takes && !is_known {
            self.sources.push(address);
        }
        takes
    }

    /// Whether the member has proved that it is at this address.
    pub(super) fn is_at(&self, address: SocketAddr) -> bool {
        self.paths.is_proven(address)
    }

    /// Takes a datagram. A later poll carries out its effects.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        datagram: Datagram<'_>,
        wire: &Wire<'_>,
    ) -> Result<(), End> {
        let Datagram { from, bytes, .. } = datagram;
        self.paths.received(now, datagram);
        if stun::is_stun(bytes) {
            if let Some(transaction) = stun::success(bytes) {
                if self.paths.prove(from, transaction) {
                    let own = self.paths.own_address(from);
                    self.paths.release(from).iter().for_each(|held| wire.send(from, own, held));
                }
                return Ok(());
            }
        } else if !self.paths.is_proven(from) {
            self.check(now, from, wire);
        }
        let Some(destination) = wire.address_for(from) else { return Ok(()) };
        // Drops datagrams that are neither STUN nor DTLS.
        let Ok(receive) = Receive::new(Protocol::Udp, from, destination, bytes) else { return Ok(()) };
        self.came = now;
        self.unpolled += 1;
        Ok(self.rtc.handle_input(Input::Receive(now, receive))?)
    }

    /// Whether the connection must be polled before the next datagram. This bounds the data that DTLS has not handed
    /// on.
    pub(super) const fn is_due(&self) -> bool {
        self.unpolled >= UNPOLLED_MAX
    }

    /// Asks the machine at an address to prove that it is there.
    fn check(&mut self, now: Instant, at: SocketAddr, wire: &Wire<'_>) {
        let mut transaction = [0; 12];
        if getrandom::fill(&mut transaction).is_err() {
            return;
        }
        let username = format!("{}:{}", self.offer.ufrag, self.ufrag);
        let check =
            stun::check(transaction, &username, &self.offer.password, wire.provider.sha1_hmac_provider);
        if self.paths.checks(now, at, check.len(), transaction) {
            wire.send(at, self.paths.own_address(at), &check);
        }
    }

    /// Tells str0m the time, so that its due timers fire.
    pub(super) fn pass_time(&mut self, now: Instant) -> Result<(), End> {
        Ok(self.rtc.handle_input(Input::Timeout(now))?)
    }

    /// Returns an error when the connection did not open in time, or has been silent for too long.
    pub(super) fn review(&self, now: Instant) -> Result<(), End> {
        let is_late = !self.is_heard && now >= self.born + OPEN_WITHIN;
        if is_late || now >= self.came + SILENCE_MAX { Err(End::Silent) } else { Ok(()) }
    }

    /// Sends the connection's datagrams, and gathers the arrived messages. Returns the last address that str0m has
    /// answered by STUN: str0m takes it for an address of the member.
    pub(super) fn poll(
        &mut self,
        wire: &Wire<'_>,
        messages: &mut Vec<Message>,
    ) -> Result<Option<SocketAddr>, End> {
        let mut batch = Batch::default();
        let polled = self.poll_into(&mut batch, wire, messages);
        batch.flush(wire);
        polled
    }

    fn poll_into(
        &mut self,
        batch: &mut Batch,
        wire: &Wire<'_>,
        messages: &mut Vec<Message>,
    ) -> Result<Option<SocketAddr>, End> {
        let mut known = None;
        self.unpolled = 0;
        loop {
            match self.rtc.poll_output()? {
                Output::Transmit(transmit) => {
                    let bytes: &[u8] = &transmit.contents;
                    if stun::success(bytes).is_some() {
                        known = Some(transmit.destination);
                    }
                    if self.paths.admits(transmit.destination, bytes) {
                        let own = self.paths.own_address(transmit.destination);
                        batch.send(wire, (transmit.destination, own), bytes);
                    }
                }
                Output::Event(event) => self.on_event(event, messages)?,
                Output::Timeout(at) => {
                    self.timeout = at;
                    return if self.rtc.is_alive() { Ok(known) } else { Err(End::Closed) };
                }
            }
        }
    }

    fn on_event(&mut self, event: Event, messages: &mut Vec<Message>) -> Result<(), End> {
        match event {
            Event::ChannelData(data) => {
                let mode = match self.channels.iter().position(|(id, _)| *id == data.id) {
                    Some(0) => Mode::Unreliable,
                    Some(_) => Mode::Reliable,
                    None => return Err(End::Misbehaved),
                };
                if !data.binary {
                    return Err(End::Misbehaved);
                }
                self.is_heard = true;
                messages.push((mode, data.data));
                Ok(())
            }
            Event::ChannelOpen(id, _) => {
                let channel = self.channels.iter_mut().find(|(own, _)| *own == id).ok_or(End::Misbehaved)?;
                channel.1 = true;
                Ok(())
            }
            Event::ChannelClose(_) | Event::Closed => Err(End::Closed),
            Event::IceConnectionStateChange(IceConnectionState::Disconnected) => Err(End::Silent),
            _ => Ok(()),
        }
    }

    /// Moves waiting messages to the channels, as long as the channels have room; `sent` is called for each message.
    pub(super) fn fill(&mut self, mut sent: impl FnMut(&Waiting)) -> Result<(), End> {
        let line = Arc::clone(&self.line);
        let outbox = &line.channels.outbox;
        let [(lossy, true), (steady, true)] = self.channels else { return Ok(()) };
        let rtc = &mut self.rtc;
        loop {
            let has_room = |is_lossy| {
                let (id, ahead) = if is_lossy { (lossy, LOSSY_AHEAD) } else { (steady, STEADY_AHEAD) };
                rtc.channel(id).is_some_and(|mut channel| channel.buffered_amount() < ahead)
            };
            match outbox.pop_when(has_room) {
                Next::Send(message) => {
                    let id = if message.is_lossy() { lossy } else { steady };
                    let Some(mut channel) = rtc.channel(id) else { return Ok(()) };
                    if channel.write(true, &message.bytes)? {
                        sent(&message);
                    }
                }
                Next::Close(_) => return Err(End::TooSlow),
                Next::Idle => return Ok(()),
            }
        }
    }

    /// Tells the other end that the connection is over.
    pub(super) fn close(&mut self, wire: &Wire<'_>) -> Result<(), End> {
        self.rtc.close()?;
        self.poll(wire, &mut Vec::new()).map(drop)
    }
}

/// The two channels of PROTOCOL §2.1.
const CHANNELS: [fn() -> ChannelConfig; 2] = [
    || ChannelConfig {
        label: "unreliable".to_owned(),
        ordered: false,
        reliability: Reliability::MaxRetransmits { retransmits: 0 },
        negotiated: Some(0),
        ..ChannelConfig::default()
    },
    || ChannelConfig { label: "reliable".to_owned(), negotiated: Some(1), ..ChannelConfig::default() },
];
