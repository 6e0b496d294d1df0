//! How often a frame is sent: new frames in a few packets in a row, and all unacked ones again when acks are late.

/// The fewest packets in a row that hold a new frame. On a path that loses one packet in a thousand, two losses in a
/// row are rare. On one that loses one in twenty, four are.
const COPIES: usize = 2;
const COPIES_IF_LOSSY: usize = 4;
/// When the unacked frames exceed the recent minimum by more than this, some are taken for lost.
const LATE: u64 = 2;
/// While acks are late, one packet in this many holds all unacked frames.
const AGAIN: u32 = 3;
/// The recent minimum is taken over a window of this many acks and over the one before.
const WINDOW: u32 = 90;
/// Older frames are added while the packet's frames take no more bytes than this together. Most frames change little.
pub(super) const CHEAP: usize = 6;

/// The frames that were sent in packets to one peer.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// The last frame of each of the latest packets, the newest first.
    marks: [u64; COPIES_IF_LOSSY],
    is_lossy: bool,
    /// The fewest frames that were unacked at an ack, over this window and the one before; and the acks in this
    /// window.
    least: [u64; 2],
    seen: u32,
    /// Packets since all unacked frames were sent.
    since: u32,
}

impl Copies {
    pub(super) const fn new() -> Self {
        let (marks, least) = ([0; COPIES_IF_LOSSY], [u64::MAX; 2]);
        Self { marks, is_lossy: true, least, seen: 0, since: 0 }
    }

    /// Starts again, for another receiver or from another frame on.
    pub(super) const fn begin_anew(&mut self) {
        *self = Self { is_lossy: self.is_lossy, ..Self::new() };
    }

    pub(super) const fn set_lossy(&mut self, is_lossy: bool) {
        self.is_lossy = is_lossy;
    }

    /// Notes an ack that leaves `open` frames unacked.
    pub(super) fn on_ack(&mut self, open: u64) {
        if self.seen == WINDOW {
            (self.least, self.seen) = ([u64::MAX, self.least[0]], 0);
        }
        self.least[0] = self.least[0].min(open);
        self.seen += 1;
    }

    /// Chooses the first frame of the next packet, which ends with `last`. All frames up to `known` are acked.
    pub(super) fn first(&mut self, known: u64, last: u64) -> u64 {
        let least = self.least[0].min(self.least[1]);
        let is_late = last.saturating_sub(known) > least.saturating_add(LATE);
        self.since += 1;
        let copies = if self.is_lossy { COPIES_IF_LOSSY } else { COPIES };
        let mut first = self.marks[copies - 1].max(known) + 1;
        if least == u64::MAX || (is_late && self.since >= AGAIN) {
            (first, self.since) = (known + 1, 0);
        }
        self.marks.rotate_right(1);
        self.marks[0] = last;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn frame_is_sent_twice_and_again_when_its_ack_is_late() {
        let mut copies = Copies::new();
        copies.set_lossy(false);
        assert_eq!(copies.first(4, 10), 5, "before anything was acked");
        copies.on_ack(6);
        // An ack comes six frames after its frame.
        let firsts: Vec<_> = (11..16).map(|last| copies.first(last - 6, last)).collect();
        assert_eq!(firsts, [6, 11, 12, 13, 14]);
        // No ack comes any more.
        let firsts: Vec<_> = (16..24).map(|last| copies.first(9, last)).collect();
        assert_eq!(firsts.iter().filter(|first| **first == 10).count(), 2, "{firsts:?}");
    }
}
