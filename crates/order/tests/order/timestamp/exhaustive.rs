//! Every schedule of three members and up to four messages: all deliver in the one right order, whatever arrives
//! when.
//!
//! A member's deliveries depend on its arrivals and its clock, not on others' deliveries. So all schedules of three
//! members are all schedules of each one: its own sends, its clock, and the arrivals. The two others' messages arrive
//! in order; each of their promises may come early, late or not at all.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use samovar_order::timestamp::{Event, TimeOrder, TimeOrderConfig};
use samovar_wire::timed::{Promise, Timed, TimedMessage};
use samovar_wire::{Duration, PeerId, Time, Writer};

/// The times of each member's messages, in the order of sending.
type Plan = [Vec<u64>; 3];

/// A time after all messages.
const END: u64 = 1_000_000;

fn id(index: usize) -> PeerId {
    PeerId(index as u32 + 1)
}

/// The earliest time of a member's further messages, after it has sent `sent` of them.
fn until(times: &[u64], sent: usize) -> u64 {
    times[sent..].iter().copied().min().unwrap_or(END)
}

#[derive(Clone, Hash)]
struct Stage {
    order: TimeOrder,
    clock: u64,
    sent: usize,
    arrived: [usize; 3],
    /// By member and number of its messages: whether the promise that follows that many messages came.
    promised: [[bool; 5]; 3],
    delivered: Vec<(u64, u32)>,
}

impl Stage {
    fn new(me: usize) -> Self {
        let config = TimeOrderConfig { patience: Duration::from_millis(60_000), ..Default::default() };
        let mut order = TimeOrder::new(id(me), config);
        order.handle_view(Time::ZERO, &[0, 1, 2].map(id));
        let (arrived, promised) = ([0; 3], [[false; 5]; 3]);
        Self { order, clock: 0, sent: 0, arrived, promised, delivered: Vec::new() }
    }

    fn now(&self) -> Time {
        Time::from_micros(self.clock)
    }

    fn send(&mut self, time: u64) {
        let now = self.now();
        self.order.send(now, Time::from_micros(time), &[]).unwrap();
        self.sent += 1;
    }

    fn arrive(&mut self, plan: &Plan, from: usize) {
        let time = Time::from_micros(plan[from][self.arrived[from]]);
        self.arrived[from] += 1;
        let message = Timed { time, number: self.arrived[from] as u64, bytes: Vec::new() };
        let mut bytes = Vec::new();
        TimedMessage::Own(message).encode(&mut Writer::new(&mut bytes));
        self.order.handle_message(self.now(), id(from), &bytes).unwrap();
    }

    fn promise(&mut self, plan: &Plan, from: usize, sent: usize) {
        self.promised[from][sent] = true;
        let promise = Promise { until: Time::from_micros(until(&plan[from], sent)), sent: sent as u64 };
        self.order.handle_promise(self.now(), id(from), promise);
    }

    fn settle(&mut self) {
        let now = self.now();
        while self.order.poll_transmit().is_some() {}
        while let Some(event) = self.order.poll_event(now) {
            match event {
                Event::Message(message) => self.delivered.push((message.time.as_micros(), message.from.0)),
                event => panic!("{event:?}"),
            }
        }
    }

    /// All next steps of this member.
    fn successors(&self, plan: &Plan, me: usize) -> Vec<Self> {
        let mut next = Vec::new();
        let mut add = |happens: &dyn Fn(&mut Self)| {
            let mut stage = self.clone();
            happens(&mut stage);
            stage.settle();
            next.push(stage);
        };
        if let Some(&time) = plan[me].get(self.sent) {
            add(&|stage| stage.send(time));
        }
        let clock = until(&plan[me], self.sent);
        if clock > self.clock {
            add(&|stage| stage.clock = clock);
        }
        for from in (0..3).filter(|&from| from != me) {
            if self.arrived[from] < plan[from].len() {
                add(&|stage| stage.arrive(plan, from));
            }
            for sent in (0..=plan[from].len()).filter(|&sent| !self.promised[from][sent]) {
                add(&|stage| stage.promise(plan, from, sent));
            }
        }
        next
    }

    /// Lets everything arrive. Returns all deliveries.
    fn finish(mut self, plan: &Plan, me: usize) -> Vec<(u64, u32)> {
        for &time in &plan[me][self.sent..] {
            self.send(time);
        }
        self.clock = END;
        for from in (0..3).filter(|&from| from != me) {
            while self.arrived[from] < plan[from].len() {
                self.arrive(plan, from);
            }
            self.promise(plan, from, plan[from].len());
        }
        self.settle();
        self.delivered
    }
}

fn fingerprint(stage: &Stage) -> u64 {
    let mut hasher = DefaultHasher::new();
    stage.hash(&mut hasher);
    hasher.finish()
}

/// Visits all schedules of a plan at a member; returns the number of states.
fn explore(plan: &Plan, me: usize) -> usize {
    let said = (0..3).flat_map(|from| plan[from].iter().map(move |&time| (time, id(from).0)));
    let mut right: Vec<(u64, u32)> = said.collect();
    right.sort_unstable();
    let mut seen = BTreeSet::new();
    let mut open = vec![Stage::new(me)];
    while let Some(stage) = open.pop() {
        if !seen.insert(fingerprint(&stage)) {
            continue;
        }
        assert!(right.starts_with(&stage.delivered), "{plan:?} at {me}: {:?}", stage.delivered);
        open.extend(stage.successors(plan, me));
        assert_eq!(stage.finish(plan, me), right, "{plan:?} at {me}");
    }
    seen.len()
}

/// All ways to give these times to three senders.
fn plans(times: &[u64]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = vec![Plan::default()];
    for &time in times {
        let give = |plan: Plan| {
            (0..3).map(move |from| {
                let mut plan = plan.clone();
                plan[from].push(time);
                plan
            })
        };
        plans = plans.into_iter().flat_map(give).collect();
    }
    plans
}

fn explore_all(lists: &[&[u64]]) {
    let plans: BTreeSet<Plan> = lists.iter().flat_map(|times| plans(times)).collect();
    let (count, mut states) = (plans.len(), 0);
    for plan in plans {
        states += (0..3).map(|me| explore(&plan, me)).sum::<usize>();
    }
    println!("{count} plans, {states} states, each in the right order");
}

#[test]
fn all_schedules_of_three_messages_have_one_order() {
    let mut lists = vec![vec![], vec![5]];
    for a in 5..8 {
        for b in 5..8 {
            lists.push(vec![a, b]);
            lists.extend((5..8).map(|c| vec![a, b, c]));
        }
    }
    explore_all(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
}

#[test]
fn all_schedules_of_four_messages_have_one_order() {
    // One sender's times in any order; the sender's id decides between equal times.
    explore_all(&[&[5, 6, 7, 8], &[8, 7, 6, 5], &[6, 5, 6, 5], &[5, 6, 6, 5]]);
}
