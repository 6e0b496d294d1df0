//! A member gives its inputs, and takes frames from the host.

use samovar_wire::lockstep::{Datagram, Frames, LockstepMessage, Run};
use samovar_wire::{CloseCode, DecodeError, Lane, PeerId, Reader, Term, Time, Writer};

use super::decide::Heard;
use super::{Lockstep, Role, Transmit};

/// The most ticks that a late member makes up for at once.
const BEHIND_MAX: u64 = 4;

pub(super) const fn code_of(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}

impl Lockstep {
    /// Handles a member's datagram. It is ignored when it is of another term, or not for this peer's role.
    ///
    /// # Errors
    /// The code that ends the link to its sender.
    pub fn handle_datagram(&mut self, now: Time, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let (datagram, frames) =
            Datagram::decode(&mut Reader::new(bytes), self.config.input_size()).map_err(code_of)?;
        match datagram {
            Datagram::Inputs { term, newest, ahead, check } => {
                if let Frames::Changes(frames) = frames {
                    self.on_inputs(from, Heard { term, newest, ahead, check }, frames);
                }
            }
            Datagram::Frames { term, last, lead } => self.on_frames(from, (term, last, lead), frames)?,
        }
        self.act(now);
        Ok(())
    }

    /// Handles a member's reliable message.
    ///
    /// # Errors
    /// The code that ends the link to its sender.
    pub fn handle_message(&mut self, now: Time, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let message =
            LockstepMessage::decode(&mut Reader::new(bytes), self.config.input_size()).map_err(code_of)?;
        let from_host = from == self.host && !self.is_host();
        match message {
            LockstepMessage::Told(told) if told.term == self.term => self.on_told(now, from, told),
            LockstepMessage::Want(term) if term == self.term && from_host => self.on_want(),
            LockstepMessage::Loading(loading) if loading.term == self.term => {
                self.on_loading(now, from, loading)
            }
            LockstepMessage::Compare(compare) if compare.term == self.term && from_host => {
                self.on_compare(&compare);
            }
            LockstepMessage::Fields(fields) if fields.term == self.term => self.on_fields(from, fields),
            LockstepMessage::Differs(term, frame, field) if term == self.term && from_host => {
                self.on_differs(frame, field);
            }
            _ => (),
        }
        self.act(now);
        Ok(())
    }

    /// Gives the inputs that are due, and acks frames.
    pub(super) fn member_acts(&mut self, now: Time) {
        let Role::Member { tick_at, told_at } = &mut self.role else { return };
        if now < *tick_at {
            return;
        }
        let tick = self.config.tick();
        *tick_at = (*tick_at).max(now - tick.times(BEHIND_MAX));
        let mut ticks = 0;
        while *tick_at <= now {
            *tick_at += tick;
            ticks += 1;
        }
        let has_answer = *told_at == Time::FAR;
        if *told_at <= now {
            // The host may not have known yet that it hosts.
            self.say_told(now);
        }
        if !self.has_state || !self.members.contains_key(&self.me) {
            return;
        }
        (0..ticks).for_each(|_| self.pace.tick(self.log.last(), &self.input));
        // Before its answer the host does not know whether both have the same frames, and takes no inputs.
        if has_answer {
            self.send_inputs();
        }
    }

    fn send_inputs(&mut self) {
        let last = self.log.last();
        let seat = self.members.get(&self.me).filter(|player| player.plays).map(|player| player.seat);
        let (run, newest) = match seat {
            Some(seat) => self.pace.run(seat),
            None => (Run::new(), self.pace.newest()),
        };
        let ahead = (newest.cast_signed() - last.cast_signed()) as i32;
        let check = (self.checks.last() == last).then(|| self.checks.check(last)).flatten();
        let datagram = Datagram::Inputs { term: self.term, newest: newest as u16, ahead, check };
        let mut bytes = Vec::new();
        datagram.encode(&run, &mut Writer::new(&mut bytes));
        self.out.retain(|transmit| transmit.lane != Lane::Unreliable);
        self.out.push(Transmit { to: self.host, lane: Lane::Unreliable, bytes });
    }

    /// Takes frames of the host, which sends them only to members that have the same earlier frames.
    fn on_frames(
        &mut self,
        from: PeerId,
        (term, last, lead): (Term, u16, i32),
        frames: Frames,
    ) -> Result<(), CloseCode> {
        if term != self.term || from != self.host || self.is_host() || !self.has_state {
            return Ok(());
        }
        let known = self.log.last();
        let last = samovar_wire::link_frame::expand(last, known);
        if !self.ahead.take(&mut self.log, last, frames) {
            return Err(CloseCode::Malformed);
        }
        if let Role::Member { told_at, .. } = &mut self.role
            && core::mem::replace(told_at, Time::FAR) != Time::FAR
        {
            self.pace.resume(self.log.last());
        }
        self.pace.on_heard(self.log.last(), last.saturating_add_signed(i64::from(lead)), lead);
        Ok(())
    }
}
