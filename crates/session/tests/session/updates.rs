//! The times at which updates are sent.

use crate::world::{Craft, World};
use samovar_session::{Target, Traits};
use samovar_wire::{Duration, Entropy, Kind, Lane, Mode, PeerId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const CRAFT: Traits = Traits::of(Kind(7));

/// Two peers, one of which plays. Paths take [`LENGTH`], and the player's path has a byte rate of `breadth`.
struct Play {
    world: World,
    /// The player and the spectator.
    peers: [PeerId; 2],
    /// How many bytes a second pass on the player's path.
    breadth: u64,
    free: Time,
    wire: Vec<(Time, PeerId, PeerId, Mode, Vec<u8>)>,
    dice: Entropy,
}

/// How long a packet takes on a path.
const LENGTH: Duration = Duration::from_millis(20);

impl Play {
    fn new(breadth: u64) -> Self {
        let mut world = World::new(1, 0);
        let host = *world.peers.keys().next().unwrap();
        let member = world.join(None);
        world.run(2_500);
        let free = world.now;
        Self { world, peers: [host, member], breadth, free, wire: Vec::new(), dice: Entropy::new([3; 32]) }
    }

    /// Advances to the next moment at which something is due, and hands over the packets that arrived by then. At the
    /// same moment, timers of the session come before frames, as they may in a browser.
    fn pass(&mut self, frame: Time) {
        let due = self.peers.map(|peer| self.world.peer(peer).poll_timeout().unwrap_or(Time::FAR));
        let arrival = self.wire.iter().map(|packet| packet.0).min().unwrap_or(Time::FAR);
        self.world.now = self.world.now.max(due[0].min(due[1]).min(arrival).min(frame));
        let now = self.world.now;
        for (_, from, to, mode, bytes) in self.wire.extract_if(.., |packet| packet.0 <= now) {
            self.world.peer(to).handle_packet(now, from, mode, &bytes);
        }
        for peer in self.peers {
            if self.world.peer(peer).poll_timeout().is_some_and(|due| due <= now) {
                self.world.peer(peer).handle_timeout(now);
            }
        }
        // A driver whose frame is due plays the frame before it sends.
        if now < frame {
            self.send();
        }
    }

    fn send(&mut self) {
        let now = self.world.now;
        for from in self.peers {
            while let Some(sent) = self.world.peer(from).poll_transmit(now) {
                let mut at = now;
                if from == self.peers[0] {
                    let takes = (sent.bytes.len() as u64 + 60) * 1_000_000 / self.breadth;
                    self.free = self.free.max(now) + Duration::from_micros(takes);
                    at = self.free;
                }
                self.wire.push((at + LENGTH, from, sent.to, sent.mode, sent.bytes));
            }
        }
    }

    /// Plays `frames` frames of length `frame`, each up to `jitter` µs late and with a message of `bytes` bytes
    /// besides. Returns how long after a frame the other peer sees its state, without the time on the path. This is
    /// the average over the second half of the frames.
    fn play(&mut self, frame: Duration, jitter: u64, bytes: usize, frames: u64) -> Duration {
        let [me, other] = self.peers;
        let start = self.world.now;
        let id = self.world.peer(me).edit(start).create_as(CRAFT, &Craft::at(0.0)).unwrap();
        let mut written = vec![start];
        let (mut seen, mut sum, mut count) = (0, Duration::ZERO, 0);
        for number in 1..=frames {
            let late = if jitter > 0 { self.dice.number() % jitter } else { 0 };
            let next = start + frame.times(number) + Duration::from_micros(late);
            while self.world.now < next {
                self.pass(next);
                let x = self.world.peers[&other].read::<Craft>(id).map_or(0, |craft| craft.place[0] as u64);
                for frame in seen + 1..=x {
                    if frame > frames / 2 {
                        let age = self.world.now.since(written[frame as usize] + LENGTH);
                        (sum, count) = (sum + age, count + 1);
                    }
                    seen = frame;
                }
            }
            let now = self.world.now;
            written.push(now);
            self.world.peer(me).edit(now).write(id, &Craft::at(number as f32)).unwrap();
            if bytes > 0 {
                self.world.peer(me).send(Target::All, Lane::Unreliable, &vec![7; bytes]).unwrap();
            }
            self.send();
        }
        Duration::from_micros(sum.as_micros() / count.max(1))
    }
}

#[test]
fn updates_show_the_latest_frame_of_a_game() {
    let frame = Duration::from_micros(33_333);
    for jitter in [0, 300, 1_000, 4_000] {
        let mut play = Play::new(1_000_000);
        // The frames begin between two updates, so updates are not due when frames are.
        play.world.run(13);
        let age = play.play(frame, jitter, 0, 900).as_micros();
        assert!(age < 1_000 + jitter, "{age} µs old with {jitter} µs of jitter");
    }
}

#[test]
fn link_finds_the_rate_of_its_path_at_any_frame_rate() {
    for (frame, jitter) in [(4_167, 0), (6_944, 0), (6_944, 1_000), (16_667, 0), (16_667, 1_000)] {
        let mut play = Play::new(30_000);
        let bytes = (45_000 * frame / 1_000_000 - 75) as usize;
        play.play(Duration::from_micros(frame), jitter, bytes, 900.min(8_000_000 / frame));
        let queue = play.free.since(play.world.now).as_micros() / 1_000;
        assert!(queue < 150, "{queue} ms wait before a path that is too narrow, with frames of {frame} µs");
    }
}
