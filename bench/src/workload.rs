//! Workload W: one owner, its observers, and objects that all move in every tick.

use crate::age::{Ages, History};
use crate::meter::{self, Cost};
use crate::motion::Motion;
use crate::network::{Network, Outbox, Traffic};
use crate::state::{Key, State};
use crate::subjects::{Replicator, Setup, Subject};

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of the run's randomness.
    pub seed: u64,
    /// The number of observers.
    pub observers: usize,
    /// The number of objects.
    pub objects: usize,
    /// The number of objects that move.
    pub moving: usize,
    /// Whether the motion jitters.
    pub is_noisy: bool,
    /// Ticks of motion that are measured.
    pub ticks: u64,
    /// Share of datagrams lost in each direction.
    pub loss: f64,
    /// How often the motion stops until all observers agree.
    pub freezes: u64,
}

impl Plan {
    /// Workload W (docs/benchmarks.md).
    #[must_use]
    pub fn standard(seed: u64, is_noisy: bool, loss: f64) -> Self {
        Self { seed, observers: 16, objects: 64, moving: 64, is_noisy, ticks: 600, loss, freezes: 10 }
    }
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Sent by the owner during the measured ticks.
    pub down: Traffic,
    /// Sent by the observers during the measured ticks.
    pub up: Traffic,
    /// The owner's cost of each measured tick.
    pub costs: Vec<Cost>,
    /// The ages of every moving object at every observer, at every measured tick.
    pub ages: Ages,
    /// For each freeze, the ticks from the last change until the slowest observer agreed.
    pub converged: Vec<u64>,
    /// The owner's traffic to all observers in a second without motion.
    pub rest: Traffic,
    /// Messages that the transport did not take.
    pub refused: u64,
}

/// The one-way delay in ticks of 60 Hz: 30 ms, rounded up to the next tick.
const DELAY: u64 = 2;
/// The longest set-up in ticks. The links lose nothing during it.
const SET_UP_MAX: u64 = 2_000;
/// Ticks with loss after the set-up that are not measured, so that estimates and buffers settle.
const WARM_UP: u64 = 120;
/// Ticks of motion between two freezes.
const BETWEEN_FREEZES: u64 = 30;
/// The longest wait for observers to agree, in ticks: 20 s. After that the result counts as "never".
pub const CONVERGE_MAX: u64 = 1_200;
/// Ticks at rest before the traffic at rest is measured, so that late acks are over.
const SETTLE: u64 = 120;
const REST: u64 = 60;

/// Runs a plan.
///
/// # Panics
/// When the subject does not get through the lossless set-up.
#[must_use]
pub fn run(subject: Subject, plan: Plan) -> Outcome {
    let mut run = Run::new(subject, plan);
    run.set_up(subject.name);
    run.network.set_loss(plan.loss);
    run.move_for(WARM_UP);
    let mut outcome = run.measure_motion();
    for freeze in 0..plan.freezes {
        if freeze > 0 {
            run.move_for(BETWEEN_FREEZES);
        }
        outcome.converged.push(run.freeze());
    }
    for _ in 0..SETTLE {
        run.tick();
    }
    let (before, _) = run.network.traffic();
    for _ in 0..REST {
        run.tick();
    }
    outcome.rest = since(run.network.traffic().0, before);
    outcome.refused = run.subject.refused();
    outcome
}

struct Run {
    plan: Plan,
    subject: Box<dyn Replicator>,
    network: Network,
    motion: Motion,
    /// Ticks of motion so far. The count stands still during a freeze.
    moved: u64,
    states: Vec<State>,
    tick: u64,
    from_owner: Outbox,
    from_observers: Outbox,
    history: History,
}

impl Run {
    fn new(subject: Subject, plan: Plan) -> Self {
        let mut motion = Motion::new(plan.seed, plan.objects, plan.is_noisy);
        let states = motion.states(0);
        let setup = Setup { observers: plan.observers, states: &states, seed: plan.seed };
        Self {
            plan,
            subject: (subject.start)(setup),
            network: Network::new(plan.seed, plan.observers, DELAY),
            motion,
            moved: 0,
            states,
            tick: 1,
            from_owner: Outbox::new(),
            from_observers: Outbox::new(),
            history: History::default(),
        }
    }

    fn set_up(&mut self, name: &str) {
        let agreed = (0..SET_UP_MAX).any(|_| {
            self.tick();
            self.is_exact()
        });
        assert!(agreed, "{name}: no observer has all objects after {SET_UP_MAX} ticks without loss");
    }

    fn move_for(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.advance();
            self.tick();
        }
    }

    fn measure_motion(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let before = self.network.traffic();
        outcome.costs.reserve(self.plan.ticks as usize);
        for _ in 0..self.plan.ticks {
            self.advance();
            outcome.costs.push(self.tick());
            self.count_ages(&mut outcome.ages);
        }
        let after = self.network.traffic();
        outcome.down = since(after.0, before.0);
        outcome.up = since(after.1, before.1);
        outcome
    }

    /// Lets the motion stop. Returns the ticks from the last change until all observers agree.
    fn freeze(&mut self) -> u64 {
        for ticks in 1..CONVERGE_MAX {
            self.tick();
            if self.is_exact() {
                return ticks;
            }
        }
        CONVERGE_MAX
    }

    fn advance(&mut self) {
        self.moved += 1;
        self.motion.write(self.moved, &mut self.states[..self.plan.moving]);
    }

    fn tick(&mut self) -> Cost {
        self.tick += 1;
        let arrived: Vec<Vec<Vec<u8>>> = self
            .network
            .up
            .iter_mut()
            .map(|pipe| std::iter::from_fn(|| pipe.receive(self.tick)).collect())
            .collect();
        let moving = &self.states[..self.plan.moving];
        let cost = meter::measure(|| {
            for (observer, datagrams) in arrived.iter().enumerate() {
                for datagram in datagrams {
                    self.subject.receive_at_owner(observer, datagram);
                }
            }
            self.subject.tick_owner(self.tick, moving, &mut self.from_owner);
        });
        self.from_owner.drain(|observer, datagram| self.network.down[observer].send(self.tick, datagram));
        for observer in 0..self.plan.observers {
            let pipe = &mut self.network.down[observer];
            let arrived: Vec<Vec<u8>> = std::iter::from_fn(|| pipe.receive(self.tick)).collect();
            self.subject.tick_observer(self.tick, observer, &arrived, &mut self.from_observers);
        }
        self.from_observers.drain(|observer, datagram| self.network.up[observer].send(self.tick, datagram));
        let keys = moving.iter().map(|state| self.subject.key(state).position).collect();
        self.history.push(keys);
        cost
    }

    fn count_ages(&self, ages: &mut Ages) {
        for observer in 0..self.plan.observers {
            for object in 0..self.plan.moving {
                ages.count(self.history.age(object, self.subject.shown(observer, object)));
            }
        }
    }

    fn is_exact(&self) -> bool {
        let keys: Vec<Key> = self.states.iter().map(|state| self.subject.key(state)).collect();
        (0..self.plan.observers).all(|observer| {
            keys.iter().enumerate().all(|(object, key)| self.subject.shown(observer, object) == Some(*key))
        })
    }
}

fn since(after: Traffic, before: Traffic) -> Traffic {
    Traffic { bytes: after.bytes - before.bytes, datagrams: after.datagrams - before.datagrams }
}
