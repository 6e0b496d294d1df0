//! Tests that the checkers find games that break a promise on purpose, and that they name the right promise.

use samovar_session::objects::State;
use samovar_session::{Event, Lane, Schemas, Session, Target};
use samovar_sim::{Broken, Fault, Game, Plan, ProcessId, Promise, Toy, Turn, Weather, Who, run, shrink};
use samovar_wire::{Duration, Kind};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The way in which a game breaks a promise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mischief {
    /// Sends a number twice.
    Repeats,
    /// Writes a value that the ledger does not know.
    Scribbles,
    /// Does not rest when told to.
    Fidgets,
    /// Complains by itself, as a game's own checker does.
    Complains,
    /// Panics when the host changes.
    #[cfg(panic = "unwind")]
    Panics,
}

struct Naughty {
    toy: Toy,
    mischief: Mischief,
    ticks: u64,
    is_lost: bool,
}

impl Naughty {
    fn new(mischief: Mischief) -> Self {
        Self { toy: Toy::new(), mischief, ticks: 0, is_lost: false }
    }
}

impl Game for Naughty {
    fn schemas(&self) -> Schemas {
        self.toy.schemas()
    }

    fn beacon(&self) -> Option<Kind> {
        self.toy.beacon()
    }

    fn tick(&mut self, turn: &mut Turn<'_>) {
        self.ticks += 1;
        match self.mischief {
            Mischief::Repeats if self.ticks == 200 => {
                let _ = turn.session.send(Target::All, Lane::GAME, &[0; 8]);
            }
            Mischief::Scribbles if self.ticks >= 200 => {
                let me = turn.session.me();
                let own =
                    turn.session.objects().find(|object| object.owner() == me && object.numbers().len() == 6);
                let mut state = State::default();
                [me.0.cast_signed(), 7, 1, 1, 1, 1].into_iter().for_each(|number| state.number(number));
                if let Some(id) = own.map(samovar_session::Object::id) {
                    let _ = turn.session.edit(turn.now).set_state(id, &state);
                }
                return;
            }
            Mischief::Fidgets => turn.resting = false,
            #[cfg(panic = "unwind")]
            Mischief::Panics => assert!(!self.is_lost, "the tea is cold"),
            _ => {}
        }
        self.toy.tick(turn);
    }

    fn event(&mut self, turn: &mut Turn<'_>, event: &Event) {
        self.is_lost |= matches!(event, Event::HostChanged(_));
        self.toy.event(turn, event);
    }

    fn check(&mut self, process: ProcessId, session: &Session) -> Result<(), Broken> {
        if self.mischief == Mischief::Complains && self.is_lost {
            return Err(Broken::new(Promise::Game, "the host changed, and this game wanted to keep it"));
        }
        self.toy.check(process, session)
    }

    fn check_settled(&mut self, members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        self.toy.check_settled(members)
    }
}

fn promise(plan: Plan, mischief: Mischief) -> Option<Promise> {
    run(plan, Naughty::new(mischief), false).violation.map(|violation| violation.promise)
}

#[test]
fn number_sent_twice_is_found() {
    assert_eq!(promise(Plan::calm(1, 3), Mischief::Repeats), Some(Promise::Reliable));
}

#[test]
fn a_value_that_nobody_wrote_is_found() {
    assert_eq!(promise(Plan::calm(1, 3), Mischief::Scribbles), Some(Promise::OnlyTheOwnerSpeaks));
}

#[test]
fn members_that_never_agree_are_found() {
    // The path between members takes longer than two frames. Over a shorter path they would agree between one frame
    // and the next.
    let far = Weather::of(Duration::from_millis(200), Duration::ZERO, 0.0);
    let plan = Plan { direct: far, ..Plan::calm(1, 3) };
    assert_eq!(promise(plan, Mischief::Fidgets), Some(Promise::Convergence));
}

#[test]
fn memory_beyond_the_bound_is_found() {
    let plan = Plan { memory: 1, ..Plan::calm(1, 3) };
    let violation = run(plan, Toy::new(), false).violation;
    assert_eq!(violation.map(|violation| violation.promise), Some(Promise::Memory));
}

#[test]
fn shrinking_keeps_only_the_fault_that_a_game_objects_to() {
    let mut plan = Plan::calm(1, 3);
    plan.strike(100, Fault::Join);
    plan.strike(200, Fault::Hide { who: Who::Player(2), lasts: Duration::from_millis(300) });
    plan.strike(900, Fault::Crash { who: Who::Host, back: None });
    plan.strike(
        1_000,
        Fault::SlowDisk { delay: Duration::from_millis(3), lasts: Duration::from_millis(100) },
    );
    assert_eq!(promise(plan.clone(), Mischief::Complains), Some(Promise::Game));
    let shrunk = shrink(&plan, || Naughty::new(Mischief::Complains));
    assert_eq!(shrunk.faults.len(), 1);
    assert_eq!(shrunk.faults[0].1.name(), "crash");
}

#[cfg(panic = "unwind")]
#[test]
fn panic_is_a_broken_promise_and_can_be_shrunk() {
    let mut plan = Plan::calm(1, 3);
    plan.strike(100, Fault::Join);
    plan.strike(900, Fault::Crash { who: Who::Host, back: None });
    let outcome = run(plan.clone(), Naughty::new(Mischief::Panics), true);
    assert!(outcome.simulated > Duration::from_millis(900));
    let violation = outcome.violation.map(|violation| (violation.promise, violation.what));
    assert_eq!(violation, Some((Promise::Panic, "the tea is cold".to_owned())));
    let last = outcome.trace.entries().last().map(ToString::to_string);
    assert!(last.is_some_and(|last| last.contains("BROKEN panic: the tea is cold")));
    assert_eq!(shrink(&plan, || Naughty::new(Mischief::Panics)).faults.len(), 1);
}

#[test]
fn recovery_is_measured_once_for_each_lost_host() {
    let mut plan = Plan::calm(5, 4);
    plan.strike(500, Fault::Crash { who: Who::Host, back: None });
    plan.strike(3_000, Fault::Death { who: Who::Host, back: None });
    let outcome = run(plan, Toy::new(), false);
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.recoveries.len(), 2);
    assert_eq!(outcome.figures.host_changes, 2);
    assert!(outcome.recoveries.iter().all(|span| (50_000..3_000_000).contains(&span.time.as_micros())));
}

#[test]
fn healthy_host_is_not_deposed_in_a_minute_of_bad_weather() {
    let mut plan = Plan::calm(9, 5);
    plan.direct = Weather::of(Duration::from_millis(60), Duration::from_millis(50), 0.05);
    plan.relay = plan.direct;
    plan.lasts = Duration::from_millis(60_000);
    let outcome = run(plan, Toy::new(), false);
    assert_eq!((outcome.violation, outcome.figures.deposed), (None, 0));
}
