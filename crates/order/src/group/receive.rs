//! What others say.

use samovar_wire::order::{Frame, Install, NUMBER_BITS, Report, Run, Want};
use samovar_wire::{CloseCode, DecodeError, PeerId};

use super::stream::Arrival;
use super::{Group, Rule};
use crate::order::UNSTABLE_MAX;

/// What a frame means to a peer in its own epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Past,
    Present,
    Future,
}

/// Nobody has more of a stream than this above what another member has: its owner waits for all.
const AHEAD_MAX: u64 = 4 * UNSTABLE_MAX as u64;

/// How a peer breaks the rules that sends what does not decode.
pub(crate) const fn blame(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}

impl<R: Rule> Group<R> {
    /// Takes one frame; those of SUBMIT are of no concern here.
    ///
    /// # Errors
    /// How the peer broke the rules.
    pub(crate) fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let result = self.hear(from, bytes);
        self.settle();
        result
    }

    /// As [`Group::handle_frame`], without its consequences.
    pub(super) fn hear(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let frame = Frame::decode(bytes).map_err(blame)?;
        if from == self.me {
            return Ok(());
        }
        match frame {
            Frame::Item { epoch, number, item } => match self.age_of_tag(epoch) {
                Age::Past => Ok(()),
                Age::Future => self.early.keep(from, bytes),
                Age::Present => self.on_own_item(from, number, item),
            },
            Frame::Items(safe, run) => match self.age(run.epoch) {
                Age::Past => Ok(()),
                Age::Future => self.early.keep(from, bytes),
                Age::Present => self.on_own_items(from, safe, &run),
            },
            Frame::Fill(owner, run) => self.on_fill(from, owner, &run),
            Frame::Report(report) => self.on_report(from, report),
            Frame::Want(want) => self.on_want(from, want),
            Frame::Install(install) => self.on_install(from, install),
            Frame::Submit(_) => Err(CloseCode::Unexpected),
        }
    }

    const fn age(&self, epoch: u64) -> Age {
        if epoch < self.epoch.number {
            Age::Past
        } else if epoch == self.epoch.number && epoch > 0 {
            Age::Present
        } else {
            Age::Future
        }
    }

    /// Two members are never more than one epoch apart, so that two bits tell.
    const fn age_of_tag(&self, tag: u8) -> Age {
        match (tag as u64 + 4 - self.epoch.number % 4) % 4 {
            _ if self.epoch.number == 0 => Age::Future,
            0 => Age::Present,
            1 => Age::Future,
            _ => Age::Past,
        }
    }

    fn on_own_item(&mut self, from: PeerId, number: u8, item: &[u8]) -> Result<(), CloseCode> {
        let Some(at) = self.owner(from) else { return Ok(()) };
        let next = self.epoch.streams[at].received() + 1;
        let (modulus, half) = (1_u64 << NUMBER_BITS, 1_u64 << (NUMBER_BITS - 1));
        let ahead = (u64::from(number) + modulus - next % modulus) % modulus;
        let number = if ahead < half { next + ahead } else { (next + ahead).saturating_sub(modulus) };
        self.accept(at, number, item)
    }

    fn on_own_items(&mut self, from: PeerId, safe: u64, run: &Run<'_>) -> Result<(), CloseCode> {
        let Some(at) = self.owner(from) else { return Ok(()) };
        for (number, item) in run.items() {
            self.accept(at, number, item)?;
        }
        if R::ONE_STREAM {
            self.safe = self.safe.max(safe);
        }
        Ok(())
    }

    /// Items of somebody's stream: the host's word counts, and that of whom this peer asked.
    fn on_fill(&mut self, from: PeerId, owner: PeerId, run: &Run<'_>) -> Result<(), CloseCode> {
        let is_trusted = self.is_told_host(from) || from == owner || self.flush.asked(from);
        let Some(at) = self.owner(owner).filter(|_| is_trusted && run.epoch == self.epoch.number) else {
            return Ok(());
        };
        for (number, item) in run.items() {
            self.accept(at, number, item)?;
        }
        self.evaluate();
        Ok(())
    }

    /// An item of a stream of the present epoch.
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
                // The host may have waited for just this one before it ends the epoch.
                self.evaluate();
            }
        }
        Ok(())
    }

    fn on_report(&mut self, from: PeerId, report: Report) -> Result<(), CloseCode> {
        let is_present = report.epoch == self.epoch.number && report.epoch > 0;
        if is_present {
            self.check_counts(&report)?;
            self.learn(from, &report);
        }
        if let Some(mate) = self.mates.get_mut(&from).filter(|_| report.again) {
            let own = self.epoch.owners.binary_search(&self.me).ok();
            mate.sent = own.and_then(|at| report.counts.get(at)).copied().filter(|_| is_present).unwrap_or(0);
            mate.is_paused = false;
        }
        if self.is_told_host(self.me) {
            let told = self.told.as_ref().filter(|told| told.members.binary_search(&from).is_ok());
            if told.is_none() {
                return Ok(());
            }
            if self.is_frozen() {
                self.flush.hear(from, report);
                self.evaluate();
            } else if report.epoch < self.epoch.number {
                self.bring(from, &report);
            }
        } else if self.is_told_host(from) && report.epoch < self.epoch.number && !self.epoch.is_shell {
            self.bring(from, &report);
        }
        Ok(())
    }

    /// Whether somebody can have what it says it has.
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

    /// The host of the newest view needs what its former members held.
    fn on_want(&mut self, from: PeerId, want: Want) -> Result<(), CloseCode> {
        if self.is_told_host(from) {
            self.fill(from, want.epoch, want.owner, (want.first, want.last));
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
        let Some(cut) = &install.cut else {
            let is_wanted = self.told.as_ref().is_some_and(|told| told.id == install.view);
            if is_member && is_wanted {
                self.ending = Some(install);
            } else if self.is_told_host(self.me) {
                self.adopt_shell(install);
            }
            return Ok(());
        };
        if !is_member || install.epoch != self.epoch.number + 1 || self.epoch.number == 0 {
            return Ok(());
        }
        let streams = &self.epoch.streams;
        let has_all = cut.len() == streams.len()
            && cut.iter().zip(streams).all(|(&cut, stream)| cut <= stream.received());
        if !has_all {
            return Err(CloseCode::Malformed);
        }
        self.ending = Some(install);
        Ok(())
    }

    pub(super) fn is_told_host(&self, peer: PeerId) -> bool {
        self.told.as_ref().is_some_and(|told| told.host == peer)
    }
}
