//! Many runs in one summary, for people and for machines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::scenario::Shape;
use samovar_wire::Duration;

use crate::promise::Violation;
use crate::run::Outcome;
use crate::scenario::Scenario;

/// Upper bounds of the histogram's rows, in milliseconds.
const ROWS: [u64; 14] = [50, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 5_000, 10_000, u64::MAX];
/// The length of the longest bar, in characters.
const BAR: usize = 50;

/// Spans of time, and their percentiles.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    micros: Vec<u64>,
    is_sorted: bool,
}

impl Spans {
    /// Adds a span.
    pub fn add(&mut self, span: Duration) {
        self.micros.push(span.as_micros());
        self.is_sorted = false;
    }

    /// Adds all spans of another collection.
    pub fn merge(&mut self, other: &Self) {
        self.micros.extend_from_slice(&other.micros);
        self.is_sorted = false;
    }

    /// The number of spans.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.micros.len()
    }

    /// Whether there are no spans.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.micros.is_empty()
    }

    /// The least span that this share of all spans does not exceed (nearest rank), in milliseconds. Zero if there are
    /// no spans.
    pub fn percentile(&mut self, share: f64) -> f64 {
        if !self.is_sorted {
            self.micros.sort_unstable();
            self.is_sorted = true;
        }
        let rank = (share * self.micros.len() as f64).ceil() as usize;
        self.micros.get(rank.saturating_sub(1)).map_or(0.0, |&micros| micros as f64 / 1_000.0)
    }

    /// A histogram, with one row on each line.
    #[must_use]
    pub fn histogram(&self) -> String {
        let mut counts = [0usize; ROWS.len()];
        for micros in &self.micros {
            let row =
                ROWS.iter().position(|&row| *micros <= row.saturating_mul(1_000)).unwrap_or(ROWS.len() - 1);
            counts[row] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let last = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let mut text = String::new();
        for (row, &count) in counts.iter().enumerate().take(last + 1) {
            let label = if ROWS[row] == u64::MAX { "more".to_owned() } else { format!("{} ms", ROWS[row]) };
            let bar = "#".repeat((count * BAR).div_ceil(most));
            let _ = writeln!(text, "  {label:>9} {count:>7} {bar}");
        }
        text
    }
}

/// A run that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The scenario.
    pub scenario: &'static str,
    /// How members reached each other.
    pub shape: Shape,
    /// The promise that broke, and how.
    pub violation: Violation,
}

impl core::fmt::Display for Failure {
    /// Writes the arguments of `replay` and `shrink` that repeat the run.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} --scenario {}{}", self.seed, self.scenario, self.shape.flag())
    }
}

/// The outcome of many runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of runs.
    pub runs: u64,
    /// The virtual time that passed, in microseconds.
    pub simulated_micros: u64,
    /// Faults that struck, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Changes of host.
    pub host_changes: u64,
    /// Hosts that were replaced although nothing was wrong with them.
    pub deposed: u64,
    /// Packets handed to peers.
    pub packets: u64,
    /// The bytes of these packets.
    pub bytes: u64,
    /// The largest footprint of a peer, in bytes of its `Debug` output.
    pub footprint: usize,
    /// The times from an old host's last packet until all survivors went on.
    pub recoveries: Spans,
    /// The longest standstill of the beacon at a survivor, for each of these recoveries.
    pub gaps: Spans,
    /// The longest standstills of the beacon at members that do not own it, from runs that measure them.
    pub standstills: Spans,
    /// The longest silence of a running member in each run that bounds it.
    pub silences: Spans,
    /// By scenario, the number of runs in which a member was silent for longer than usual, and the number of all runs
    /// that check this.
    pub silent: BTreeMap<&'static str, [u64; 2]>,
    /// Packets that members sent each other directly, and through the relay.
    pub sent: [u64; 2],
    /// By scenario, the number of evicted members, the number of members that reported what they had done alone, and
    /// the virtual time of the runs in microseconds.
    pub exits: BTreeMap<&'static str, [u64; 3]>,
    /// The times from each eviction until the player was a member again.
    pub returns: Spans,
    /// By scenario, the sum of the trace hashes of its runs. Two programs that behave alike have the same sums.
    pub hashes: BTreeMap<&'static str, u64>,
    /// Runs that broke a promise.
    pub failures: Vec<Failure>,
}

impl Summary {
    /// Adds a run.
    pub fn add(&mut self, scenario: &'static str, seed: u64, shape: Shape, outcome: &Outcome) {
        self.runs += 1;
        self.simulated_micros += outcome.simulated.as_micros();
        for (kind, count) in &outcome.figures.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        self.host_changes += outcome.figures.host_changes;
        self.deposed += outcome.figures.deposed;
        self.packets += outcome.figures.packets;
        self.bytes += outcome.figures.bytes;
        self.footprint = self.footprint.max(outcome.figures.footprint);
        for recovery in &outcome.recoveries {
            self.recoveries.add(recovery.time);
            self.gaps.add(recovery.gap);
        }
        outcome.standstills.iter().for_each(|&span| self.standstills.add(span));
        if outcome.figures.silence > Duration::ZERO {
            self.silences.add(outcome.figures.silence);
        }
        if let Some(is_silent) = outcome.is_silent {
            self.add_silent(scenario, [u64::from(is_silent), 1]);
        }
        self.add_sent(outcome.figures.sent);
        let figures = &outcome.figures;
        self.add_exits(scenario, [figures.exits, figures.diverged, outcome.simulated.as_micros()]);
        figures.returns.iter().for_each(|&span| self.returns.add(span));
        self.add_hash(scenario, outcome.trace.hash().rotate_left(seed as u32 % 64));
        if let Some(violation) = outcome.violation.clone() {
            self.failures.push(Failure { seed, scenario, shape, violation });
        }
    }

    /// Adds the runs of another summary.
    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.simulated_micros += other.simulated_micros;
        for (kind, count) in other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        self.host_changes += other.host_changes;
        self.deposed += other.deposed;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.footprint = self.footprint.max(other.footprint);
        self.recoveries.merge(&other.recoveries);
        self.gaps.merge(&other.gaps);
        self.standstills.merge(&other.standstills);
        self.silences.merge(&other.silences);
        other.silent.into_iter().for_each(|(scenario, runs)| self.add_silent(scenario, runs));
        self.add_sent(other.sent);
        other.exits.into_iter().for_each(|(scenario, exits)| self.add_exits(scenario, exits));
        self.returns.merge(&other.returns);
        other.hashes.into_iter().for_each(|(scenario, hash)| self.add_hash(scenario, hash));
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|failure| (failure.scenario, failure.seed));
    }

    fn add_silent(&mut self, scenario: &'static str, more: [u64; 2]) {
        let runs = self.silent.entry(scenario).or_default();
        runs.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }

    fn add_exits(&mut self, scenario: &'static str, more: [u64; 3]) {
        let exits = self.exits.entry(scenario).or_default();
        exits.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }

    /// Adds the hash of a run. Runs end in any order, so their hashes are summed.
    fn add_hash(&mut self, scenario: &'static str, hash: u64) {
        let sum = self.hashes.entry(scenario).or_default();
        *sum = sum.wrapping_add(hash);
    }

    /// Returns the scenarios that had more evictions than their bound and chance explain, with their evictions per
    /// simulated hour and their bound.
    pub fn evictions(&self) -> impl Iterator<Item = (&'static str, [f64; 2])> {
        self.exits.iter().filter_map(|(&name, &[exits, _, micros])| {
            let most = Scenario::named(name)?.exits_at_most();
            let hours = micros as f64 / 3.6e9;
            let is_excess = exits as f64 > allowance(most * hours);
            is_excess.then_some((name, [exits as f64 / hours, most]))
        })
    }

    /// Returns the scenarios in which too many runs had a longer silence than usual, with the numbers of those runs
    /// and of all runs. Losses explain one run of fifty, and one run more is allowed.
    pub fn excesses(&self) -> impl Iterator<Item = (&'static str, [u64; 2])> {
        let is_excess = |&(_, [long, all]): &(&str, [u64; 2])| long > 1 + all / 50;
        self.silent.iter().map(|(&scenario, &runs)| (scenario, runs)).filter(is_excess)
    }

    /// Whether every promise was kept in every run, and no scenario had too many long silences or evictions.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.failures.is_empty() && self.excesses().next().is_none() && self.evictions().next().is_none()
    }

    fn add_sent(&mut self, sent: [u64; 2]) {
        self.sent.iter_mut().zip(sent).for_each(|(sum, more)| *sum += more);
    }

    /// The virtual time that passed, in hours.
    #[must_use]
    pub fn simulated_hours(&self) -> f64 {
        self.simulated_micros as f64 / 3.6e9
    }

    /// One JSON object: `runs`, `simulatedHours`, `faults`, `hostChanges`, `healthyHostsDeposed`, `recoveryMs`,
    /// `violations`. The names in it are this crate's own and need no escaping. The text of a violation may need
    /// escaping, so it is left out.
    pub fn json(&mut self) -> String {
        let faults: Vec<_> = self.faults.iter().map(|(kind, count)| format!("\"{kind}\":{count}")).collect();
        let violation = |failure: &Failure| {
            let (seed, scenario, promise) =
                (failure.seed, failure.scenario, failure.violation.promise.name());
            format!("{{\"seed\":{seed},\"scenario\":\"{scenario}\",\"promise\":\"{promise}\"}}")
        };
        let violations: Vec<_> = self.failures.iter().map(violation).collect();
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| self.recoveries.percentile(share));
        format!(
            "{{\"runs\":{},\"simulatedHours\":{:.4},\"faults\":{{{}}},\"hostChanges\":{},\
             \"healthyHostsDeposed\":{},\"recoveryMs\":{{\"count\":{},\"p50\":{p50:.1},\"p99\":{p99:.1},\
             \"max\":{max:.1}}},\"violations\":[{}]}}",
            self.runs,
            self.simulated_hours(),
            faults.join(","),
            self.host_changes,
            self.deposed,
            self.recoveries.len(),
            violations.join(","),
        )
    }
}

impl core::fmt::Display for Summary {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "runs                  {:>10}", self.runs)?;
        writeln!(f, "simulated hours       {:>10.2}", self.simulated_hours())?;
        writeln!(f, "packets delivered     {:>10}", self.packets)?;
        writeln!(f, "bytes of these        {:>10}", self.bytes)?;
        writeln!(f, "host changes          {:>10}", self.host_changes)?;
        writeln!(f, "healthy hosts deposed {:>10}", self.deposed)?;
        writeln!(f, "largest peer's weight {:>10} bytes of Debug output", self.footprint)?;
        writeln!(f, "faults")?;
        for (kind, count) in &self.faults {
            writeln!(f, "  {kind:<20}{count:>10}")?;
        }
        let mut recoveries = self.recoveries.clone();
        if !recoveries.is_empty() {
            let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| recoveries.percentile(share));
            writeln!(
                f,
                "recoveries: {} (p50 {p50:.0} ms, p99 {p99:.0} ms, max {max:.0} ms)",
                recoveries.len()
            )?;
            write!(f, "{}", recoveries.histogram())?;
            let mut gaps = self.gaps.clone();
            let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| gaps.percentile(share));
            writeln!(f, "longest standstill (p50 {p50:.0} ms, p99 {p99:.0} ms, max {max:.0} ms)")?;
        }
        let mut silences = self.silences.clone();
        if !silences.is_empty() {
            let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| silences.percentile(share));
            writeln!(f, "longest silence (p50 {p50:.0} ms, p99 {p99:.0} ms, max {max:.0} ms)")?;
        }
        for (scenario, [long, all]) in self.excesses() {
            writeln!(f, "TOO OFTEN silent for longer than usual: {scenario}, {long} of {all} runs")?;
        }
        if !self.returns.is_empty() {
            let mut returns = self.returns.clone();
            let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| returns.percentile(share));
            writeln!(f, "from removed to joined (p50 {p50:.0} ms, p99 {p99:.0} ms, max {max:.0} ms)")?;
        }
        for (scenario, [exits, diverged, micros]) in self.exits.iter().filter(|(_, exits)| exits[0] > 0) {
            let per_hour = |count: &u64| *count as f64 / (*micros as f64 / 3.6e9).max(1e-9);
            let (exits, diverged) = (per_hour(exits), per_hour(diverged));
            writeln!(f, "  {scenario:<34} {exits:>8.1} exits an hour, {diverged:.1} of them diverged")?;
        }
        for (scenario, [exits, most]) in self.evictions() {
            writeln!(f, "TOO MANY exits: {scenario}, {exits:.1} an hour, at most {most}")?;
        }
        writeln!(f, "violations            {:>10}", self.failures.len())?;
        for failure in &self.failures {
            let Violation { promise, at, what } = &failure.violation;
            let at = at.as_micros() as f64 / 1e6;
            writeln!(f, "  replay {failure}: {} at {at:.3} s: {what}", promise.name())?;
        }
        Ok(())
    }
}

/// The most evictions that chance explains if this many are expected: three standard deviations more. One cut can
/// evict all members of a run, so the deviation counts evictions in groups of four.
fn allowance(expected: f64) -> f64 {
    3.0f64.mul_add((4.0 * expected).sqrt(), expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let mut spans = Spans::default();
        assert_eq!(spans.percentile(0.5), 0.0);
        (1..=100).rev().for_each(|ms| spans.add(Duration::from_millis(ms)));
        assert_eq!([0.5, 0.99, 1.0].map(|share| spans.percentile(share)), [50.0, 99.0, 100.0]);
        assert!(spans.histogram().contains("50 ms      50"));
    }

    #[test]
    fn one_long_silence_in_fifty_runs_is_allowed() {
        let sum = |long, all| Summary { silent: [("paths", [long, all])].into(), ..Summary::default() };
        assert!(sum(1, 1).is_sound() && sum(3, 100).is_sound());
        assert!(!sum(2, 40).is_sound() && !sum(4, 100).is_sound());
        assert!(sum(2, 40).to_string().contains("paths, 2 of 40 runs"));
        let mut total = sum(1, 30);
        total.merge(sum(1, 10));
        assert_eq!(total.excesses().next(), Some(("paths", [2, 40])));
    }

    #[test]
    fn short_soak_may_exceed_the_bound_of_evictions_a_little() {
        const HOUR: u64 = 3_600_000_000;
        let sum = |name, exits, micros| Summary {
            exits: [(name, [exits, 0, micros])].into(),
            ..Summary::default()
        };
        // The bound of `chaos` is 350 an hour. A soak of three minutes (17 seeds from 606128947705 on) had 352.9.
        assert!(sum("chaos", 19, HOUR / 20).is_sound());
        assert!(!sum("chaos", 60, HOUR / 20).is_sound());
        assert!(sum("chaos", 3_800, 10 * HOUR).is_sound());
        assert!(!sum("chaos", 4_000, 10 * HOUR).is_sound());
        assert!(!sum("weather", 1, HOUR).is_sound(), "where none may happen, none is luck");
    }

    #[test]
    fn an_empty_summary_is_a_json_object() {
        let json = Summary::default().json();
        assert!(json.starts_with("{\"runs\":0,") && json.ends_with("\"violations\":[]}"), "{json}");
    }
}
