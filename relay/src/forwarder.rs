//! Chooses the paths of a message to its receiver, and queues the message for each.

use std::sync::Arc;

use axum::body::Bytes;
use samovar_directory::Class;
use samovar_wire::Mode;
use samovar_wire::relay::{ADDRESS_HEADER, Addressed, FORWARD_HEADER, RelayFrame};

use crate::line::{Line, Routes};
use crate::metrics::{Dropped, Kind, Metrics};
use crate::outbox::{Outbox, Waiting};
use crate::reach::Reach;

/// Forwards messages between members.
#[derive(Debug)]
pub(crate) struct Forwarder {
    /// The queue for the members' data channels; `None` if the relay has no endpoint for them.
    reach: Option<Arc<Reach>>,
    metrics: Arc<Metrics>,
}

/// The paths to a member.
struct Ways<'a> {
    channels: Option<&'a Reach>,
    socket: bool,
}

impl Forwarder {
    pub(crate) const fn new(reach: Option<Arc<Reach>>, metrics: Arc<Metrics>) -> Self {
        Self { reach, metrics }
    }

    /// Forwards a message from a WebSocket.
    pub(crate) fn pass_on(&self, target: &Arc<Line>, routes: &Routes, message: Waiting) {
        let &Routes { from, class, .. } = routes;
        let Waiting { kind, bytes, since } = message;
        // Takes over the bytes without a copy if they have no other reference.
        let mut bytes = Vec::from(bytes);
        RelayFrame::readdress(&mut bytes, from);
        let ways = self.ways(target, kind, since);
        let Some(reach) = ways.channels else {
            return self.queue(target, class, &target.outbox, Waiting { kind, bytes: bytes.into(), since });
        };
        // A complaint is a packet without a payload: its sender hears nothing of the receiver. The receiver's
        // channels may be dead as well, so a complaint that came by a WebSocket also goes by the receiver's
        // WebSocket.
        let is_complaint = bytes.len() == FORWARD_HEADER;
        if ways.socket || is_complaint {
            let bytes = Bytes::copy_from_slice(&bytes);
            self.queue(target, class, &target.outbox, Waiting { kind, bytes, since });
        }
        // A channel's header is shorter: it replaces the last bytes of the WebSocket's.
        let start = FORWARD_HEADER - ADDRESS_HEADER;
        Addressed::readdress(&mut bytes[start..], from);
        let bytes = Bytes::from(bytes).slice(start..);
        self.queue(target, class, &target.channels.outbox, Waiting { kind, bytes, since });
        reach.call(target);
    }

    /// Forwards a message from data channels.
    pub(crate) fn pass_on_channels(
        &self,
        target: &Arc<Line>,
        routes: &Routes,
        message: (Kind, Vec<u8>),
        since: u64,
    ) {
        let &Routes { from, class, .. } = routes;
        let (kind, mut bytes) = message;
        let ways = self.ways(target, kind, since);
        if ways.socket {
            let mode = if kind == Kind::Packet { Mode::Unreliable } else { Mode::Reliable };
            let bytes = RelayFrame::forward(from, mode, &bytes[ADDRESS_HEADER..]).into();
            self.queue(target, class, &target.outbox, Waiting { kind, bytes, since });
        }
        if let Some(reach) = ways.channels {
            Addressed::readdress(&mut bytes, from);
            let message = Waiting { kind, bytes: bytes.into(), since };
            self.queue(target, class, &target.channels.outbox, message);
            reach.call(target);
        }
    }

    /// The paths of a message to a member (PROTOCOL §5.7): its channels while they work, and otherwise its WebSocket.
    /// A packet takes both when the channels are in doubt.
    fn ways(&self, target: &Line, kind: Kind, now: u64) -> Ways<'_> {
        let channels = self.reach.as_deref().filter(|_| target.channels.carry(now));
        let socket = channels.is_none() || kind == Kind::Packet && target.channels.are_doubtful(now);
        Ways { channels, socket }
    }

    fn queue(&self, target: &Line, class: Class, outbox: &Outbox, message: Waiting) {
        let dropped = outbox.push(class, message);
        self.metrics.dropped(target.shard, Dropped::QueueFull, dropped);
    }
}
