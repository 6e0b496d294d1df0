//! A link: the state that one peer keeps of its packets to and from one other peer.
//!
//! A [`Link`] numbers packets and reports the fate of each; carries messages in lanes of four kinds; measures round
//! trips, losses and jitter; paces its sending by what the path can take; and tells how suspicious the other end's
//! silence is. It knows nothing of other peers, of the meaning of its messages, or of the path. The path may change,
//! and it may lose, duplicate and reorder packets.
//!
//! Invariants: a packet's fate is reported once; a message of a reliable lane is delivered once and in order; nothing
//! is delivered from a packet that does not parse to its end; every queue has a bound.
//!
//! A link can be used alone, over anything that carries datagrams:
//!
//! ```
//! use samovar_link::{Link, LinkConfig, LinkEvent, Source};
//! use samovar_wire::{Duration, Generation, Lane, Time};
//!
//! let mut now = Time::from_micros(1);
//! let mut ann = Link::new(now, LinkConfig::default(), Generation::FIRST);
//! let mut bob = Link::new(now, LinkConfig::default(), Generation::FIRST);
//! ann.send(Lane::GAME, b"hello")?;
//! let mut packet = Vec::new();
//! let mut heard = Vec::new();
//! for millisecond in 0..100 {
//!     ann.handle_timeout(now);
//!     loop {
//!         // Only the lanes have something to send.
//!         let source = Source { wanted: false, compose: &mut |_number, _room, _out| {} };
//!         let Some(mode) = ann.poll_transmit(now, Time::ZERO, source, &mut packet) else { break };
//!         // The first packet is lost; a copy of the message goes out before the loss can be known.
//!         if millisecond > 0 {
//!             bob.handle(now, mode, &packet).map_err(|code| code.to_string())?;
//!         }
//!     }
//!     while let Some(event) = bob.poll_event() {
//!         if let LinkEvent::Message(Lane::GAME, message) = event {
//!             heard.push((millisecond, message));
//!         }
//!     }
//!     now += Duration::from_millis(1);
//! }
//! assert_eq!(heard.len(), 1);
//! assert_eq!(heard[0].1, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Queues, their bounds, and what happens at the bound
//!
//! | queue | bound | at the bound |
//! |---|---|---|
//! | messages of [`Lane::SESSION`](samovar_wire::Lane) that are not acked | 768 segments of at most 1,000 bytes, and for control messages 256 more | `WouldBlock` |
//! | messages of each of the game's reliable lanes | 256 segments | `WouldBlock` |
//! | unreliable messages that wait | 64 of at most 1,100 bytes | the oldest is dropped and counted |
//! | sequenced messages that wait | 1 per channel | the older one is dropped and counted |
//! | the bulk stream from the last ack on | 512 KiB | `WouldBlock` |
//! | packets whose fate is open | 512 | the oldest counts as lost |
//! | segments received early | the window: 256 of the session's lane, 64 of each other lane | the link is closed |
//! | a message received in part | 64 KiB per lane | the link is closed |
//! | the bulk stream received and not delivered | 256 KiB | the link is closed |
//! | events that wait for the owner | 1,024 | packets that arrive count as lost |
//! | the path's own buffer | the bytes of a round trip and 50 ms, and 4 KiB | nothing is sent but acks |
//!
//! # Order of the frames in a packet
//!
//! The lanes take turns. In each packet one lane comes first and may take the whole packet; the others share the rest
//! in the order 0, 1, 2, 3, unreliable. In nine packets lane 0 is first three times, the unreliable mode three times,
//! and each other lane once: if all have more than fits, each gets that share. The unreliable mode (sequenced and
//! unreliable messages) leaves half of the room to the composed datagram in two of its three packets. Bulk goes when
//! nothing else can, and takes at most half of the rate. Acks, pings and keep-alives go at once, whatever the budget
//! says.

mod link;

pub use link::{
    Compose, Deliveries, Dues, Fate, Link, LinkConfig, LinkEvent, LinkStats, SUSPECTED, SendError, Source,
    close_packet,
};
