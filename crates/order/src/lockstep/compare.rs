//! Finds the member whose game state differs, the first such frame, and the field.
//!
//! Members send the chain of their checksums with each input. When it differs, the host sends its own checksums; the
//! member finds the first frame with a different one, and sends the hashes of all fields in it; the host names the
//! first that differs. Then the member loads the host's state.

use samovar_wire::limits::{LOCKSTEP_FIELD_NAME_MAX, LOCKSTEP_FIELDS_MAX, LOCKSTEP_TOLD_MAX};
use samovar_wire::lockstep::{Compare, FieldHash, Fields, LockstepMessage};
use samovar_wire::{Lane, PeerId, Time};

use super::hosting::{Comparison, Standing};
use super::{Event, Lockstep, Request, Role};

impl Lockstep {
    /// Compares a member's chain up to a frame with the host's. If they differ, sends the host's checksums.
    pub(super) fn compare(&mut self, from: PeerId, frame: u64, check: u16) {
        let Role::Host(hosting) = &mut self.role else { return };
        let Some(follower) = hosting.followers.get_mut(&from) else { return };
        let Some(own) = self.checks.check(frame) else { return };
        if own == check {
            follower.agreed = follower.agreed.max(frame);
            return;
        }
        if follower.comparison.is_some() || frame <= follower.agreed {
            return;
        }
        follower.comparison = Some(Comparison::Asked);
        let first = (follower.agreed + 1).max(self.checks.first());
        let checksums = (first..=frame).take(LOCKSTEP_TOLD_MAX);
        let checksums = checksums.map_while(|frame| self.checks.checksum(frame)).collect();
        let compare = Compare { term: self.term, first, checksums };
        self.say(from, Lane::SESSION, &LockstepMessage::Compare(compare));
    }

    /// Takes the host's checksums, and finds the first that differs here.
    pub(super) fn on_compare(&mut self, compare: &Compare) {
        let theirs = (compare.first..).zip(&compare.checksums);
        let mut differing = theirs
            .filter(|&(frame, &checksum)| self.checks.checksum(frame).is_some_and(|own| own != checksum));
        match differing.next() {
            Some((frame, _)) => {
                self.compared = Some(frame);
                self.requests.push(Request::Fields { frame });
            }
            // The difference is older than the kept checksums.
            None => self.say_fields(compare.first, Vec::new()),
        }
    }

    fn say_fields(&mut self, frame: u64, fields: Vec<FieldHash>) {
        let fields = Fields { term: self.term, frame, fields };
        self.say(self.host, Lane::SESSION, &LockstepMessage::Fields(fields));
    }

    /// Takes the hashes of the fields of the game's state after `frame`, in an order that is the same at all members;
    /// none when the game no longer has that state. At most 64 fields are kept, and 32 bytes of each name.
    pub fn answer_fields(&mut self, now: Time, frame: u64, mut fields: Vec<FieldHash>) {
        fields.truncate(LOCKSTEP_FIELDS_MAX);
        for field in &mut fields {
            let end = (0..=LOCKSTEP_FIELD_NAME_MAX).rev().find(|&end| field.name.is_char_boundary(end));
            field.name.truncate(end.unwrap_or_default());
        }
        if self.compared == Some(frame) && !self.is_host() {
            self.compared = None;
            self.say_fields(frame, fields);
        } else if self.is_host() {
            self.conclude(now, frame, &fields);
        }
        self.act(now);
    }

    /// Takes a member's fields, and asks the host's game for the same.
    pub(super) fn on_fields(&mut self, from: PeerId, answer: Fields) {
        let Role::Host(hosting) = &mut self.role else { return };
        let Some(follower) = hosting.followers.get_mut(&from) else { return };
        if !matches!(follower.comparison, Some(Comparison::Asked)) {
            return;
        }
        let Fields { frame, fields, .. } = answer;
        let request = Request::Fields { frame };
        if !self.requests.contains(&request) {
            self.requests.push(request);
        }
        follower.comparison = Some(Comparison::Answered { frame, fields });
    }

    fn conclude(&mut self, now: Time, frame: u64, own: &[FieldHash]) {
        let Role::Host(hosting) = &mut self.role else { return };
        let mut differing = Vec::new();
        for (&peer, follower) in hosting.followers.iter_mut() {
            let Some(Comparison::Answered { frame: theirs, fields }) = &follower.comparison else { continue };
            if *theirs != frame {
                continue;
            }
            let differs = |field: &&FieldHash| !fields.contains(field);
            let field = own.iter().find(differs).filter(|_| !fields.is_empty());
            differing.push((peer, field.map(|field| field.name.clone())));
            follower.comparison = None;
            follower.standing = Standing::NeedsState;
            follower.state_at = follower.state_at.max(now);
        }
        for (peer, field) in differing {
            self.say(peer, Lane::SESSION, &LockstepMessage::Differs(self.term, frame, field.clone()));
            self.events.push(Event::Desync { peer, frame, field });
        }
    }

    /// Reports the difference that the host names.
    pub(super) fn on_differs(&mut self, frame: u64, field: Option<String>) {
        self.events.push(Event::Desync { peer: self.me, frame, field });
    }
}
