//! The link that a packet belongs to, recognized by the generations of both ends (PROTOCOL §2.2).

use samovar_wire::{Generation, Generations};

/// How to treat a packet or chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It belongs to this link.
    Counts,
    /// Its sender knows an older link of this end, or none yet: only the sender's generation is read.
    Early,
    /// Its sender began a new link after a packet or chunk of this one had counted.
    Restarted,
    /// It belongs to a link that its sender has given up.
    Former,
    /// Its sender has no link; only a CLOSE counts.
    Unlinked,
}

/// The generations of both ends of a link.
#[derive(Debug)]
pub(super) struct Association {
    own: Generation,
    /// The newest generation of the other end.
    heard: Option<Generation>,
    /// Whether a packet or chunk of the generation `heard` has counted.
    counted: bool,
}

impl Association {
    pub(super) const fn new(own: Generation) -> Self {
        Self { own, heard: None, counted: false }
    }

    /// The generations to state in packets and chunks to the other end.
    pub(super) const fn generations(&self) -> Generations {
        Generations { sender: Some(self.own), receiver: self.heard }
    }

    pub(super) fn judge(&self, generations: Generations) -> Verdict {
        let Some(sender) = generations.sender else { return Verdict::Unlinked };
        match self.heard {
            Some(heard) if sender.is_newer_than(heard) && self.counted => return Verdict::Restarted,
            Some(heard) if sender != heard && !sender.is_newer_than(heard) => return Verdict::Former,
            _ => {}
        }
        // A packet that names no generation of its receiver may be meant for an older link, unless this link is the
        // first.
        let is_meant = generations.receiver.map_or(self.own == Generation::FIRST, |to| to == self.own);
        if is_meant { Verdict::Counts } else { Verdict::Early }
    }

    /// Takes in the sender's generation. Returns whether it is new. In that case all packets and chunks sent so far
    /// named another one.
    pub(super) fn on_heard(&mut self, generations: Generations, verdict: Verdict) -> bool {
        let is_new = self.heard != generations.sender;
        self.heard = generations.sender;
        self.counted |= verdict == Verdict::Counts;
        is_new
    }

    /// Whether the other end would count a chunk sent now. If not, the chunk waits, since this end would notice only
    /// late that the chunk did not count.
    pub(super) fn takes_chunks(&self) -> bool {
        self.heard.is_some() || self.own == Generation::FIRST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn hear(end: &mut Association, byte: u8) -> Verdict {
        let generations = Generations::decode(byte).unwrap();
        let verdict = end.judge(generations);
        if matches!(verdict, Verdict::Counts | Verdict::Early) {
            end.on_heard(generations, verdict);
        }
        verdict
    }

    #[test]
    fn a_first_link_counts_packets_that_name_no_receiver() {
        let mut end = Association::new(Generation::FIRST);
        assert_eq!(hear(&mut end, 0x10), Verdict::Counts);
        assert_eq!(end.generations().encode(), 0x11);
        assert_eq!(hear(&mut end, 0x11), Verdict::Counts);
        assert_eq!(hear(&mut end, 0x12), Verdict::Early);
        assert_eq!(hear(&mut end, 0x20), Verdict::Restarted);
        assert_eq!(hear(&mut end, 0xf0), Verdict::Former);
        assert_eq!(hear(&mut end, 0x00), Verdict::Unlinked);
    }

    #[test]
    fn a_later_link_counts_only_its_own_generation() {
        let mut end = Association::new(Generation::FIRST.next());
        assert_eq!(hear(&mut end, 0x10), Verdict::Early);
        assert_eq!(hear(&mut end, 0x11), Verdict::Early);
        // No packet has counted yet, so this is no restart.
        assert_eq!(hear(&mut end, 0x20), Verdict::Early);
        assert_eq!(end.generations().encode(), 0x22);
        assert_eq!(hear(&mut end, 0x12), Verdict::Former);
        assert_eq!(hear(&mut end, 0x22), Verdict::Counts);
        assert_eq!(hear(&mut end, 0x30), Verdict::Restarted);
        assert_eq!(hear(&mut end, 0x32), Verdict::Restarted);
        assert_eq!(hear(&mut end, 0x22), Verdict::Counts);
    }
}
