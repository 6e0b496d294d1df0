//! Receiving frames of other members.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::order::{Frame, Install, NUMBER_BITS, Report, Run, ViewId, Want};
use samovar_wire::{CloseCode, DecodeError, PeerId};

use super::stream::Arrival;
use super::{Group, Rule};
use crate::order::UNSTABLE_MAX;

/// The most items of a stream that one member can have and another can lack: the stream's owner waits until all have
/// its items.
const AHEAD_MAX: u64 = 4 * UNSTABLE_MAX as u64;

/// The close code for a peer that sends bytes that do not decode.
pub(crate) const fn blame(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}

impl Group<dyn Rule> {
    /// Handles one frame other than SUBMIT.
    ///
    /// # Errors
    /// The code for the rule that the peer broke.
    pub(crate) fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let result = self.hear(from, bytes);
        self.settle();
        result
    }

    /// As [`Group::handle_frame`], but does not deliver what has become due.
    pub(super) fn hear(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let frame = Frame::decode(bytes).map_err(blame)?;
        if from == self.me {
            return Ok(());
        }
        match frame {
            Frame::Item(..) => match self.lanes.get(&from) {
                Some(&epoch) => self.hear_items(from, epoch, bytes),
                // The frame is from before the link was renewed, and is sent again.
                None => Ok(()),
            },
            Frame::Items { run, .. } => {
                self.open_lane(from, run.epoch);
                self.hear_items(from, run.epoch, bytes)
            }
            Frame::Fill(owner, run) => self.on_fill(from, owner, &run),
            Frame::Report(report) => self.on_report(from, report),
            Frame::Want(want) => self.on_want(from, want),
            Frame::Install(install) => self.on_install(from, install),
            Frame::Submit(..) => Err(CloseCode::Unexpected),
        }
    }

    /// Notes the epoch of a peer's items on this link from now on.
    fn open_lane(&mut self, from: PeerId, epoch: u64) {
        if self.lanes.len() >= 4 * MEMBERS_MAX {
            let (epoch, told) = (&self.epoch, &self.told);
            let is_told =
                |peer: &PeerId| told.as_ref().is_some_and(|told| told.members.binary_search(peer).is_ok());
            self.lanes.retain(|peer, _| epoch.members.binary_search(peer).is_ok() || is_told(peer));
        }
        self.lanes.insert(from, epoch);
    }

    /// Takes a frame with items from their owner.
    pub(super) fn hear_items(&mut self, from: PeerId, epoch: u64, bytes: &[u8]) -> Result<(), CloseCode> {
        if epoch > self.epoch.number {
            return self.early.keep(from, epoch, bytes);
        }
        let Some(at) = self.owner(from).filter(|_| epoch == self.epoch.number) else { return Ok(()) };
        match Frame::decode(bytes).map_err(blame)? {
            Frame::Item(number, item) => {
                let next = self.epoch.streams[at].received() + 1;
                let (modulus, half) = (1_u64 << NUMBER_BITS, 1_u64 << (NUMBER_BITS - 1));
                let ahead = (u64::from(number) + modulus - next % modulus) % modulus;
                let number = if ahead < half { next + ahead } else { (next + ahead).saturating_sub(modulus) };
                self.accept(at, number, item)
            }
            Frame::Items { safe, stable, run } => {
                for (number, item) in run.items() {
                    self.accept(at, number, item)?;
                }
                if self.rule.has_one_stream() {
                    self.safe = self.safe.max(safe);
                }
                self.epoch.streams[at].trim(stable);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes items of a stream from the host, from the stream's owner, or from a peer that was asked for them. Others
    /// are not believed.
    fn on_fill(&mut self, from: PeerId, owner: PeerId, run: &Run<'_>) -> Result<(), CloseCode> {
        let Some(at) = self.owner(owner).filter(|_| run.epoch == self.epoch.number) else { return Ok(()) };
        if !(self.is_told_host(from) || from == owner || self.flush.wants(at, from)) {
            return Ok(());
        }
        for (number, item) in run.items() {
            self.accept(at, number, item)?;
        }
        if run.items().next().is_none() {
            let received = self.epoch.streams[at].received();
            self.flush.has_no_more(at, from, received);
        }
        self.evaluate();
        Ok(())
    }

    /// Takes an item of a stream of the present epoch.
    fn accept(&mut self, at: usize, number: u64, item: &[u8]) -> Result<(), CloseCode> {
        let owner = self.epoch.owners[at];
        match self.epoch.streams[at].admit(number)? {
            Arrival::Known => {}
            Arrival::Gap => {
                if !self.epoch.streams[at].is_asked {
                    self.epoch.streams[at].is_asked = true;
                    self.send_report(owner, true);
                }
            }
            Arrival::Next => {
                self.rule.check(at, item).map_err(blame)?;
                self.rule.note(at, item);
                let is_backup = self.told.as_ref().is_some_and(|told| told.backups.contains(&self.me));
                self.is_report_due |= is_backup && self.rule.is_urgent(item);
                self.epoch.streams[at].push(item.to_vec());
                // If this peer hosts, it may have waited for this item to end the epoch.
                self.evaluate();
            }
        }
        Ok(())
    }

    fn on_report(&mut self, from: PeerId, report: Report) -> Result<(), CloseCode> {
        let is_told = self.told.as_ref().is_some_and(|told| told.members.binary_search(&from).is_ok());
        if !is_told && !self.has_member(from) {
            return Ok(()); // A gone member may have been in another epoch of the same number.
        }
        let is_present = report.epoch == self.epoch.number && report.epoch > 0;
        if is_present {
            self.check_counts(&report)?;
            self.learn(from, &report);
            self.confirm(from);
        }
        if let Some(mate) = self.mates.get_mut(&from).filter(|_| report.again) {
            let own = self.epoch.owners.binary_search(&self.me).ok();
            mate.sent = own.and_then(|at| report.counts.get(at)).copied().filter(|_| is_present).unwrap_or(0);
            mate.is_paused = false;
        }
        if self.is_told_host(self.me) {
            if !is_told {
                return Ok(());
            }
            let is_of_now = self.told.as_ref().is_some_and(|told| told.id == report.view);
            if is_of_now && report.epoch > self.last_possible_epoch() {
                return Err(CloseCode::LimitExceeded);
            }
            if self.is_frozen() {
                self.flush.hear(from, report);
                self.evaluate();
            } else if report.epoch < self.epoch.number {
                self.bring_again(from, &report);
            }
        } else if self.is_told_host(from) && report.epoch < self.epoch.number {
            self.bring_again(from, &report);
        }
        Ok(())
    }

    /// The last epoch number that any member can be in. While this peer hosts, no other host ends an epoch, and each
    /// epoch has a view of its own, with another term or number.
    fn last_possible_epoch(&self) -> u64 {
        let Some(told) = &self.told else { return 0 };
        let ViewId { term, number } = told.id;
        let is_reign = self.epoch.host == Some(self.me) && self.epoch.view.term == term;
        if is_reign && told.host == self.me { self.epoch.number } else { number.saturating_add(term.0) }
    }

    /// Refuses a report of items that a member cannot have.
    fn check_counts(&self, report: &Report) -> Result<(), CloseCode> {
        if report.counts.len() != self.epoch.streams.len() {
            return Err(CloseCode::Malformed);
        }
        let mut pairs = report.counts.iter().zip(&self.epoch.streams).zip(&self.epoch.owners);
        let is_wrong = |count: u64, received: u64, owner| {
            count > received && (owner == self.me || count - received > AHEAD_MAX)
        };
        if pairs.any(|((&count, stream), &owner)| is_wrong(count, stream.received(), owner)) {
            return Err(CloseCode::LimitExceeded);
        }
        Ok(())
    }

    fn learn(&mut self, from: PeerId, report: &Report) {
        let own = self.epoch.owners.binary_search(&self.me).ok();
        if let Some((at, mate)) = own.zip(self.mates.get_mut(&from)) {
            mate.known = mate.known.max(report.counts[at]);
            self.update_stable();
        }
        if let Some(at) = self.owner(from) {
            self.epoch.streams[at].trim(report.stable);
        }
    }

    /// Answers the host of the newest view, which asks for items that this peer may hold.
    fn on_want(&mut self, from: PeerId, want: Want) -> Result<(), CloseCode> {
        if self.is_told_host(from) {
            let Want { owner, epoch, first, last } = want;
            let is_there = self.fill(from, epoch, owner, (first, last));
            if !is_there {
                // The owner may have announced that all have these items, so that this peer dropped them. The empty
                // answer tells the host not to wait for them here.
                self.push(from, &Frame::Fill(owner, Run { epoch, first, encoded: &[] }));
            }
        }
        Ok(())
    }

    fn on_install(&mut self, from: PeerId, install: Install) -> Result<(), CloseCode> {
        let is_trusted = self.is_told_host(from) || self.flush.asked(from);
        let is_new = install.epoch > self.epoch.number;
        let is_member = install.members.binary_search(&self.me).is_ok();
        if !is_trusted || !is_new || self.ending.is_some() {
            return Ok(());
        }
        if install.epoch > self.last_possible_epoch() {
            return Err(CloseCode::LimitExceeded);
        }
        let Some(cut) = &install.cut else {
            let is_wanted = self.told.as_ref().is_some_and(|told| told.id == install.view);
            // A peer that was in no epoch yet has missed nothing of its first one.
            let is_first = self.epoch.number == 0 && install.asked == 0;
            if is_member && (is_wanted || is_first) {
                self.ending = Some(install);
            } else if self.is_told_host(self.me) && install.asked == self.epoch.number {
                self.adopt_shell(install);
            }
            return Ok(());
        };
        if !(is_member || self.is_told_host(self.me))
            || install.epoch != self.epoch.number + 1
            || self.epoch.number == 0
        {
            return Ok(());
        }
        if cut.len() != self.epoch.streams.len() {
            return Err(CloseCode::Malformed);
        }
        let mut pairs = cut.iter().zip(&self.epoch.streams);
        // Items for the gaps may have come before their sender was believed. They are asked for or sent again.
        if pairs.any(|(&cut, stream)| cut > stream.received()) {
            return Ok(());
        }
        self.ending = Some(install);
        Ok(())
    }

    pub(super) fn is_told_host(&self, peer: PeerId) -> bool {
        self.told.as_ref().is_some_and(|told| told.host == peer)
    }
}
