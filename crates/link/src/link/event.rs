//! The events, errors, statistics and configuration of a link.

use samovar_wire::lane::RELIABLE_LANES;
use samovar_wire::{CloseCode, Duration, Lane, Receipt, Time};

/// Local tuning of a link. Not agreed between the ends.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// Longest time between two packets of this end, and of the other end. A shorter time finds a dead peer sooner
    /// and costs packets; a longer one breaks a promise (PROTOCOL §2.4). Default 100 ms.
    pub keep_alive: Duration,
    /// Longest time an ack waits for a packet that can carry it; half as long again when a packet is expected
    /// ([`Link::expect_packet`](crate::Link::expect_packet)). A shorter time tells the other end of losses sooner and
    /// costs packets. Default 20 ms.
    pub ack_delay: Duration,
    /// Time between two pings once the round trip is known. Default 500 ms.
    pub ping_interval: Duration,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_millis(100),
            ack_delay: Duration::from_millis(20),
            ping_interval: Duration::from_millis(500),
        }
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The other end has it.
    Delivered,
    /// It counts as lost: later packets were acked, or too many packets are open. If it arrives after all, that is not
    /// reported.
    Lost,
}

/// An event for the link's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// The next message of a lane other than [`Lane::Unreliable`]. A bulk message comes after all messages that were
    /// queued in [`Lane::SESSION`] before it.
    Message(Lane, Vec<u8>),
    /// An unreliable message, composed or not, and the number of the packet it came in.
    Datagram(u64, Vec<u8>),
    /// The fate of a packet that carried a composed datagram.
    Fate(u64, Fate),
    /// A measured round trip.
    Clock {
        /// Session time at the other end when it answered; zero if the other end did not know it.
        session: Time,
        /// Local time at which the answer arrived.
        received: Time,
        /// The round trip, without the time that the other end held the ping.
        round_trip: Duration,
    },
    /// The other end closed the link.
    Closed(CloseCode),
    /// The other end started a new link, without knowledge of this one. Nothing arrives in either direction until this
    /// end starts a new link as well, of the next generation.
    Restarted,
}

/// How far the other end has received the reliable lanes and the bulk stream, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deliveries {
    pub(super) lanes: [u64; RELIABLE_LANES as usize],
    pub(super) bulk: u64,
}

impl Deliveries {
    /// Whether the message of this receipt, and all before it in its lane, have been delivered.
    #[must_use]
    pub fn cover(&self, receipt: Receipt) -> bool {
        match receipt {
            Receipt::Lane(segment) => segment < self.lanes[0],
            Receipt::Game(lane, segment) => {
                self.lanes.get(usize::from(lane)).is_some_and(|&end| segment < end)
            }
            Receipt::Bulk(end) => end <= self.bulk,
            Receipt::Untracked => false,
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The queue is full; try again when the other end has acked some of it.
    WouldBlock,
    /// The message is larger than its lane takes: `MESSAGE_MAX` for a reliable lane, and `DATAGRAM_MAX` for another.
    TooLarge,
    /// There is no such lane or channel.
    NoSuchLane,
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "the send queue is full",
            Self::TooLarge => "the message is too large",
            Self::NoSuchLane => "there is no such lane",
        })
    }
}

impl core::error::Error for SendError {}

/// Measurements of a link. Rates of loss are means over about the last hundred packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LinkStats {
    /// The smoothed round trip.
    pub round_trip: Option<Duration>,
    /// The mean deviation of the round trip.
    pub variation: Duration,
    /// The shortest of the last 16 round trips on this path: the time of the path itself, without delays by busy ends.
    pub least_round_trip: Option<Duration>,
    /// The mean deviation of the time between two arriving packets.
    pub jitter: Duration,
    /// The share of packets sent that were lost, 0 to 1.
    pub loss_out: f32,
    /// The share of packets that were missing when later ones arrived, 0 to 1.
    pub loss_in: f32,
    /// Packets and bulk chunks sent.
    pub packets_out: u64,
    /// Bytes of the packets and chunks sent, without the path's overhead.
    pub bytes_out: u64,
    /// Packets and bulk chunks that arrived, duplicates included.
    pub packets_in: u64,
    /// Bytes of the packets and chunks that arrived.
    pub bytes_in: u64,
    /// Reliable messages taken from the application, bulk among them.
    pub reliable_out: u64,
    /// Reliable messages given to the application, bulk among them.
    pub reliable_in: u64,
    /// Segments of reliable messages sent for the first time.
    pub segments: u64,
    /// Segments sent again before their loss was known.
    pub copies: u64,
    /// Segments sent again because of a loss or a long silence.
    pub resends: u64,
    /// Segments of reliable messages that are not acked yet, waiting ones included.
    pub unacked: u64,
    /// Unreliable and sequenced messages that were dropped for newer ones before they were sent.
    pub dropped: u64,
    /// The estimated capacity of the path, in bytes per second.
    pub rate: u64,
}
