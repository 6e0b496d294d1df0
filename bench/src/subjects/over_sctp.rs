//! Any subject over an unreliable data channel. The link is Chromium's SCTP: the crate `dcsctp`, by the same authors.
//!
//! A data channel with `maxRetransmits: 0` does not send again, but congestion control still paces it, and acks are
//! delayed. The application drops what does not fit, as a game in a browser does when it looks at `bufferedAmount`.
//! DTLS is left out; it would add 37 bytes to each packet and no delay.

use std::time::Duration;

use dcsctp::api::{DcSctpSocket, Message, Options, PpId, SendOptions, SocketEvent, SocketTime, StreamId};

use super::{Replicator, Setup, Subject, plain, renet, samovar};
use crate::network::Outbox;
use crate::state::{Key, State};

/// Plain floats over the data channel.
pub const PLAIN: Subject = Subject {
    name: "plain floats over dcsctp 0.1.16",
    start: |setup| OverSctp::start(plain::SUBJECT, setup),
};

/// Samovar over the data channel.
pub const SAMOVAR: Subject =
    Subject { name: "samovar", start: |setup| OverSctp::start(samovar::SUBJECT, setup) };

/// renet over the data channel.
pub const RENET: Subject = Subject {
    name: "renet 2.0.1 unreliable over dcsctp 0.1.16",
    start: |setup| OverSctp::start(renet::UNRELIABLE, setup),
};

const STREAM: StreamId = StreamId(0);
/// The payload protocol of binary messages, RFC 8831 §8.
const BINARY: PpId = PpId(53);
/// Bytes that may wait in the channel. Beyond this the application drops updates, since a longer queue only delays
/// them.
const BUFFERED_MAX: usize = 4_096;

struct OverSctp {
    inner: Box<dyn Replicator>,
    owner: Vec<Channel>,
    observers: Vec<Channel>,
    /// The datagrams that the inner subject sends.
    sent: Outbox,
    refused: u64,
}

struct Channel(Box<dyn DcSctpSocket>);

impl Channel {
    fn new(name: &str) -> Self {
        Self(dcsctp::new_socket(name, &Options::default()))
    }

    fn advance(&mut self, tick: u64) {
        self.0.advance_time(SocketTime::zero() + Duration::from_micros(tick * 1_000_000 / 60));
    }

    fn send(&mut self, datagram: &[u8]) -> bool {
        if self.0.buffered_amount(STREAM) + datagram.len() > BUFFERED_MAX {
            return false;
        }
        let options = SendOptions { unordered: true, max_retransmissions: Some(0), ..Default::default() };
        self.0.send(Message::new(STREAM, BINARY, datagram.to_vec()), &options).is_ok()
    }

    fn flush(&mut self, observer: usize, out: &mut Outbox) {
        while let Some(event) = self.0.poll_event() {
            if let SocketEvent::SendPacket(packet) = event {
                out.push(observer, &packet);
            }
        }
    }
}

impl OverSctp {
    fn start(inner: Subject, setup: Setup<'_>) -> Box<dyn Replicator> {
        let channels = |name: &str| (0..setup.observers).map(|_| Channel::new(name)).collect::<Vec<_>>();
        let mut observers = channels("observer");
        observers.iter_mut().for_each(|channel| channel.0.connect());
        Box::new(Self {
            inner: (inner.start)(setup),
            owner: channels("owner"),
            observers,
            sent: Outbox::new(),
            refused: 0,
        })
    }
}

impl Replicator for OverSctp {
    fn receive_at_owner(&mut self, observer: usize, datagram: &[u8]) {
        self.owner[observer].0.handle_input(datagram);
    }

    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox) {
        for (observer, channel) in self.owner.iter_mut().enumerate() {
            while let Some(message) = channel.0.get_next_message() {
                self.inner.receive_at_owner(observer, &message.payload);
            }
            channel.advance(tick);
        }
        self.inner.tick_owner(tick, states, &mut self.sent);
        let (owner, refused) = (&mut self.owner, &mut self.refused);
        self.sent.drain(|observer, datagram| *refused += u64::from(!owner[observer].send(datagram)));
        for (observer, channel) in self.owner.iter_mut().enumerate() {
            channel.flush(observer, out);
        }
    }

    fn tick_observer(&mut self, tick: u64, observer: usize, arrived: &[Vec<u8>], out: &mut Outbox) {
        let channel = &mut self.observers[observer];
        channel.advance(tick);
        arrived.iter().for_each(|datagram| channel.0.handle_input(datagram));
        let messages = std::iter::from_fn(|| channel.0.get_next_message().map(|message| message.payload));
        let messages: Vec<Vec<u8>> = messages.collect();
        self.inner.tick_observer(tick, observer, &messages, &mut self.sent);
        self.sent.drain(|_, datagram| {
            channel.send(datagram);
        });
        channel.flush(observer, out);
    }

    fn shown(&self, observer: usize, object: usize) -> Option<Key> {
        self.inner.shown(observer, object)
    }

    fn key(&self, state: &State) -> Key {
        self.inner.key(state)
    }

    fn refused(&self) -> u64 {
        self.refused
    }
}
