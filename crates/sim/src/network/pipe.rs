//! One direction of a path for datagrams. It loses, delays, doubles and reorders them.

use samovar_wire::{Duration, Time};

use super::Weather;
use crate::dice::Dice;

/// The longest time that a datagram waits in the queue, whatever the queue's length. Without this limit, datagrams
/// that queued on a clogged path would still wait when the path is free again.
const WAITS_MAX: Duration = Duration::from_millis(2_000);

/// The state of one direction of a path. This state and the weather decide what happens to the next datagram.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pipe {
    is_bad: bool,
    free_at: Time,
}

impl Pipe {
    /// Returns the times at which a datagram that is sent now arrives: once, twice or not at all.
    pub(crate) fn carry(
        &mut self,
        now: Time,
        bytes: usize,
        weather: &Weather,
        dice: &mut Dice,
    ) -> [Option<Time>; 2] {
        let waiting = weather.waiting(now, self.free_at);
        let is_full = waiting + bytes as u64 > weather.queue || self.free_at.since(now) >= WAITS_MAX;
        if is_full && waiting > 0 {
            return [None, None];
        }
        self.free_at = self.free_at.max(now) + weather.serialisation(bytes);
        if weather.loss.strikes(&mut self.is_bad, dice) {
            return [None, None];
        }
        let first = self.free_at + weather.delay(dice);
        let second = dice.chance(weather.duplication).then(|| self.free_at + weather.delay(dice));
        [Some(first), second]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Loss;
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const PACKETS: usize = 200_000;

    /// Sends packets of 100 bytes, one each millisecond.
    fn arrivals(weather: &Weather) -> Vec<[Option<Time>; 2]> {
        let (mut pipe, mut dice) = (Pipe::default(), Dice::new(3));
        let at = |n: usize| Time::from_micros(n as u64 * 1_000);
        (0..PACKETS).map(|n| pipe.carry(at(n), 100, weather, &mut dice)).collect()
    }

    fn lost(arrivals: &[[Option<Time>; 2]]) -> f64 {
        arrivals.iter().filter(|pair| pair[0].is_none()).count() as f64 / arrivals.len() as f64
    }

    #[test]
    fn path_loses_its_configured_share_of_packets() {
        let bursts = Loss::Bursts { begin: 0.01, end: 0.2, good: 0.001, bad: 0.8 };
        for loss in [Loss::Random(0.0), Loss::Random(0.05), Loss::Random(0.3), bursts] {
            let share = lost(&arrivals(&Weather { loss, ..Weather::fair() }));
            assert!((share - loss.mean()).abs() < 0.003, "{loss:?}: {share}");
        }
    }

    #[test]
    fn bursts_of_loss_have_their_configured_length() {
        let loss = Loss::Bursts { begin: 0.01, end: 0.2, good: 0.0, bad: 1.0 };
        let arrivals = arrivals(&Weather { loss, ..Weather::fair() });
        let starts = arrivals.windows(2).filter(|w| w[0][0].is_some() && w[1][0].is_none()).count();
        let run = lost(&arrivals) * PACKETS as f64 / starts as f64;
        assert!((4.7..5.3).contains(&run), "{run}");
    }

    #[test]
    fn delays_match_latency_and_jitter() {
        let weather = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.0);
        let delays: Vec<_> = arrivals(&weather)
            .iter()
            .enumerate()
            .map(|(n, pair)| pair[0].unwrap().as_micros() - n as u64 * 1_000)
            .collect();
        let mean = delays.iter().sum::<u64>() / delays.len() as u64;
        assert!((29_800..30_200).contains(&mean), "{mean}");
        assert!(delays.iter().all(|delay| (20_000..40_000).contains(delay)));
    }

    #[test]
    fn packets_are_doubled_and_delayed_as_often_as_configured() {
        let weather = Weather {
            duplication: 0.1,
            reordering: 0.1,
            jitter: Duration::ZERO,
            ..Weather::of(Duration::from_millis(40), Duration::ZERO, 0.0)
        };
        let arrivals = arrivals(&weather);
        let share = |count: usize| count as f64 / PACKETS as f64;
        let doubled = share(arrivals.iter().filter(|pair| pair[1].is_some()).count());
        assert!((0.09..0.11).contains(&doubled), "{doubled}");
        let held = arrivals
            .iter()
            .enumerate()
            .filter(|(n, pair)| pair[0].is_some_and(|at| at > Time::from_micros(*n as u64 * 1_000 + 20_000)));
        let held = share(held.count());
        assert!((0.09..0.11).contains(&held), "{held}");
    }

    #[test]
    fn full_queue_drops_packets_and_slow_line_delays_them() {
        // The test sends 100,000 bytes a second, of which half fit.
        let weather = Weather { bandwidth: Some(50_000), queue: 10_000, ..Weather::fair() };
        let arrivals = arrivals(&weather);
        assert!((lost(&arrivals) - 0.5).abs() < 0.01);
        let latest = arrivals.iter().enumerate().filter_map(|(n, pair)| Some((n, pair[0]?)));
        let longest = latest.map(|(n, at)| at.as_micros() - n as u64 * 1_000).max().unwrap();
        assert!((200_000..225_000).contains(&longest), "{longest}");
        // A long queue in front of a slow line holds no packet for longer than two seconds.
        let (mut pipe, mut dice) = (Pipe::default(), Dice::new(3));
        let weather = Weather { bandwidth: Some(2_000), queue: 60_000, ..Weather::fair() };
        let arrive = (0..1_000).map(|_| pipe.carry(Time::ZERO, 100, &weather, &mut dice)[0]);
        let longest = arrive.flatten().max().unwrap().as_micros();
        assert!((2_000_000..2_200_000).contains(&longest), "{longest}");
    }
}
