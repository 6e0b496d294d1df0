//! Inputs that must not be lost (docs/recovery.md, promise 7). Each member submits numbers, and the host ticks them
//! off on a *tally*: an object for each member. In the end every input that a session reported as accepted must be
//! ticked off.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samovar_session::objects::{Coding, Schema, SchemaBuilder, State};
use samovar_session::{Cause, Event, Session, Traits};
use samovar_wire::{Duration, Kind, ObjectId, PeerId, Term, Time};

use crate::game::{ProcessId, Turn};
use crate::promise::{Broken, Promise};

/// The kind of a tally: the object that says which inputs of one member took effect.
pub(super) const TALLY: Kind = Kind(4);
/// Each new host becomes the owner of the tallies, also if the old host handed over and stays.
const TRAITS: Traits = Traits { with_host: true, ..Traits::of(TALLY) };
/// How often a member submits something.
const SUBMIT_EVERY: Duration = Duration::from_millis(400);
/// How often a host destroys the tallies of members that are gone.
const SWEEP_EVERY: Duration = Duration::from_millis(1_000);
/// How long a member must be gone before its tally is destroyed. The member may come back as the same peer, if its
/// admission was lost with a host.
const GONE_AFTER: Duration = Duration::from_millis(15_000);

/// The content of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    member: u32,
    /// The session's number of the last input that took effect.
    number: u64,
    /// The member's own count of that input.
    count: u32,
    /// Which of the 32 inputs before that one took effect. Bit 0 stands for the input just before, bit 1 for the one
    /// before that, and so on.
    before: u32,
}

impl Tally {
    fn of(numbers: &[i32]) -> Option<Self> {
        let &[member, low, high, count, before] = numbers else { return None };
        let number = u64::from(high.cast_unsigned()) << 32 | u64::from(low.cast_unsigned());
        let [member, count, before] = [member, count, before].map(i32::cast_unsigned);
        Some(Self { member, number, count, before })
    }

    fn write(self, state: &mut State) {
        state.clear();
        let (low, high) = (self.number as u32, (self.number >> 32) as u32);
        for number in [self.member, low, high, self.count, self.before] {
            state.number(number.cast_signed());
        }
    }

    /// Lets an input take effect. Returns false if this input, or a later one, took effect before.
    fn tick_off(&mut self, number: u64, count: u32) -> bool {
        if number <= self.number {
            return false;
        }
        let step = count.wrapping_sub(self.count);
        let former = if self.number == 0 { 0 } else { 1 };
        self.before = match step {
            1..=31 => (self.before << step) | (former << (step - 1)),
            _ => 0,
        };
        (self.number, self.count) = (number, count);
        true
    }

    /// Whether an input took effect. An input counts as done if it is older than the tally remembers.
    const fn has(&self, count: u32) -> bool {
        if count > self.count {
            return false;
        }
        match self.count - count {
            0 => true,
            ago @ 1..=31 => self.before >> (ago - 1) & 1 == 1,
            _ => true,
        }
    }
}

/// The schema of a tally.
pub(super) fn schema() -> Schema {
    let mut builder = SchemaBuilder::default();
    builder.field("member", Coding::Exact { width: 1 });
    builder.field("done", Coding::Exact { width: 4 });
    builder.build(TALLY)
}

/// An input that waits until this host owns its tally.
#[derive(Clone, Copy, Debug)]
struct Input {
    member: u32,
    number: u64,
    count: u32,
}

/// The state at one process.
#[derive(Debug)]
struct Part {
    me: PeerId,
    submit_at: Time,
    sweep_at: Time,
    count: u32,
    /// Members that have a tally and are not in the view, each with the time at which its absence was noticed.
    gone: BTreeMap<u32, Time>,
    /// The submitted inputs: the session's number of each, and the member's own count of each.
    submitted: BTreeMap<u64, u32>,
    waiting: VecDeque<Input>,
}

/// All inputs of a world.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// Whether more than one thing may fail at a time, so that accepted inputs may be lost.
    pub(super) may_lose: bool,
    parts: BTreeMap<ProcessId, Part>,
    /// For each member, the inputs that its session reported as accepted, by the session's numbers. When the session
    /// reports that others may lack inputs from some number on, those are taken out.
    accepted: BTreeMap<PeerId, BTreeMap<u64, u32>>,
    /// The terms that began because a host was lost or left.
    lost: BTreeSet<Term>,
    /// The members whose tallies a host has destroyed.
    swept: BTreeSet<u32>,
    state: State,
}

impl Inputs {
    fn part(&mut self, turn: &Turn<'_>) -> &mut Part {
        let me = turn.session.me();
        let fresh = || Part {
            me,
            submit_at: turn.now + SUBMIT_EVERY,
            sweep_at: turn.now,
            count: 0,
            gone: BTreeMap::new(),
            submitted: BTreeMap::new(),
            waiting: VecDeque::new(),
        };
        let part = self.parts.entry(turn.process).or_insert_with(fresh);
        if part.me != me {
            *part = fresh();
        }
        part
    }

    pub(super) fn tick(&mut self, turn: &mut Turn<'_>) {
        let part = self.part(turn);
        if !turn.resting && part.submit_at <= turn.now {
            part.submit_at = turn.now + SUBMIT_EVERY;
            let bytes = (u64::from(part.me.0) << 32 | u64::from(part.count)).to_le_bytes();
            if let Ok(number) = turn.session.submit(turn.now, &bytes) {
                part.submitted.insert(number, part.count);
                part.count += 1;
            }
        }
        if turn.session.is_host() {
            self.tick_off(turn);
            self.sweep(turn);
        } else {
            self.part(turn).waiting.clear();
        }
    }

    pub(super) fn event(&mut self, turn: &mut Turn<'_>, event: &Event) {
        match event {
            Event::Accepted { number } => {
                let part = self.part(turn);
                if let Some(count) = part.submitted.remove(number) {
                    let me = part.me;
                    self.accepted.entry(me).or_default().insert(*number, count);
                }
            }
            Event::Diverged { accepted: Some(first), .. } => {
                self.accepted.entry(turn.session.me()).or_default().split_off(first);
            }
            Event::HostChanged(migration) if migration.cause != Cause::HandedOver => {
                self.lost.insert(migration.term);
            }
            // An input that takes effect after the session's end reaches no other member, so it does not count.
            Event::Input { number, bytes, .. } if turn.session.is_member() => {
                let Ok(bytes) = <[u8; 8]>::try_from(&bytes[..]) else { return };
                let text = u64::from_le_bytes(bytes);
                let (member, count) = ((text >> 32) as u32, text as u32);
                self.part(turn).waiting.push_back(Input { member, number: *number, count });
                self.tick_off(turn);
            }
            _ => {}
        }
    }

    /// Lets inputs take effect at the host, in order. An input whose tally another member owns waits until the host
    /// owns the tally.
    fn tick_off(&mut self, turn: &mut Turn<'_>) {
        let me = turn.session.me();
        while let Some(&input) = self.part(turn).waiting.front() {
            let Input { member, number, count } = input;
            let tally = tallies(turn.session).filter(|(_, _, tally)| tally.member == member);
            match tally.max_by_key(|(_, _, tally)| tally.number) {
                Some((_, owner, _)) if owner != me => return,
                Some((id, _, mut tally)) => {
                    if tally.tick_off(number, count) {
                        tally.write(&mut self.state);
                        let _ = turn.session.edit(turn.now).set_state(id, &self.state);
                    }
                }
                None => {
                    Tally { member, number, count, before: 0 }.write(&mut self.state);
                    let _ = turn.session.edit(turn.now).create_state(TRAITS, &self.state);
                }
            }
            self.part(turn).waiting.pop_front();
        }
    }

    /// Destroys tallies of members that are gone.
    fn sweep(&mut self, turn: &mut Turn<'_>) {
        let part = self.part(turn);
        if turn.resting || part.sweep_at > turn.now {
            return;
        }
        part.sweep_at = turn.now + SWEEP_EVERY;
        let (me, now) = (part.me, turn.now);
        let gone = &mut part.gone;
        gone.retain(|&member, _| !turn.session.view().has(PeerId(member)));
        let mut is_left = |member: u32| {
            let is_gone = !turn.session.view().has(PeerId(member));
            is_gone && *gone.entry(member).or_insert(now) + GONE_AFTER <= now
        };
        let left: Vec<_> = tallies(turn.session)
            .filter(|(_, owner, tally)| *owner == me && is_left(tally.member))
            .map(|(id, _, tally)| (id, tally.member))
            .collect();
        for (id, member) in left {
            self.swept.insert(member);
            let _ = turn.session.edit(now).destroy(id);
        }
    }

    /// Checks that every accepted input took effect, also those of members that are gone.
    pub(super) fn look_settled(&self, members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        // If more than one host was lost, bad weather alone may have cost one its office. That counts as a second
        // failure.
        let may_lose = self.may_lose || self.lost.len() > 1;
        let Some((_, session)) = members.first().filter(|_| !may_lose) else { return Ok(()) };
        for (submitter, accepted) in self.accepted.iter().filter(|(peer, _)| !self.swept.contains(&peer.0)) {
            let own: Vec<_> = tallies(session).filter(|(_, _, tally)| tally.member == submitter.0).collect();
            let is_done = |count: &u32| own.iter().any(|(_, _, tally)| tally.has(*count));
            if let Some(lost) = accepted.values().find(|count| !is_done(count)) {
                let what = format!("input {lost} of {submitter} was accepted and had no effect: {own:?}");
                return Err(Broken::new(Promise::Accepted, what));
            }
        }
        Ok(())
    }
}

fn tallies(session: &Session) -> impl Iterator<Item = (ObjectId, PeerId, Tally)> {
    let tallies = session.objects().filter(|object| object.traits().kind == TALLY);
    tallies.filter_map(|object| Some((object.id(), object.owner(), Tally::of(object.numbers())?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn tally_knows_which_inputs_were_left_out() {
        let mut tally = Tally { member: 7, number: 100, count: 0, before: 0 };
        for (number, count) in [(101, 1), (103, 3), (104, 4), (110, 10)] {
            assert!(tally.tick_off(number, count));
        }
        assert!(!tally.tick_off(103, 3));
        let done: Vec<_> = (0..12).filter(|&count| tally.has(count)).collect();
        assert_eq!(done, [0, 1, 3, 4, 10]);
        let mut state = State::default();
        tally.write(&mut state);
        assert_eq!(Tally::of(state.numbers()), Some(tally));
    }
}
