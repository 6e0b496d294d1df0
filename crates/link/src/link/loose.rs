//! Unreliable and sequenced messages: the sender's queue, and the receiver's check for late messages (PROTOCOL §3.1).

use std::collections::VecDeque;

use samovar_wire::lane::SEQUENCED_CHANNELS;
use samovar_wire::link_frame::{DATAGRAM_HEAD_MAX, Frame, SEGMENT_HEAD_MAX, expand};
use samovar_wire::{Lane, Writer};

use super::bounds::UNRELIABLE_MESSAGES;
use super::buffers::Buffers;

const CHANNELS: usize = SEQUENCED_CHANNELS as usize;

/// Messages that wait for a packet; written ones are not kept.
#[derive(Debug, Default)]
pub(super) struct LooseSender {
    unreliable: VecDeque<Vec<u8>>,
    /// The newest waiting message of each channel.
    sequenced: [Option<Vec<u8>>; CHANNELS],
    /// How many messages were sent in each channel.
    numbers: [u64; CHANNELS],
    /// How many messages were dropped for newer ones.
    pub(super) dropped: u64,
}

impl LooseSender {
    pub(super) fn push(&mut self, message: &[u8], buffers: &mut Buffers) {
        if self.unreliable.len() == UNRELIABLE_MESSAGES
            && let Some(oldest) = self.unreliable.pop_front()
        {
            buffers.give(oldest);
            self.dropped += 1;
        }
        self.unreliable.push_back(buffers.copy_of(message));
    }

    pub(super) fn push_sequenced(&mut self, channel: u8, message: &[u8], buffers: &mut Buffers) {
        let Some(slot) = self.sequenced.get_mut(usize::from(channel)) else { return };
        if let Some(older) = slot.replace(buffers.copy_of(message)) {
            buffers.give(older);
            self.dropped += 1;
        }
    }

    pub(super) fn has_work(&self) -> bool {
        !self.unreliable.is_empty() || self.sequenced.iter().any(Option::is_some)
    }

    /// Appends what fits before byte `end` of the packet.
    pub(super) fn write(&mut self, end: usize, out: &mut Writer<'_>, buffers: &mut Buffers) {
        for (channel, slot) in (0u8..).zip(&mut self.sequenced) {
            let fits = |bytes: &mut Vec<u8>| out.len() + SEGMENT_HEAD_MAX + bytes.len() <= end;
            let Some(bytes) = slot.take_if(fits) else { continue };
            let number = &mut self.numbers[usize::from(channel)];
            Frame::Sequenced { channel, number: *number as u16, bytes: &bytes }.encode(out);
            *number += 1;
            buffers.give(bytes);
        }
        let fits = |out: &Writer<'_>, bytes: &[u8]| out.len() + DATAGRAM_HEAD_MAX + bytes.len() <= end;
        while let Some(bytes) = self.unreliable.pop_front_if(|bytes| fits(out, bytes)) {
            Frame::Datagram(&bytes).encode(out);
            buffers.give(bytes);
        }
    }
}

/// The newest number received of each channel.
#[derive(Debug, Default)]
pub(super) struct SequencedReceiver {
    newest: [Option<u64>; CHANNELS],
}

impl SequencedReceiver {
    /// The lane of a message that is newer than all before it; `None` when it comes too late.
    pub(super) fn accept(&mut self, channel: u8, truncated: u16) -> Option<Lane> {
        let newest = self.newest.get_mut(usize::from(channel))?;
        let number = expand(truncated, newest.unwrap_or(0));
        if newest.is_some_and(|newest| number <= newest) {
            return None;
        }
        *newest = Some(number);
        Some(Lane::Sequenced(channel))
    }
}
