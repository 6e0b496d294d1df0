//! The flush: how the host ends an epoch, and how the next begins.

use samovar_wire::order::{Frame, Install, Report, Want};
use samovar_wire::{PeerId, SortedMap, SortedSet};

use super::{Epoch, Group, Mate, Past, Rule, Stream};
use crate::order::{Event, View, ViewId};

/// The most times that a member is told on one link that it is behind an epoch.
const ANSWERS_MAX: u8 = 8;

/// The reports that a host has heard since the newest view, and its questions.
#[derive(Clone, Debug, Default)]
pub(super) struct Flush {
    reports: SortedMap<PeerId, Report>,
    /// The member that was asked for an epoch that this peer does not know.
    asked_up: Option<PeerId>,
    /// Streams, by index, and the members that were asked for items of them.
    wanted: SortedSet<(usize, PeerId)>,
}

/// At the host: newcomers that wait to be let into the present epoch, and the members they wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct Admission {
    awaited: SortedSet<PeerId>,
    newcomers: Vec<PeerId>,
}

impl Flush {
    pub(super) fn hear(&mut self, from: PeerId, report: Report) {
        self.reports.insert(from, report);
    }

    /// Whether this peer asked another for an epoch.
    pub(super) fn asked(&self, peer: PeerId) -> bool {
        self.asked_up == Some(peer)
    }

    /// Whether this peer asked another for items of a stream.
    pub(super) fn wants(&self, at: usize, peer: PeerId) -> bool {
        self.asked(peer) || self.wanted.contains(&(at, peer))
    }

    /// Notes that a member that was asked for items has sent all it has.
    pub(super) fn has_no_more(&mut self, at: usize, peer: PeerId, received: u64) {
        if self.wanted.remove(&(at, peer))
            && let Some(count) = self.reports.get_mut(&peer).and_then(|report| report.counts.get_mut(at))
        {
            *count = (*count).min(received);
        }
    }

    /// Forgets the questions to a peer whose link is new: answers may be lost.
    pub(super) fn forget_questions(&mut self, peer: PeerId) {
        self.asked_up.take_if(|asked| *asked == peer);
        self.wanted.retain(|&(_, holder)| holder != peer);
    }
}

impl Group<dyn Rule> {
    /// Reports what this peer has, or collects the reports when it hosts the view.
    pub(super) fn begin_flush(&mut self) {
        let Some(host) = self.told.as_ref().map(|told| told.host) else { return };
        if host == self.me {
            self.evaluate();
        } else {
            self.send_report(host, false);
        }
    }

    /// At the host: members that have not reported yet, members that have not sent the items they were asked for, and
    /// members that are not known to be in the epoch that newcomers wait for.
    pub(crate) fn awaited(&self) -> SortedSet<PeerId> {
        let mut awaited = SortedSet::new();
        let Some(told) = self.told.as_ref().filter(|told| told.host == self.me) else { return awaited };
        if self.is_frozen() {
            let wanted = self.flush.wanted.iter().map(|&(_, holder)| holder);
            self.expected(told, true).into_iter().chain(self.flush.asked_up).chain(wanted).for_each(|peer| {
                awaited.insert(peer);
            });
        } else if !self.admission.newcomers.is_empty() {
            awaited = self.admission.awaited.clone();
        }
        awaited
    }

    /// The members of the newest view that may have items to report; newcomers have none. If `is_silent`, only those
    /// that have not reported.
    fn expected(&self, told: &View, is_silent: bool) -> Vec<PeerId> {
        let has_spoken = |peer| self.flush.reports.get(&peer).is_some_and(|report| report.view == told.id);
        let members = told.members.iter().copied().filter(|&peer| peer != self.me);
        members.filter(|peer| self.known.contains(peer) && !(is_silent && has_spoken(*peer))).collect()
    }

    /// At the host: ends the epoch if it can. Otherwise asks for what is missing, or brings other members to this
    /// epoch.
    pub(super) fn evaluate(&mut self) {
        let is_open = !self.is_frozen();
        let Some(told) = self.told.as_ref().filter(|told| told.host == self.me && !is_open).cloned() else {
            return;
        };
        if self.ending.is_some() || !self.expected(&told, true).is_empty() {
            return;
        }
        let expected = self.expected(&told, false);
        let epoch_of =
            |group: &Self, peer: PeerId| group.flush.reports.get(&peer).map_or(0, |report| report.epoch);
        let top = expected.iter().map(|&peer| epoch_of(self, peer)).max().unwrap_or(0);
        if top > self.epoch.number {
            // This peer advances by one epoch at a time: members behind the others need what this peer learns of each
            // epoch.
            let ahead = expected.iter().map(|&peer| (epoch_of(self, peer), peer));
            let ahead = ahead.filter(|&(epoch, _)| epoch > self.epoch.number && epoch + 1 >= top).min();
            if let Some((_, holder)) = ahead.filter(|_| self.flush.asked_up.is_none()) {
                self.flush.asked_up = Some(holder);
                self.send_report(holder, false);
            }
            return;
        }
        let behind = |&&peer: &&PeerId| {
            epoch_of(self, peer) + 1 == self.epoch.number && self.can_bring(peer, self.epoch.number - 1)
        };
        let behind: Vec<_> = expected.iter().filter(behind).copied().collect();
        for &peer in &behind {
            // The member reports again when it is in this epoch.
            if let Some(report) = self.flush.reports.remove(&peer) {
                self.bring(peer, &report);
            }
        }
        if behind.is_empty() && !self.let_in(&expected) {
            self.try_end(&told, &expected);
        }
    }

    /// Lets in newcomers of this epoch that a former host, now lost, has not let in. All members have kept for these
    /// newcomers everything that they sent in this epoch. Newcomers report again when they are in. They are let in
    /// even by a host that only ends the epoch for others, because the items were sent to them. Returns whether there
    /// were any.
    fn let_in(&mut self, expected: &[PeerId]) -> bool {
        let is_new = |peer: &&PeerId| self.flush.reports.get(*peer).is_some_and(|report| report.epoch == 0);
        let is_begun = self.epoch.number > 0;
        let new: Vec<_> = expected
            .iter()
            .filter(|peer| is_begun && self.has_member(**peer))
            .filter(is_new)
            .copied()
            .collect();
        for &peer in &new {
            self.flush.reports.remove(&peer);
            self.install_at(peer, 0, None);
        }
        !new.is_empty()
    }

    /// Ends this epoch if this peer has everything that any member has, and otherwise asks for the rest. All members
    /// that can be are in the epoch by now.
    fn try_end(&mut self, told: &View, expected: &[PeerId]) {
        let is_here = |peer: &&PeerId| {
            let report = self.flush.reports.get(*peer);
            let is_level = report.is_some_and(|report| {
                report.epoch == self.epoch.number && report.counts.len() == self.epoch.streams.len()
            });
            is_level && self.epoch.members.binary_search(peer).is_ok()
        };
        let here: Vec<_> = expected.iter().filter(is_here).copied().collect();
        let mut cut: Vec<_> = self.epoch.streams.iter().map(Stream::received).collect();
        let mut wants = Vec::new();
        for (at, most) in cut.iter_mut().enumerate() {
            let received = *most;
            let mut holder = None;
            let owner = self.epoch.owners[at];
            // If a stream's owner is here, no other member has more of it.
            let is_asked = |peer: &&PeerId| match here.contains(&owner) {
                true => **peer == owner,
                false => owner != self.me,
            };
            let asked = here.iter().filter(is_asked);
            for (peer, report) in asked.filter_map(|peer| self.flush.reports.get(peer).map(|r| (*peer, r))) {
                if report.counts[at] > *most {
                    (*most, holder) = (report.counts[at], Some(peer));
                }
            }
            wants.extend(holder.map(|holder| (at, holder, received + 1, *most)));
        }
        if wants.is_empty() {
            self.end_epoch(told, &here, cut);
            return;
        }
        for (at, holder, first, last) in wants {
            if self.flush.wanted.insert((at, holder)) {
                let (owner, epoch) = (self.epoch.owners[at], self.epoch.number);
                self.push(holder, &Frame::Want(Want { owner, epoch, first, last }));
            }
        }
    }

    fn end_epoch(&mut self, told: &View, here: &[PeerId], cut: Vec<u64>) {
        let install = Install {
            epoch: self.epoch.number + 1,
            view: told.id,
            host: self.me,
            members: told.members.clone(),
            asked: self.epoch.number,
            cut: Some(cut),
        };
        let me = self.me;
        let (survivors, newcomers): (Vec<_>, Vec<_>) =
            told.members.iter().copied().filter(|&peer| peer != me).partition(|peer| here.contains(peer));
        for &peer in &survivors {
            let counts = self.flush.reports.get(&peer).map(|report| report.counts.clone());
            let cuts = install.cut.iter().flatten();
            for (at, (count, &last)) in counts.into_iter().flatten().zip(cuts).enumerate() {
                self.fill(peer, self.epoch.number, self.epoch.owners[at], (count + 1, last));
            }
            self.push(peer, &Frame::Install(install.clone()));
        }
        self.admission = Admission { awaited: survivors.into_iter().collect(), newcomers };
        self.ending = Some(install);
    }

    /// Notes that a member is in the present epoch. When all members of the former epoch are in it, the newcomers are
    /// let in as well. If they were let in earlier, and all members that know how the former epoch ended were lost,
    /// no peer could tell the rest.
    pub(super) fn confirm(&mut self, peer: PeerId) {
        self.admission.awaited.remove(&peer);
        self.admit();
    }

    pub(super) fn admit(&mut self) {
        if !self.admission.awaited.is_empty() || self.is_frozen() {
            return;
        }
        for newcomer in core::mem::take(&mut self.admission.newcomers) {
            self.install_at(newcomer, 0, None);
        }
    }

    /// Tells a member of the present epoch, and how the former epoch ended if the member was in it.
    fn install_at(&mut self, peer: PeerId, asked: u64, cut: Option<Vec<u64>>) {
        let Epoch { number: epoch, view, host: Some(host), ref members, .. } = self.epoch else { return };
        let install = Install { epoch, view, host, members: members.clone(), asked, cut };
        self.push(peer, &Frame::Install(install));
    }

    /// Whether a member can be told how the epoch before this one ended.
    fn can_bring(&self, peer: PeerId, epoch: u64) -> bool {
        let is_kept = self.past.as_ref().is_some_and(|past| past.number == epoch);
        is_kept && (self.has_member(peer) || self.is_told_host(peer))
    }

    /// As [`Group::bring`], but only a few times per link. A member asks again if it did not believe an answer yet or
    /// has a new link.
    pub(super) fn bring_again(&mut self, peer: PeerId, report: &Report) {
        let answers = self.brought.entry(peer).or_default();
        if *answers < ANSWERS_MAX {
            *answers += 1;
            self.bring(peer, report);
        }
    }

    /// Brings a member to this epoch, if possible with all items that it lacks of the former one.
    pub(super) fn bring(&mut self, peer: PeerId, report: &Report) {
        if self.admission.newcomers.contains(&peer) {
            return;
        }
        let past = self.past.as_ref().filter(|past| past.streams.len() == report.counts.len());
        let missing = past.filter(|_| self.can_bring(peer, report.epoch)).map(|past| {
            let missing = past.owners.iter().zip(report.counts.iter().zip(&past.cut));
            let missing = missing.map(|(&owner, (&count, &last))| (owner, (count + 1, last)));
            (past.cut.clone(), missing.collect::<Vec<_>>())
        });
        let (cut, missing) = missing.unzip();
        for (owner, numbers) in missing.into_iter().flatten() {
            self.fill(peer, report.epoch, owner, numbers);
        }
        self.install_at(peer, report.epoch, cut);
    }

    /// Takes over the others' epoch, at a host that was in none or was left behind. The host only ends that epoch for
    /// the others, and for this it holds the items that they may lack.
    pub(super) fn adopt_shell(&mut self, install: Install) {
        if self.epoch.number > 0 && !self.epoch.is_shell {
            self.events.push_back(Event::Behind);
        }
        let owners = self.owners_in(&install);
        let streams = self.shell_streams(&install, owners.len());
        self.rule.begin(&owners, None);
        self.past = None;
        self.mates.clear();
        self.flush.asked_up = None;
        let Install { epoch, view, host, members, .. } = install;
        let host = Some(host);
        self.epoch = Epoch { number: epoch, view, host, members, owners, streams, is_shell: true };
        self.evaluate();
    }

    /// The streams of an epoch that this peer was not in, from the first item that some member lacks. A member that
    /// has yet to come to that epoch lacks all items. Then the streams begin with the first one.
    fn shell_streams(&self, install: &Install, owners: usize) -> Vec<Stream> {
        let reports = &self.flush.reports;
        let comes = |peer, report: &Report| {
            report.epoch < install.epoch && install.members.binary_search(peer).is_ok()
        };
        let is_coming = reports.iter().any(|(peer, report)| comes(peer, report));
        let least = |at: usize| {
            let there = reports.values().filter(|report| report.epoch == install.epoch);
            there.filter_map(|report| report.counts.get(at)).copied().min().unwrap_or(0)
        };
        (0..owners).map(|at| Stream::starting_behind(if is_coming { 0 } else { least(at) })).collect()
    }

    /// The owners of streams in the epoch that begins.
    fn owners_in(&self, install: &Install) -> Vec<PeerId> {
        if self.rule.has_one_stream() { vec![install.host] } else { install.members.clone() }
    }

    /// Begins the next epoch: all items of the former one had their turn.
    pub(super) fn begin_epoch(&mut self, install: Install) {
        let owners = self.owners_in(&install);
        let is_shell = install.members.binary_search(&self.me).is_err();
        let streams = if is_shell {
            self.shell_streams(&install, owners.len())
        } else {
            vec![Stream::default(); owners.len()]
        };
        let is_behind = (install.cut.is_none() || is_shell) && self.epoch.number > 0 && !self.epoch.is_shell;
        let Install { epoch, view, host, members, cut, .. } = install;
        let me = owners.binary_search(&self.me).ok();
        self.rule.begin(&owners, me);
        let mate = |&peer: &PeerId| (peer, Mate { is_paused: self.is_paused(peer), ..Mate::default() });
        self.mates = members.iter().filter(|&&peer| peer != self.me).map(mate).collect();
        self.known = members.iter().copied().chain(self.known_beyond(view)).collect();
        let host = Some(host);
        let next = Epoch { number: epoch, view, host, members, owners, streams, is_shell };
        let former = core::mem::replace(&mut self.epoch, next);
        self.past = cut.filter(|_| former.number > 0).map(|cut| {
            let Epoch { number, owners, streams, .. } = former;
            Past { number, owners, streams, cut }
        });
        (self.safe, self.last_urgent, self.unsaid, self.freed) = (0, 0, (0, 0), 0);
        self.is_report_due = false;
        self.flush.asked_up = None;
        self.flush.wanted = SortedSet::new();
        self.brought.clear();
        self.events.extend(is_behind.then_some(Event::Behind));
        self.events.extend((!is_shell).then_some(Event::View(view)));
        for (from, frame) in self.early.take(epoch) {
            let result = self.hear_items(from, epoch, &frame);
            self.events.extend(result.err().map(|code| Event::Broke(from, code)));
        }
        if self.is_frozen() {
            self.begin_flush();
        } else {
            if let Some(host) = self.epoch.host.filter(|&host| host != self.me) {
                self.send_report(host, false);
            }
            self.admit();
            self.say_what_waited();
        }
    }

    /// The members that stay known because this peer has heard of a newer view than this one.
    fn known_beyond(&self, view: ViewId) -> Vec<PeerId> {
        let is_last = self.told.as_ref().is_some_and(|told| told.id == view);
        if is_last { Vec::new() } else { self.known.iter().copied().collect() }
    }

    fn is_paused(&self, peer: PeerId) -> bool {
        self.mates.get(&peer).is_some_and(|mate| mate.is_paused)
    }

    fn say_what_waited(&mut self) {
        self.waiting_bytes = 0;
        for payload in core::mem::take(&mut self.waiting) {
            let item = self.rule.compose(&payload);
            self.append(item);
        }
    }
}
