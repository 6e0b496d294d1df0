//! Ends that begin anew at any moment, over a path that still holds old packets.

use samovar_link::{Link, LinkConfig, LinkEvent, Source};
use samovar_wire::{Duration, Entropy, Generation, Lane, Mode, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const LANES: [Lane; 4] = [Lane::SESSION, Lane::GAME, Lane::Reliable(3), Lane::Bulk];

/// One end, and the link that it has now.
struct End {
    link: Link,
    generation: Generation,
    /// The number of this link among those of its end.
    epoch: u32,
    /// Messages that this link sent, by lane.
    sent: [u32; LANES.len()],
    /// Messages that this link heard, by lane.
    heard: [u32; LANES.len()],
    /// The epoch of the other end that these messages came from.
    of: Option<u32>,
}

struct Restarts {
    now: Time,
    ends: [End; 2],
    wire: Vec<(Time, usize, Mode, Vec<u8>)>,
    /// When the newest reliable bytes of each end arrive. Later ones do not overtake them.
    reliable_until: [Time; 2],
    dice: Entropy,
    /// How many links began anew because the other end had.
    followed: u32,
}

impl End {
    fn new(now: Time, generation: Generation, epoch: u32) -> Self {
        let link = Link::new(now, LinkConfig::default(), generation);
        Self { link, generation, epoch, sent: [0; LANES.len()], heard: [0; LANES.len()], of: None }
    }

    /// Checks that a message is from the one epoch that this link hears, and the next of its lane.
    fn hear(&mut self, lane: Lane, message: &[u8]) {
        let lane = LANES.iter().position(|&known| known == lane).unwrap();
        let number = |at: usize| u32::from_le_bytes(message[at..at + 4].try_into().unwrap());
        assert_eq!(*self.of.get_or_insert(number(0)), number(0), "a message of another association");
        assert_eq!(number(4), self.heard[lane], "a message is lost or comes twice");
        self.heard[lane] += 1;
    }
}

impl Restarts {
    fn new(seed: u8) -> Self {
        Self {
            now: Time::ZERO,
            ends: [0; 2].map(|epoch| End::new(Time::ZERO, Generation::FIRST, epoch)),
            wire: Vec::new(),
            reliable_until: [Time::ZERO; 2],
            dice: Entropy::new([seed; 32]),
            followed: 0,
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.number() % sides
    }

    fn restart(&mut self, end: usize) {
        let former = &self.ends[end];
        self.ends[end] = End::new(self.now, former.generation.next(), former.epoch + 1);
    }

    fn send(&mut self, end: usize) {
        let (lane, length) = (self.roll(LANES.len() as u64) as usize, 8 + self.roll(1_500) as usize);
        let end = &mut self.ends[end];
        let mut message = vec![7; length];
        message[..4].copy_from_slice(&end.epoch.to_le_bytes());
        message[4..8].copy_from_slice(&end.sent[lane].to_le_bytes());
        if end.link.send(LANES[lane], &message).is_ok() {
            end.sent[lane] += 1;
        }
    }

    fn transmit(&mut self, end: usize) {
        loop {
            let (mut bytes, compose) = (Vec::new(), &mut |_, _, _: &mut Vec<u8>| {});
            let source = Source { wanted: false, compose };
            let Some(mode) = self.ends[end].link.poll_transmit(self.now, Time::ZERO, source, &mut bytes)
            else {
                break;
            };
            let copies = match (mode, self.roll(10)) {
                (Mode::Reliable, _) => 1,
                (_, 0) => 0,
                (_, 1) => 2,
                _ => 1,
            };
            for _ in 0..copies {
                // Some packets arrive long after their link is gone.
                let late = if self.roll(20) == 0 { 400 } else { 40 };
                let mut arrival = self.now + Duration::from_millis(20 + self.roll(late));
                if mode == Mode::Reliable {
                    arrival = arrival.max(self.reliable_until[end]);
                    self.reliable_until[end] = arrival;
                }
                self.wire.push((arrival, 1 - end, mode, bytes.clone()));
            }
        }
    }

    fn step(&mut self, sends: bool) {
        self.now += Duration::from_millis(1);
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.wire).into_iter().partition(|parcel| parcel.0 <= now);
        self.wire = later;
        for (_, to, mode, bytes) in due {
            self.ends[to].link.handle(now, mode, &bytes).expect("honest ends do not blame each other");
            self.listen(to);
        }
        for end in 0..2 {
            if sends && self.roll(20) == 0 {
                self.send(end);
            }
            self.ends[end].link.handle_timeout(now);
            self.transmit(end);
            self.listen(end);
            assert!(self.ends[end].link.poll_timeout() > now, "a drained link has nothing due");
        }
    }

    fn listen(&mut self, end: usize) {
        while let Some(event) = self.ends[end].link.poll_event() {
            match event {
                LinkEvent::Message(lane, message) => self.ends[end].hear(lane, &message),
                LinkEvent::Restarted => {
                    self.followed += 1;
                    self.restart(end);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn restarted_ends_hear_each_other_from_the_first_message() {
    let (mut followed, mut restarts) = (0, 0);
    for seed in 0..60 {
        let mut world = Restarts::new(seed);
        for _ in 0..6_000 {
            world.step(true);
            for end in 0..2 {
                if world.roll(1_200) == 0 {
                    restarts += 1;
                    world.restart(end);
                }
            }
        }
        (0..500).for_each(|_| world.step(true));
        (0..8_000).for_each(|_| world.step(false));
        for end in 0..2 {
            let (here, there) = (&world.ends[end], &world.ends[1 - end]);
            assert_eq!(here.of, Some(there.epoch), "seed {seed}");
            assert_eq!(here.heard, there.sent, "seed {seed}");
        }
        followed += world.followed;
    }
    println!("{restarts} restarts, {followed} followed");
    // Each restart is followed at most once, so no exchange of restarts is endless.
    assert!(followed > restarts / 2 && followed <= restarts, "{followed} of {restarts}");
}

#[test]
fn a_close_of_a_former_generation_is_ignored() {
    let mut world = Restarts::new(7);
    (0..500).for_each(|_| world.step(true));
    let farewell = world.ends[0].link.close_packet(samovar_wire::CloseCode::NotAMember);
    world.restart(0);
    (0..500).for_each(|_| world.step(true));
    let now = world.now;
    world.ends[1].link.handle(now, Mode::Unreliable, &farewell).unwrap();
    assert_eq!(world.ends[1].link.poll_event(), None);
    let farewell = world.ends[0].link.close_packet(samovar_wire::CloseCode::NotAMember);
    world.ends[1].link.handle(now, Mode::Unreliable, &farewell).unwrap();
    assert!(matches!(world.ends[1].link.poll_event(), Some(LinkEvent::Closed(_))));
}
