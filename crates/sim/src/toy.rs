//! A small game that takes little time and uses all features of a session. Each of its values names the peer that
//! wrote it.
//!
//! Each member moves an object of its own. The host moves a *beacon*, which the next host takes over. Members create
//! crates, destroy them, request the crates of others and give their own away. They send each other numbers in order,
//! make remarks that may be lost, and submit inputs that the host counts.
//!
//! A value is a function of its writer and a count: `[writer, count, x, y, vx, vy]`. So a checker needs no record of
//! all writes. It can see that a value is whole, that the owner wrote it, and that no replaced value comes back.

mod inputs;
mod ledger;
mod orders;
mod remarks;
mod steps;
mod values;

use samovar_session::objects::State;
use samovar_session::{Access, Delivery, Event, Lane, Orphan, Schemas, Session, Target, Traits};
use samovar_wire::{Duration, Kind, ObjectId, PeerId, SortedMap, Time};

use crate::game::{Game, ProcessId, Turn};
use crate::plan::Plan;
use crate::promise::Broken;
use inputs::Inputs;
use ledger::Ledger;
use orders::Orders;
use remarks::Remarks;
use steps::Steps;
use values::{schema, write_value};

/// A member's own object, which ends with its owner.
const MOVER: Kind = Kind(1);
/// An object that any member may take. The host takes it when its owner is gone.
const CRATE: Kind = Kind(2);
/// The object that hosts keep moving.
const BEACON: Kind = Kind(3);
/// A member that owns this many crates creates no more.
const CRATES_MAX: usize = 3;
/// How often a member does something with crates, on average.
const ACT_EVERY: Duration = Duration::from_millis(700);
/// How often a member sends each other member a number.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// How long a host waits for a beacon before it creates one. A new host may not have all objects of the old host yet.
const BEACON_AFTER: Duration = Duration::from_millis(1_500);

/// The game's state at one process.
#[derive(Debug)]
struct Part {
    me: PeerId,
    mover: Option<ObjectId>,
    act_at: Time,
    tell_at: Time,
    /// The time since which this process has hosted without a beacon.
    no_beacon: Option<Time>,
    /// The last beacon that this process knew, if there was one.
    beacon: Option<ObjectId>,
}

/// The game.
#[derive(Debug, Default)]
pub struct Toy {
    parts: SortedMap<ProcessId, Part>,
    ledger: Ledger,
    inputs: Inputs,
    orders: Orders,
    remarks: Remarks,
    steps: Steps,
    state: State,
}

impl Toy {
    /// A game without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn part(&mut self, turn: &Turn<'_>) -> &mut Part {
        let me = turn.session.me();
        let fresh = || Part {
            me,
            mover: None,
            act_at: turn.now + ACT_EVERY,
            tell_at: turn.now,
            no_beacon: None,
            beacon: None,
        };
        let part = self.parts.entry(turn.process).or_insert_with(fresh);
        if part.me != me {
            *part = fresh();
        }
        part
    }

    /// Writes the next value of an object.
    fn move_on(&mut self, turn: &mut Turn<'_>, id: ObjectId) {
        let Some(object) = turn.session.object(id) else { return };
        let (kind, count) = (object.traits().kind, object.numbers().get(1).map_or(0, |n| n + 1));
        write_value(&mut self.state, turn.session.me(), count);
        let traits = object.traits();
        debug_assert_eq!(kind, traits.kind);
        if turn.session.edit(turn.now).set_state(id, &self.state).is_ok() {
            self.ledger.note_written(id, turn.session.me(), count);
        }
    }

    fn create(&mut self, turn: &mut Turn<'_>, traits: Traits) -> Option<ObjectId> {
        write_value(&mut self.state, turn.session.me(), 0);
        let id = turn.session.edit(turn.now).create_state(traits, &self.state).ok()?;
        self.ledger.note_written(id, turn.session.me(), 0);
        Some(id)
    }

    fn move_mover(&mut self, turn: &mut Turn<'_>) {
        let mover = self.part(turn).mover.filter(|&id| turn.session.object(id).is_some());
        let mover =
            mover.or_else(|| self.create(turn, Traits { orphan: Orphan::Destroy, ..Traits::of(MOVER) }));
        self.part(turn).mover = mover;
        if let Some(id) = mover {
            self.move_on(turn, id);
        }
    }

    /// Moves the beacon if this member hosts, or creates one if there has been none for a while.
    fn move_beacon(&mut self, turn: &mut Turn<'_>) {
        let me = turn.session.me();
        if !turn.session.is_host() {
            self.part(turn).no_beacon = None;
            // A host that handed over moves the beacon until its successor owns it.
            let is_own = |id: &ObjectId| turn.session.object(*id).is_some_and(|object| object.owner() == me);
            let left = self.part(turn).beacon;
            if let Some(id) = left.filter(is_own)
                && turn.session.suspension(turn.now).is_none()
            {
                self.move_on(turn, id);
            }
            return;
        }
        let known = self.part(turn).beacon.filter(|&id| turn.session.object(id).is_some());
        let beacon = known.or_else(|| {
            turn.session.objects().find(|object| object.traits().kind == BEACON).map(|object| object.id())
        });
        self.part(turn).beacon = beacon;
        match beacon {
            Some(id) => {
                self.part(turn).no_beacon = None;
                if turn.session.object(id).is_some_and(|object| object.owner() == me) {
                    self.move_on(turn, id);
                }
            }
            None => {
                let now = turn.now;
                let since = *self.part(turn).no_beacon.get_or_insert(now);
                if since + BEACON_AFTER <= now || turn.session.view().members().count() == 1 {
                    self.create(turn, Traits { with_host: true, ..Traits::of(BEACON) });
                }
            }
        }
    }

    /// Does something with crates, at random: creates, changes, destroys, requests, touches, releases or transfers one.
    fn act(&mut self, turn: &mut Turn<'_>) {
        let me = turn.session.me();
        let crates: Vec<_> = turn
            .session
            .objects()
            .filter(|object| object.traits().kind == CRATE)
            .map(|object| (object.id(), object.owner()))
            .collect();
        let own: Vec<_> = crates.iter().filter(|thing| thing.1 == me).map(|thing| thing.0).collect();
        let roll = turn.dice.below(8);
        let mine = turn.dice.pick(&own).copied();
        let any = turn.dice.pick(&crates).map(|thing| thing.0);
        match (roll, mine, any) {
            (0 | 1, _, _) if own.len() < CRATES_MAX => {
                let access = if turn.dice.chance(0.5) { Access::Shared } else { Access::Free };
                let reliable = turn.dice.chance(0.3);
                self.create(turn, Traits { access, reliable, ..Traits::of(CRATE) });
            }
            (0 | 1, Some(id), _) => {
                let _ = turn.session.edit(turn.now).destroy(id);
            }
            (2 | 3, Some(id), _) => self.move_on(turn, id),
            // A member that requested an object may change it at once, for itself alone.
            (4, _, Some(id)) if turn.session.ownership(turn.now).request(id).is_ok() => {
                self.move_on(turn, id)
            }
            (5, _, Some(id)) => {
                let _ = turn.session.ownership(turn.now).touch(id);
            }
            (6, Some(id), _) => {
                let _ = turn.session.ownership(turn.now).release(id);
            }
            (7, Some(id), _) => {
                let members: Vec<_> = turn.session.view().members().map(|member| member.peer).collect();
                if let Some(&to) = turn.dice.pick(&members) {
                    let _ = turn.session.ownership(turn.now).transfer(id, to);
                }
            }
            _ => {}
        }
    }

    /// Sends each other member the next number.
    fn tell(&mut self, turn: &mut Turn<'_>) {
        let me = turn.session.me();
        let members: Vec<_> = turn.session.view().members().map(|member| member.peer).collect();
        for to in members.into_iter().filter(|&to| to != me) {
            let message = self.ledger.next_message(me, to);
            if turn.session.send(Target::Peer(to), Lane::GAME, &message).is_ok() {
                self.ledger.note_sent(me, to);
            }
        }
    }
}

impl Game for Toy {
    fn begin(&mut self, plan: &Plan) {
        self.inputs.may_lose = !plan.is_single;
    }

    fn schemas(&self) -> Schemas {
        let things = [MOVER, CRATE, BEACON].into_iter();
        things.fold(Schemas::new().with(inputs::schema()), |all, kind| all.with(schema(kind)))
    }

    fn beacon(&self) -> Option<Kind> {
        Some(BEACON)
    }

    fn tick(&mut self, turn: &mut Turn<'_>) {
        self.inputs.tick(turn);
        self.steps.tick(turn);
        if turn.session.rules().orders.total {
            self.orders.tick(turn);
        }
        self.remarks.tick(turn);
        if turn.resting {
            return;
        }
        self.move_mover(turn);
        self.move_beacon(turn);
        let now = turn.now;
        if self.part(turn).act_at <= now {
            let wait = turn.dice.span(ACT_EVERY.times(2));
            self.part(turn).act_at = now + wait;
            self.act(turn);
        }
        if self.part(turn).tell_at <= now {
            self.part(turn).tell_at = now + TELL_EVERY;
            self.tell(turn);
        }
    }

    fn event(&mut self, turn: &mut Turn<'_>, event: &Event) {
        let me = turn.session.me();
        match event {
            Event::Message { from, bytes, delivery: Delivery::Lane(lane) } if lane.is_reliable() => {
                self.ledger.note_heard(*from, me, bytes);
            }
            Event::Message { from, bytes, delivery: Delivery::Lane(lane) } => {
                self.remarks.event(*from, me, *lane, bytes);
            }
            Event::Message { .. }
            | Event::Late { .. }
            | Event::Behind(_)
            | Event::Joined
            | Event::MemberLeft { .. } => self.orders.event(turn, event),
            Event::MemberJoined { member, .. } => {
                self.ledger.note_joined(me, member.peer);
                self.orders.event(turn, event);
            }
            _ => self.inputs.event(turn, event),
        }
    }

    fn distrust(&mut self, peer: PeerId) {
        self.ledger.distrust(peer);
    }

    fn check(&mut self, process: ProcessId, session: &Session) -> Result<(), Broken> {
        self.ledger.take_complaint()?;
        self.orders.take_complaint()?;
        self.remarks.take_complaint()?;
        self.ledger.look(process, session)
    }

    fn check_settled(&mut self, members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        self.ledger.take_complaint()?;
        self.orders.take_complaint()?;
        self.remarks.take_complaint()?;
        let ids: Vec<_> = members.iter().map(|(_, session)| session.me()).collect();
        self.ledger.look_settled(&ids)?;
        self.orders.look_settled(&ids)?;
        self.remarks.look_settled(members)?;
        self.steps.look_settled(members)?;
        self.inputs.look_settled(members)
    }
}
