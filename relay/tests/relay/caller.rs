//! The other end of the relay's data channels: str0m with a socket of its own.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samovar_wire::relay::{Addressed, FromRelay, Signal, ToRelay};
use samovar_wire::{Mode, PeerId};
use str0m::change::{SdpAnswer, SdpOffer};
use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::peer::{Heard, Peer};

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Caller {
    pub(crate) rtc: Rtc,
    pub(crate) socket: UdpSocket,
    pub(crate) address: SocketAddr,
    pub(crate) channels: [ChannelId; 2],
    open: usize,
    next: Instant,
    inbox: VecDeque<(Mode, Vec<u8>)>,
    /// Whether the other end closed a channel, or the connection.
    pub(crate) is_over: bool,
    /// Changes datagrams before they are sent; an emptied one is not sent.
    pub(crate) spoil: Option<fn(&mut Vec<u8>)>,
    /// Whether STUN requests stay unanswered, as if another machine had this address.
    pub(crate) is_deaf: bool,
    /// Bytes of all datagrams, in each direction.
    pub(crate) sent: usize,
    pub(crate) received: usize,
    /// All sent datagrams, if they are kept.
    pub(crate) kept: Option<Vec<Vec<u8>>>,
}

impl Caller {
    /// Opens channels for a member.
    pub(crate) async fn call(peer: &mut Peer) -> Self {
        let mut caller = Self::dial(peer).await;
        caller.open().await;
        caller
    }

    /// Exchanges descriptions with the relay, and opens nothing yet.
    pub(crate) async fn dial(peer: &mut Peer) -> Self {
        let (mut caller, offer, pending) = Self::offer().await;
        let attempt = 7;
        peer.tell(&ToRelay::Signal(PeerId::RELAY, Signal::Offer(attempt, offer))).await;
        let answer = loop {
            if let Heard::Control(FromRelay::Signal(PeerId::RELAY, Signal::Answer(to, answer))) =
                peer.hear().await
            {
                assert_eq!(to, attempt);
                break answer;
            }
        };
        let answer = SdpAnswer::from_sdp_string(&answer).expect("an answer");
        caller.rtc.sdp_api().accept_answer(pending, answer).expect("it fits");
        caller
    }

    /// Opens channels for a member that sends its first check from one network, and everything else from another.
    pub(crate) async fn call_from_two_addresses(peer: &mut Peer) -> Self {
        let mut caller = Self::dial(peer).await;
        while caller.sent == 0 {
            caller.step().await;
        }
        caller.socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        caller.open().await;
        caller
    }

    /// Makes an offer without sending it to the relay.
    pub(crate) async fn offer() -> (Self, String, str0m::change::SdpPendingOffer) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let address = socket.local_addr().expect("bound");
        let now = Instant::now();
        let mut rtc = Rtc::builder().clear_codecs().build(now);
        rtc.add_local_candidate(Candidate::host(address, "udp").expect("an address"));
        let mut api = rtc.sdp_api();
        let unreliable = ChannelConfig {
            label: "unreliable".to_owned(),
            ordered: false,
            reliability: Reliability::MaxRetransmits { retransmits: 0 },
            negotiated: Some(0),
            ..ChannelConfig::default()
        };
        let reliable =
            ChannelConfig { label: "reliable".to_owned(), negotiated: Some(1), ..ChannelConfig::default() };
        let channels = [unreliable, reliable].map(|config| api.add_channel_with_config(config));
        let (offer, pending): (SdpOffer, _) = api.apply().expect("something to offer");
        let caller = Self {
            rtc,
            socket,
            address,
            channels,
            open: 0,
            next: now,
            inbox: VecDeque::new(),
            is_over: false,
            spoil: None,
            is_deaf: false,
            sent: 0,
            received: 0,
            kept: None,
        };
        (caller, offer.to_sdp_string(), pending)
    }

    /// Waits until both channels are open.
    async fn open(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.open < 2 {
            assert!(Instant::now() < deadline && !self.is_over, "the channels open");
            self.step().await;
        }
        // An empty message should follow here, but str0m cannot send one: its SCTP counts the message and sends
        // nothing, which holds back all later ones.
    }

    /// Sends a payload to a member.
    pub(crate) fn say(&mut self, to: PeerId, mode: Mode, payload: &[u8]) -> bool {
        let bytes = Addressed { peer: to, payload }.encode();
        let took = self.write(mode, &bytes);
        self.flush();
        took
    }

    pub(crate) fn write(&mut self, mode: Mode, bytes: &[u8]) -> bool {
        self.write_as(mode, true, bytes)
    }

    /// Sends bytes as text or binary.
    pub(crate) fn write_as(&mut self, mode: Mode, is_binary: bool, bytes: &[u8]) -> bool {
        let id = self.channels[usize::from(mode == Mode::Reliable)];
        self.rtc.channel(id).is_some_and(|mut channel| channel.write(is_binary, bytes).expect("writes"))
    }

    /// The next message: its sender, its channel, and its payload.
    pub(crate) async fn hear(&mut self) -> (PeerId, Mode, Vec<u8>) {
        timeout(PATIENCE, self.next()).await.expect("something comes in time")
    }

    pub(crate) async fn next(&mut self) -> (PeerId, Mode, Vec<u8>) {
        loop {
            if let Some((mode, bytes)) = self.inbox.pop_front() {
                let Addressed { peer, payload } = Addressed::decode(mode, &bytes).expect("a message");
                return (peer, mode, payload.to_vec());
            }
            assert!(!self.is_over, "the channels stay open");
            self.step().await;
        }
    }

    /// Runs until the connection is over.
    pub(crate) async fn ends(&mut self) {
        let end = async {
            while !self.is_over {
                self.step().await;
            }
        };
        timeout(Duration::from_secs(20), end).await.expect("the connection ends");
    }

    /// Waits for a datagram or a timer.
    pub(crate) async fn step(&mut self) {
        let mut buffer = [0; 2_048];
        tokio::select! {
            read = self.socket.recv_from(&mut buffer) => {
                let is_request = buffer[..2] == [0, 1];
                self.received += read.as_ref().map_or(0, |(length, _)| *length);
                if let Ok((length, from)) = read
                    && !(is_request && self.is_deaf)
                    && let Ok(receive) = Receive::new(Protocol::Udp, from, self.address, &buffer[..length])
                {
                    self.rtc.handle_input(Input::Receive(Instant::now(), receive)).expect("takes it");
                }
            }
            () = tokio::time::sleep_until(self.next.into()) => {
                self.rtc.handle_input(Input::Timeout(Instant::now())).expect("takes it");
            }
        }
        self.flush();
    }

    fn put(&mut self, bytes: &[u8], to: SocketAddr) {
        if bytes.is_empty() {
            return;
        }
        self.sent += bytes.len();
        if let Some(kept) = &mut self.kept {
            kept.push(bytes.to_vec());
        }
        // If the system's buffer is full, the datagram is lost, as in a network.
        self.socket.try_send_to(bytes, to).ok();
    }

    pub(crate) fn flush(&mut self) {
        loop {
            match self.rtc.poll_output().expect("polls") {
                Output::Timeout(at) => {
                    self.next = at;
                    self.is_over |= !self.rtc.is_alive();
                    return;
                }
                Output::Transmit(transmit) => {
                    let mut bytes = transmit.contents.to_vec();
                    if let Some(spoil) = self.spoil {
                        spoil(&mut bytes);
                    }
                    self.put(&bytes, transmit.destination);
                }
                Output::Event(Event::ChannelOpen(..)) => self.open += 1,
                Output::Event(Event::ChannelData(data)) => {
                    let mode = if data.id == self.channels[0] { Mode::Unreliable } else { Mode::Reliable };
                    self.inbox.push_back((mode, data.data));
                }
                Output::Event(Event::ChannelClose(_) | Event::Closed) => self.is_over = true,
                Output::Event(_) => {}
            }
        }
    }
}
