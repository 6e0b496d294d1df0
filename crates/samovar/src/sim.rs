//! Plays a game in the simulator: players come, go and are killed, networks are cut and healed, in virtual time. A run
//! depends on its seed alone.
//!
//! The simulator checks what every session promises, and that all members have the same state in the end. A game adds
//! its own check.

use std::collections::BTreeMap;
use std::ops::Range;

use samovar_session::objects::Schemas;
use samovar_session::{Event, Rules, Session};
use samovar_sim::{Broken, ProcessId, Promise, SCENARIOS, Scenario, Turn, run};
pub use samovar_sim::{Fault, Plan, Weather, Who};
pub use samovar_wire::Duration;

use crate::game::{Game, MaybeSend, rules};
use crate::hosted;
use crate::inner::Inner;
use crate::keeper::{Identity, Keeper, Parts, play_frame};
use crate::member::Member;
use crate::memory::Memory;
use crate::object::{ObjectOf, Seen};
use crate::room::Room;

/// One player in the end, when changes have stopped and all members agree.
pub struct Settled<'a, G: Game> {
    /// The player's game.
    pub game: &'a G,
    /// The state that the host keeps for all.
    pub state: &'a G::State,
    /// The player.
    pub me: Member,
    inner: &'a Inner<G>,
    session: &'a Session,
}

impl<G: Game> Settled<'_, G> {
    /// All objects of a type, as this player sees them.
    #[must_use]
    pub fn all<T: ObjectOf<G>>(&self) -> Vec<Seen<T>> {
        self.inner.all(self.session)
    }
}

/// Plays the game in each seed of a scenario of the simulator. `samovar-sim soak --help` names the scenarios;
/// `host-crash` and `chaos` are two. `begin` makes each player's game, as in [`Entry::run`](crate::Entry::run).
///
/// # Errors
/// The first promise that was broken, with the seed. Or the scenario does not exist; the text names those that do.
pub fn play<G: Game>(
    scenario: &str,
    seeds: Range<u64>,
    begin: impl Begin<G>,
    check: impl Fn(&[Settled<'_, G>]) -> Result<(), String>,
) -> Result<(), String> {
    let known = || SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
    let scenario = Scenario::named(scenario)
        .ok_or_else(|| format!("there is no scenario {scenario:?}; there are {}", known()))?;
    for seed in seeds {
        play_plan(scenario.plan(seed), begin.clone(), &check)
            .map_err(|broken| format!("{} {seed}: {broken}", scenario.name))?;
    }
    Ok(())
}

/// Plays the game by a plan of your own: its players, its network, its faults, and its seed. The players' names are
/// `P0`, `P1` and so on, in the order in which the plan counts them. Their seats have the order in which they came in,
/// which can be another. A player that comes back after a crash has a new name.
///
/// # Errors
/// The first promise that was broken.
pub fn play_plan<G: Game>(
    mut plan: Plan,
    begin: impl Begin<G>,
    check: impl Fn(&[Settled<'_, G>]) -> Result<(), String>,
) -> Result<(), String> {
    // The simulator measures recovery by an object that each host keeps moving, which not every game has.
    plan.recovers_within = None;
    let Rules { orders, steps_within, spectators, .. } = rules::<G>();
    plan.rules = Rules { orders, steps_within, spectators, ..plan.rules };
    match run(plan, Trial { keepers: BTreeMap::new(), begin, check: &check }, false).violation {
        Some(violation) => Err(format!("{}: {}", violation.promise.name(), violation.what)),
        None => Ok(()),
    }
}

/// Makes each player's game: a function, or a closure that can be cloned.
pub trait Begin<G: Game>: Fn(&mut Room<'_, G>) -> G + Clone + MaybeSend + 'static {}

impl<G: Game, F: Fn(&mut Room<'_, G>) -> G + Clone + MaybeSend + 'static> Begin<G> for F {}

/// All players of a run.
struct Trial<'a, G: Game, B, C> {
    keepers: BTreeMap<ProcessId, Keeper<G>>,
    begin: B,
    check: &'a C,
}

impl<G, B, C> samovar_sim::Game for Trial<'_, G, B, C>
where
    G: Game,
    B: Begin<G>,
    C: Fn(&[Settled<'_, G>]) -> Result<(), String>,
{
    fn schemas(&self) -> Schemas {
        hosted::schemas::<G>()
    }

    fn tick(&mut self, turn: &mut Turn<'_>) {
        let keeper = self.keeper(turn.process);
        if turn.resting {
            keeper.rest(turn.now, turn.session);
        } else {
            keeper.frame_of(turn.now, turn.session, play_frame);
        }
    }

    fn event(&mut self, turn: &mut Turn<'_>, event: &Event) {
        let keeper = self.keeper(turn.process);
        if *event == Event::Joined && keeper.has_joined() {
            keeper.begin_anew();
        }
        keeper.on_session_event(turn.now, turn.session, event.clone());
    }

    fn check_settled(&mut self, members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        let broken = |text: String| Broken::new(Promise::Game, text);
        let mut settled = Vec::new();
        let mut states = Vec::new();
        for &(process, session) in members {
            let keeper = self.keeper(process);
            keeper.look_at_state(session);
            states.push(keeper.written_state());
        }
        if let Some(place) = states.iter().position(|state| *state != states[0]) {
            let [(first, _), (other, _)] = [members[0], members[place]];
            return Err(broken(format!("processes {first} and {other} have different states")));
        }
        for &(process, session) in members {
            let Some(keeper) = self.keepers.get(&process) else { continue };
            let Some(game) = keeper.game() else {
                return Err(broken(format!("the game of process {process} has not begun")));
            };
            let me = Member::of_peer(session, session.me());
            settled.push(Settled { game, state: keeper.state(), me, inner: keeper.inner(), session });
        }
        (self.check)(&settled).map_err(broken)
    }
}

impl<G: Game, B: Begin<G>, C> Trial<'_, G, B, C> {
    fn keeper(&mut self, process: ProcessId) -> &mut Keeper<G> {
        let begin = self.begin.clone();
        self.keepers.entry(process).or_insert_with(|| {
            let (memory, begin) = (Memory::default(), Box::new(begin));
            let parts = Parts { memory, on_status: Box::new(|_| ()), begin, has_loop: false };
            Keeper::new(
                Identity {
                    name: format!("P{process}"),
                    seed: 0,
                    secret: None,
                    seeks: false,
                    comes_back: false,
                    schemas: hosted::schemas::<G>(),
                    context: None,
                },
                parts,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use samovar_wire::ObjectId;

    use super::*;
    use crate::object::write;
    use crate::prelude::*;
    use crate::{Id, Object, Value};

    thread_local! {
        /// How many asks the players of each seat have made, over all their programs.
        static ASKED: RefCell<BTreeMap<u16, u32>> = RefCell::default();
    }

    #[derive(Value, Clone, Default)]
    #[object(crate = crate)]
    struct Tally {
        #[field(bound = 48)]
        points: Vec<(u16, u16)>,
    }

    #[derive(Object)]
    #[object(crate = crate)]
    struct Cursor {
        #[field(range = 100.0, precision = 0.1, smooth)]
        x: f32,
    }

    struct Player {
        asked: u32,
        mine: Id<Cursor>,
    }

    crate::game! { Player: name = "tally", version = 1, objects = (Cursor), state = Tally, asks = () }

    fn begin(room: &mut Room<'_, Player>) -> Player {
        Player { asked: 0, mine: room.own_or(|_| Cursor { x: 0.0 }) }
    }

    impl Game for Player {
        fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
            let _ = room.edit(self.mine, |cursor| cursor.x = time.sin() as f32);
            let Some(me) = room.me().filter(|_| room.every(0.2)) else { return };
            if room.ask(()).is_ok() {
                self.asked += 1;
                ASKED.with_borrow_mut(|asked| *asked.entry(me.seat.0).or_default() += 1);
            }
        }

        fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, _: ()) {
            let points = &mut host.state.points;
            match points.iter_mut().find(|each| each.0 == from.seat.0) {
                Some(each) => each.1 += 1,
                None => points.push((from.seat.0, 1)),
            }
        }
    }

    fn points(state: &Tally, seat: SeatId) -> u32 {
        state.points.iter().find(|each| each.0 == seat.0).map_or(0, |each| u32::from(each.1))
    }

    /// Checks that each player has one cursor, whatever became of the host that held it, and that no player has more
    /// points than asks. With `all`, a player whose program has run all the time must have as many points as asks.
    fn judge(players: &[Settled<'_, Player>], all: bool) -> Result<(), String> {
        ASKED.with_borrow(|asked| {
            for player in players {
                let (seat, asked) = (player.me.seat, asked.get(&player.me.seat.0).copied().unwrap_or(0));
                let points = points(player.state, seat);
                let cursors = player.all::<Cursor>();
                for seat in players.iter().map(|other| other.me.seat) {
                    let count = cursors.iter().filter(|cursor| cursor.owner.seat == seat).count();
                    if count != 1 {
                        return Err(format!("seat {} has {count} cursors", seat.0));
                    }
                }
                let is_whole = !all || asked != player.game.asked || points == asked;
                if points > asked || !is_whole {
                    return Err(format!("seat {} has {points} points for {asked} asks", seat.0));
                }
            }
            Ok(())
        })
    }

    fn play_each(scenario: &str, seeds: Range<u64>, all: bool) {
        for seed in seeds {
            ASKED.take();
            let result = play(scenario, seed..seed + 1, begin, |players| judge(players, all));
            assert_eq!(result, Ok(()));
        }
    }

    #[test]
    fn each_ask_counts_once_when_a_host_is_lost() {
        play_each("host-crash", 0..8, true);
        play_each("silent-death", 0..4, true);
        play_each("hand-over", 0..4, true);
    }

    #[test]
    fn chaos_repeats_no_ask_and_loses_no_cursor() {
        play_each("chaos", 0..8, false);
    }

    #[test]
    fn honest_members_keep_one_state_among_liars() {
        assert_eq!(play("chaos-with-liars", 0..6, begin, |_| Ok(())), Ok(()));
    }

    #[derive(Object)]
    #[object(crate = crate)]
    struct Coin {
        worth: u8,
    }

    /// The last player to come labels coins with the seat of another player, and gives them to that player.
    struct Forger {
        forged: Vec<ObjectId>,
        has_hosted: bool,
    }

    crate::game! { Forger: name = "forger", version = 1, objects = (Coin) }

    impl Game for Forger {
        fn frame(&mut self, room: &mut Room<'_, Self>, _: f64) {
            self.has_hosted |= room.is_host();
            let members = room.members();
            let last = members.iter().max_by_key(|member| member.seat.0);
            let victim = members.iter().min_by_key(|member| member.seat.0);
            let (Some(last), Some(victim)) = (last, victim) else { return };
            if !last.is_me || victim.is_me || self.has_hosted || !room.every(0.3) {
                return;
            }
            let (now, traits) = (room.now, Coin::SHARING.traits(<Coin as ObjectOf<Self>>::KIND));
            let state = write(victim.seat, &Coin { worth: 1 });
            self.forged.extend(room.session.edit(now).create_state(traits, &state));
            for &id in &self.forged {
                let _ = victim.peer.map(|peer| room.session.ownership(now).transfer(id, peer));
            }
        }
    }

    #[test]
    fn no_player_receives_objects_that_another_labelled() {
        let begin = |_: &mut Room<'_, Forger>| Forger { forged: Vec::new(), has_hosted: false };
        let coins = core::cell::Cell::new(0);
        for scenario in ["hand-over", "host-crash", "rolling-joins"] {
            let played = play(scenario, 0..8, begin, |players| {
                // A host may hold objects for others, so members believe its labels. Runs in which a forger hosted do
                // not count.
                if players.iter().any(|player| player.game.has_hosted && !player.game.forged.is_empty()) {
                    return Ok(());
                }
                coins.set(coins.get() + players.iter().map(|each| each.game.forged.len()).sum::<usize>());
                let planted = |player: &Settled<'_, Forger>| {
                    player.all::<Coin>().iter().filter(|coin| coin.owner.seat == coin.seat).count()
                };
                let count = players.iter().map(planted).max().unwrap_or(0);
                if count == 0 { Ok(()) } else { Err(format!("{count} coins are planted")) }
            });
            assert_eq!(played, Ok(()));
        }
        assert!(coins.get() > 50, "{}", coins.get());
    }

    #[test]
    fn unknown_scenario_is_an_error_that_names_the_known_ones() {
        let error = play("rain", 0..1, begin, |_| Ok(())).unwrap_err();
        assert!(error.contains("host-crash"), "{error}");
    }
}
