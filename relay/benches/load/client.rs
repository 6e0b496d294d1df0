//! One client's end of a path. No call waits: each takes the bytes that have arrived, and sends the bytes that the
//! system takes at once.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::time::Instant;

use futures_util::{FutureExt as _, StreamExt as _};
use samovar_wire::relay::{ADDRESS_HEADER, Addressed, RelayFrame};
use samovar_wire::{Mode, PeerId};
use str0m::channel::ChannelId;
use str0m::net::{Protocol, Receive};
use str0m::{Event, Input, Output, Rtc};
use tokio_tungstenite::MaybeTlsStream;

use crate::caller::Caller;
use crate::peer::Peer;

/// The largest payload whose length fits into a frame's second byte (RFC 6455 §5.2).
const SHORT: usize = 125;
const BINARY: u8 = 0x82;
const PING: u8 = 0x89;
const PONG: u8 = 0x8A;
const MASKED: u8 = 0x80;
/// The lowest channel number that a TURN client may choose.
pub(crate) const CHANNEL: [u8; 2] = [0x40, 0x00];

#[expect(clippy::large_enum_variant, reason = "all of a crowd are the same")]
pub(crate) enum Client {
    WebSocket(Plain),
    Channels(Channels),
    Turn(Turn),
}

/// A WebSocket after its handshake. Its frames are masked with zeros, which costs the relay as much as any other mask.
pub(crate) struct Plain {
    stream: TcpStream,
    /// The part of a frame that has arrived.
    rest: Vec<u8>,
    /// Bytes that the system has not taken yet.
    unsent: Vec<u8>,
}

/// Open data channels, and the WebSocket beside them.
pub(crate) struct Channels {
    rtc: Rtc,
    socket: UdpSocket,
    address: std::net::SocketAddr,
    lossy: ChannelId,
    next: Instant,
    me: PeerId,
    beside: Plain,
}

/// A client of TURN with one channel, and the peer at the channel's other end.
pub(crate) struct Turn {
    pub(crate) client: UdpSocket,
    pub(crate) peer: UdpSocket,
}

impl Client {
    /// Takes the arrived packets, and returns their number.
    pub(crate) fn take(&mut self, buffer: &mut [u8]) -> usize {
        match self {
            Self::WebSocket(plain) => plain.take(buffer),
            Self::Channels(channels) => channels.take(buffer) + channels.beside.take(buffer),
            Self::Turn(turn) => std::iter::from_fn(|| turn.peer.recv(buffer).ok()).count(),
        }
    }

    /// Sends a packet to each receiver, and returns the number sent.
    pub(crate) fn send(&mut self, to: impl Iterator<Item = PeerId>, payload: &[u8]) -> usize {
        match self {
            Self::WebSocket(plain) => plain.send(to, payload),
            Self::Channels(channels) => channels.send(to, payload),
            Self::Turn(turn) => {
                let frame = [&CHANNEL[..], &(payload.len() as u16).to_be_bytes(), payload].concat();
                to.filter(|_| turn.client.send(&frame).is_ok()).count()
            }
        }
    }

    /// Keeps the client's path alive without sending packets to others.
    pub(crate) fn stay(&mut self) {
        if let Self::Channels(channels) = self {
            channels.send(std::iter::once(channels.me), &[]);
        }
    }
}

impl Plain {
    /// Makes the client of a member. First drops the relay's messages that have arrived so far.
    pub(crate) fn new(peer: Peer) -> Self {
        let mut socket = peer.socket;
        while socket.next().now_or_never().is_some() {}
        let MaybeTlsStream::Plain(stream) = socket.into_inner() else { panic!("there is no TLS") };
        let stream = stream.into_std().expect("a socket");
        Self { stream, rest: Vec::new(), unsent: Vec::new() }
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let mut heard = 0;
        loop {
            let length = match self.stream.read(buffer) {
                Ok(0) => panic!("the relay closed"),
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return heard,
                Err(error) => panic!("the relay is gone: {error}"),
            };
            if self.rest.is_empty() {
                let (packets, used) = frames(&buffer[..length], &mut self.unsent);
                heard += packets;
                self.rest.extend_from_slice(&buffer[used..length]);
            } else {
                self.rest.extend_from_slice(&buffer[..length]);
                let (packets, used) = frames(&self.rest, &mut self.unsent);
                heard += packets;
                self.rest.drain(..used);
            }
            if length < buffer.len() {
                self.flush();
                return heard;
            }
        }
    }

    fn send(&mut self, to: impl Iterator<Item = PeerId>, payload: &[u8]) -> usize {
        self.flush();
        if !self.unsent.is_empty() {
            // The relay is not reading at present. A packet that had to wait would be stale, so this sends none.
            return 0;
        }
        let mut sent = 0;
        for peer in to {
            frame(BINARY, &RelayFrame::forward(peer, Mode::Unreliable, payload), &mut self.unsent);
            sent += 1;
        }
        self.flush();
        sent
    }

    fn flush(&mut self) {
        if self.unsent.is_empty() {
            return;
        }
        match self.stream.write(&self.unsent) {
            Ok(length) => drop(self.unsent.drain(..length)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("the relay is gone: {error}"),
        }
    }
}

/// Writes a client's frame.
fn frame(kind: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    if payload.len() <= SHORT {
        out.push(MASKED | payload.len() as u8);
    } else {
        out.push(MASKED | 126);
        out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
}

/// Reads the relay's whole frames, and answers its pings. Returns the number of forwarded packets, and the end of the
/// last frame.
fn frames(bytes: &[u8], answers: &mut Vec<u8>) -> (usize, usize) {
    let (mut packets, mut at) = (0, 0);
    while let [kind, length, rest @ ..] = &bytes[at..] {
        let (head, length) = match (*length, rest) {
            (126, [high, low, ..]) => (4, usize::from(u16::from_be_bytes([*high, *low]))),
            (126, _) => break,
            (127, _) => panic!("the relay sends nothing of that length"),
            (length, _) => (2, usize::from(length)),
        };
        let Some(payload) = bytes[at + head..].get(..length) else { break };
        match *kind {
            BINARY => packets += is_packet(payload),
            PING => frame(PONG, payload, answers),
            _ => panic!("the relay closes, or says what it never says"),
        }
        at += head + length;
    }
    (packets, at)
}

fn is_packet(payload: &[u8]) -> usize {
    usize::from(matches!(RelayFrame::decode(payload), Ok(RelayFrame::Forward { .. })))
}

impl Channels {
    pub(crate) fn new(caller: Caller, me: PeerId, beside: Plain) -> Self {
        let Caller { rtc, socket, address, channels: [lossy, _], .. } = caller;
        let socket = socket.into_std().expect("a socket");
        Self { rtc, socket, address, lossy, next: Instant::now(), me, beside }
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let now = Instant::now();
        let mut heard = 0;
        while let Ok((length, from)) = self.socket.recv_from(buffer) {
            if let Ok(receive) = Receive::new(Protocol::Udp, from, self.address, &buffer[..length]) {
                self.rtc.handle_input(Input::Receive(now, receive)).expect("takes it");
                // Polls after each packet, because str0m keeps only a few packets that are not polled.
                heard += self.poll();
            }
        }
        if self.next <= now {
            self.rtc.handle_input(Input::Timeout(now)).expect("takes it");
        }
        heard + self.poll()
    }

    fn send(&mut self, to: impl Iterator<Item = PeerId>, payload: &[u8]) -> usize {
        let mut sent = 0;
        for peer in to {
            let Some(mut channel) = self.rtc.channel(self.lossy) else { continue };
            let took = channel.write(true, &Addressed { peer, payload }.encode());
            sent += usize::from(took.expect("writes"));
        }
        // No packet can arrive here: the client has taken all arrivals before it sends.
        let heard = self.poll();
        debug_assert_eq!(heard, 0, "nothing has come");
        sent
    }

    fn poll(&mut self) -> usize {
        let mut heard = 0;
        loop {
            match self.rtc.poll_output().expect("polls") {
                Output::Timeout(at) => {
                    assert!(self.rtc.is_alive(), "the relay closed");
                    self.next = at;
                    return heard;
                }
                // If the system's buffer is full, the packet is lost, as in a network.
                Output::Transmit(transmit) => {
                    drop(self.socket.send_to(&transmit.contents, transmit.destination));
                }
                Output::Event(Event::ChannelData(data)) => {
                    heard += usize::from(data.data.len() > ADDRESS_HEADER)
                }
                Output::Event(Event::ChannelClose(_) | Event::Closed) => panic!("the relay closed"),
                Output::Event(_) => {}
            }
        }
    }
}
