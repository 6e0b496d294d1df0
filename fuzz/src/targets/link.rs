//! Two links over a path that does what the script says, and that may forge bytes.

use samovar_link::{Link, LinkConfig, LinkEvent, Source};
use samovar_wire::{Duration, Generation, Lane, Mode, Time};

use crate::script::Script;

/// The lanes that lose no messages.
const LANES: [Lane; 3] = [Lane::SESSION, Lane::GAME, Lane::Bulk];

struct Pair {
    now: Time,
    ends: [Link; 2],
    /// The packets under way, by receiver.
    wire: [Vec<(Mode, Vec<u8>)>; 2],
    /// The messages sent, by sender and lane; the bulk stream comes last.
    sent: [[Vec<Vec<u8>>; LANES.len()]; 2],
    heard: [[usize; LANES.len()]; 2],
    /// Whether the path has kept its rules so far. After forged bytes, or after reliable packets that were lost or
    /// reordered, the links may close, and messages may differ from those that were sent.
    is_honest: bool,
}

pub(super) fn run(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let link = || Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    let mut pair = Pair {
        now: Time::ZERO,
        ends: [link(), link()],
        wire: Default::default(),
        sent: Default::default(),
        heard: Default::default(),
        is_honest: true,
    };
    while !script.is_over() {
        if !pair.step(&mut script) {
            return;
        }
    }
    // If the path has kept its rules, the pair now delivers everything. Full queues take long, but some message must
    // arrive every twelve seconds.
    let (mut quiet, mut heard) = (0, pair.heard);
    while pair.is_honest && quiet < 600 {
        quiet = if pair.heard == heard { quiet + 1 } else { 0 };
        heard = pair.heard;
        for to in 0..2 {
            for (mode, bytes) in core::mem::take(&mut pair.wire[to]) {
                assert!(pair.hand(to, mode, &bytes));
            }
        }
        pair.advance(20);
    }
    for from in 0..2 {
        let sent = pair.sent[from].each_ref().map(Vec::len);
        assert!(!pair.is_honest || pair.heard[1 - from] == sent, "{:?} of {sent:?}", pair.heard[1 - from]);
    }
}

impl Pair {
    /// Takes one step. Returns `false` when a link was closed, as it may be after forged bytes.
    fn step(&mut self, script: &mut Script<'_>) -> bool {
        let end = script.roll(2);
        match script.roll(8) {
            0 => self.send(end, script),
            1 => self.advance(script.roll(200) as u64),
            // Up to an hour: longer times, up to thousands of years, need not work.
            2 => self.advance(script.number(1_000) % 3_600_000),
            3 => {
                // A packet is lost, unless it is in the reliable mode, which loses packets only with its path.
                let index = script.roll(8);
                if self.wire[end].get(index).is_some_and(|(mode, _)| *mode == Mode::Unreliable) {
                    self.wire[end].remove(index);
                }
            }
            4 => {
                let twice = self.wire[end].first().cloned().filter(|(mode, _)| *mode == Mode::Unreliable);
                self.wire[end].extend(twice);
            }
            5 => return self.lie(end, script),
            _ => {
                let ready: Vec<_> = match script.roll(4) {
                    0 => self.wire[end].drain(..).rev().collect(),
                    _ => self.wire[end].drain(..).collect(),
                };
                for (mode, bytes) in ready {
                    // The reliable mode keeps its order, and this step may not. So a packet in that mode may break
                    // the path's rules here.
                    self.is_honest &= mode == Mode::Unreliable;
                    if !self.hand(end, mode, &bytes) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn send(&mut self, end: usize, script: &mut Script<'_>) {
        let (lane, times) = (script.roll(LANES.len() + 2), script.roll(4) + 1);
        let length = if script.roll(4) == 0 { script.roll(65_600) } else { script.roll(64) };
        for _ in 0..times {
            let Some(queue) = self.sent[end].get_mut(lane) else {
                let lane =
                    if lane == LANES.len() { Lane::Unreliable } else { Lane::Sequenced(script.byte()) };
                let _ = self.ends[end].send(lane, &vec![7; length]);
                continue;
            };
            let message = vec![queue.len() as u8; length];
            if self.ends[end].send(LANES[lane], &message).is_ok() {
                queue.push(message);
            }
        }
    }

    /// Hands over bytes that no link sent, or that were changed on the path.
    fn lie(&mut self, end: usize, script: &mut Script<'_>) -> bool {
        self.is_honest = false;
        let mode = if script.roll(4) == 0 { Mode::Reliable } else { Mode::Unreliable };
        let Some((mode, mut bytes)) = self.wire[end].pop() else {
            return self.hand(end, mode, script.bytes(1_300));
        };
        for _ in 0..=script.roll(4) {
            let at = script.roll(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = script.byte();
            }
        }
        self.hand(end, mode, &bytes)
    }

    fn hand(&mut self, to: usize, mode: Mode, bytes: &[u8]) -> bool {
        let heard = self.ends[to].handle(self.now, mode, bytes);
        assert!(heard.is_ok() || !self.is_honest, "an honest peer is blamed: {heard:?}");
        self.drain();
        heard.is_ok()
    }

    fn advance(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        for link in &mut self.ends {
            link.handle_timeout(self.now);
        }
        self.drain();
    }

    fn drain(&mut self) {
        for end in 0..2 {
            let (link, now) = (&mut self.ends[end], self.now);
            for packets in 0.. {
                assert!(packets < 2_000, "there is always something to send");
                let (mut bytes, compose) = (Vec::new(), &mut |_, _, _: &mut Vec<u8>| {});
                let source = Source { wanted: false, compose };
                let Some(mode) = link.poll_transmit(now, Time::ZERO, source, &mut bytes) else { break };
                // Packets beyond this number are lost, so that the fuzzer's own queue takes little memory.
                if self.wire[1 - end].len() < 256 {
                    self.wire[1 - end].push((mode, bytes));
                } else {
                    self.is_honest &= mode == Mode::Unreliable;
                }
            }
            while let Some(event) = link.poll_event() {
                let LinkEvent::Message(lane, message) = event else { continue };
                let Some(lane) = LANES.iter().position(|known| *known == lane) else { continue };
                if self.is_honest {
                    assert_eq!(self.sent[1 - end][lane].get(self.heard[end][lane]), Some(&message));
                }
                self.heard[end][lane] += 1;
            }
        }
    }
}
