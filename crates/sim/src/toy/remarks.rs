//! Remarks: messages that may be lost. No remark may arrive twice. On a sequenced lane no remark may arrive after a
//! newer one. In the end every member must hear every other.

use std::collections::BTreeMap;

use samovar_session::{Lane, Session, Target};
use samovar_wire::{Duration, PeerId, SortedMap, Time};

use crate::game::{ProcessId, Turn};
use crate::promise::{Broken, Promise};

/// How often a member makes a remark.
const SAY_EVERY: Duration = Duration::from_millis(250);
const LANES: [Lane; 3] = [Lane::Unreliable, Lane::Sequenced(0), Lane::Sequenced(3)];
/// The most bytes of padding after a remark's count and receiver.
const PADDING_MAX: u64 = 40;
/// The receiver of a remark that is for all members.
const ALL: PeerId = PeerId(0);

/// The remarks that one member has heard from another on one lane.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    newest: u64,
    /// Which of the 64 remarks before the newest the member has heard. Bit 0 stands for the remark just before, bit 1
    /// for the one before that, and so on.
    before: u64,
}

impl Heard {
    /// Notes a remark. Returns whether it is new. A remark that is older than the record remembers counts as new.
    fn note(&mut self, count: u64) -> bool {
        if count > self.newest {
            let step = count - self.newest;
            self.before = self.before.checked_shl(step as u32).unwrap_or(0);
            self.before |= 1u64.checked_shl(step as u32 - 1).unwrap_or(0);
            self.newest = count;
            return true;
        }
        let bit = (self.newest - count).checked_sub(1).and_then(|ago| 1u64.checked_shl(ago as u32));
        let is_new = self.newest != count && bit.is_none_or(|bit| self.before & bit == 0);
        self.before |= bit.unwrap_or(0);
        is_new
    }
}

/// All remarks of a world.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    say_at: SortedMap<ProcessId, Time>,
    /// The number of remarks that each member has made on each lane, in all and before changes stopped.
    made: BTreeMap<(PeerId, Lane), u64>,
    made_before_rest: BTreeMap<(PeerId, Lane), u64>,
    /// The remarks that were heard, by the member that made them, the member that heard them, and the lane.
    heard: BTreeMap<(PeerId, PeerId, Lane), Heard>,
    complaint: Option<Broken>,
}

impl Remarks {
    pub(super) fn tick(&mut self, turn: &mut Turn<'_>) {
        let say_at = self.say_at.entry(turn.process).or_insert(turn.now);
        if *say_at > turn.now {
            return;
        }
        *say_at = turn.now + SAY_EVERY;
        if turn.resting && self.made_before_rest.is_empty() {
            self.made_before_rest = self.made.clone();
        }
        let me = turn.session.me();
        let others: Vec<_> =
            turn.session.view().members().map(|member| member.peer).filter(|&peer| peer != me).collect();
        let (mut target, mut to) = (Target::All, ALL);
        let mut lane = LANES[turn.dice.below(LANES.len() as u64) as usize];
        if turn.resting {
            // Members now take the lanes in turn and send to all, so that only a fault can keep a member from
            // hearing.
            let made: u64 = LANES.iter().filter_map(|&lane| self.made.get(&(me, lane))).sum();
            lane = LANES[made as usize % LANES.len()];
        } else if let Some(&peer) = turn.dice.pick(&others).filter(|_| turn.dice.chance(0.5)) {
            (target, to) = (Target::Peer(peer), peer);
        }
        let made = self.made.entry((me, lane)).or_default();
        *made += 1;
        let mut message = made.to_le_bytes().to_vec();
        message.extend_from_slice(&to.0.to_le_bytes());
        message.resize(message.len() + turn.dice.below(PADDING_MAX + 1) as usize, 0xa5);
        // The result is ignored. A message for all that does not fit may still have gone to some members.
        let _ = turn.session.send(target, lane, &message);
    }

    pub(super) fn event(&mut self, from: PeerId, me: PeerId, lane: Lane, bytes: &[u8]) {
        if let Err(what) = self.hear(from, me, lane, bytes) {
            let what = format!("{me} heard from {from} by {lane:?} {what}");
            self.complaint.get_or_insert(Broken::new(Promise::Loose, what));
        }
    }

    fn hear(&mut self, from: PeerId, me: PeerId, lane: Lane, bytes: &[u8]) -> Result<(), String> {
        let parts =
            bytes.split_first_chunk().and_then(|(count, rest)| Some((count, rest.split_first_chunk()?)));
        let Some((count, (to, padding))) = parts else { return Err("less than a remark".into()) };
        let (count, to) = (u64::from_le_bytes(*count), PeerId(u32::from_le_bytes(*to)));
        let made = self.made.get(&(from, lane)).copied().unwrap_or_default();
        if from == me || count == 0 || count > made || padding.iter().any(|&byte| byte != 0xa5) {
            return Err(format!("remark {count}, which was not made: there were {made}"));
        }
        if to != me && to != ALL {
            return Err(format!("remark {count}, which is for {to}"));
        }
        let heard = self.heard.entry((from, me, lane)).or_default();
        let newest = heard.newest;
        if !heard.note(count) {
            return Err(format!("remark {count} twice"));
        }
        if lane != Lane::Unreliable && count < newest {
            return Err(format!("remark {count} behind {newest}"));
        }
        Ok(())
    }

    pub(super) fn take_complaint(&mut self) -> Result<(), Broken> {
        self.complaint.take().map_or(Ok(()), Err)
    }

    /// Checks that every member has heard every other on every lane since changes stopped.
    pub(super) fn look_settled(&self, members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        let ids = || members.iter().map(|(_, session)| session.me());
        for (from, me) in ids().flat_map(|from| ids().map(move |me| (from, me))).filter(|(a, b)| a != b) {
            for lane in LANES {
                let newest = self.heard.get(&(from, me, lane)).map_or(0, |heard| heard.newest);
                let before = self.made_before_rest.get(&(from, lane)).copied().unwrap_or_default();
                if newest <= before {
                    let made = self.made.get(&(from, lane)).copied().unwrap_or_default();
                    let what = format!(
                        "{me} has heard nothing from {from} by {lane:?} since changes stopped: {newest} of {made}, {before} then"
                    );
                    return Err(Broken::new(Promise::Loose, what));
                }
            }
        }
        Ok(())
    }
}
