//! The host's desk: join requests, tickets that wait for the backups, and changes for the next view. On other members
//! the desk is empty.

use std::collections::VecDeque;

use samovar_objects::Objects;
use samovar_wire::control::{Hello, PeerControl};
use samovar_wire::{Duration, Entropy, PeerId, Receipt, SeatId, SortedSet, Time};

use crate::core::Core;
use crate::core::peer_link::PeerLink;
use crate::core::watch::REMOVED_AFTER;

/// After a hint that a connection of the member closed, the member is removed after this shorter silence.
const REMOVED_AFTER_HINT: Duration = Duration::from_millis(1_000);
/// The longest time for which the next view waits until all members that answer have the last one.
const SETTLES_WITHIN: Duration = Duration::from_millis(250);
/// The longest such time while a ticket waits until the backups have the last view.
const BACKED_UP_WITHIN: Duration = Duration::from_millis(1_000);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Desk {
    /// The seat after which the search for the next backup begins.
    pub(crate) last_backup: Option<SeatId>,
    pub(crate) entropy: Entropy,
    /// Join requests, which wait for the view to settle.
    pub(crate) join_requests: VecDeque<(PeerId, Hello)>,
    /// Whether this host hands over as soon as another member can host.
    pub(crate) hands_over: bool,
    /// This host's own seat, while it is free for the newcomer that showed its ticket.
    pub(crate) aside: Option<SeatId>,
    /// Members whose tickets are confirmed once all backups know of these tickets.
    pub(crate) welcomes: Vec<PeerId>,
    /// Members that this host puts out with the next view.
    pub(crate) put_out: Vec<PeerId>,
    /// Members that left: they will never vote again.
    pub(crate) leavers: SortedSet<PeerId>,
    /// When this peer published its last view, and the number of that view.
    pub(crate) published: Time,
    pub(crate) published_number: u64,
    /// The heir that this host has told, before all others, that it is the heir; and the receipt for that message.
    pub(crate) appointment: Option<(PeerId, Receipt)>,
}

impl Desk {
    pub(crate) fn new(now: Time, entropy: Entropy) -> Self {
        Self {
            last_backup: None,
            entropy,
            join_requests: VecDeque::new(),
            hands_over: false,
            aside: None,
            welcomes: Vec::new(),
            put_out: Vec::new(),
            leavers: SortedSet::new(),
            published: now,
            published_number: 0,
            appointment: None,
        }
    }

    /// Clears the desk, since another peer hosts now.
    pub(crate) fn clear(&mut self, core: &mut Core) {
        self.join_requests.clear();
        self.welcomes.clear();
        self.put_out.clear();
        self.hands_over = false;
        core.net.links_mut().for_each(|(_, link)| link.welcomed = false);
    }

    /// Whether the last view is settled: all members that answer have it, or the wait for them is over. The next view
    /// is published only then (PROTOCOL §4.10 rule 13). The wait is longer while a ticket waits for a backup.
    pub(crate) fn is_settled(&self, core: &Core, objects: &Objects, now: Time) -> bool {
        let within = if self.welcomes.is_empty() { SETTLES_WITHIN } else { BACKED_UP_WITHIN };
        if self.published + within <= now {
            return true;
        }
        let mut answering = core.net.links().filter(|(_, link)| link.is_answering(now));
        answering.all(|(peer, _)| core.holds_view(objects, peer))
    }

    /// Confirms the tickets that all backups know of. So the same tickets open the seats under the next host (PROTOCOL
    /// §4.1).
    pub(crate) fn welcome(&mut self, core: &mut Core, objects: &Objects) {
        if self.welcomes.is_empty() || !core.is_host() {
            return;
        }
        self.welcomes.retain(|&peer| core.view().has(peer));
        let backups = core.view().backups().iter().copied();
        let lacking: Vec<_> = backups.filter(|&backup| !core.holds_view(objects, backup)).collect();
        let is_ready = |&peer: &PeerId| lacking.iter().all(|&backup| backup == peer);
        while let Some(place) = self.welcomes.iter().position(is_ready) {
            let peer = self.welcomes.remove(place);
            let Some(hash) = core.seat_of(peer).map(|record| record.ticket) else { continue };
            core.stir();
            if peer == core.me() {
                core.take_ticket(hash);
            } else {
                core.send_control(peer, &PeerControl::Welcome(hash));
            }
        }
    }

    /// Names as many backups as the rules want, from members that answer and have joined.
    pub(crate) fn name_backups(&mut self, core: &mut Core, now: Time) {
        let (missed, doubted) = core.lives(now);
        let me = core.me();
        let view = &mut core.members.view;
        let is_fit = |peer: PeerId| {
            peer != me && !view.backups().contains(&peer) && !doubted.contains(&peer) && !view.is_still(peer)
        };
        let is_better = view.members().any(|m| is_fit(m.peer));
        let is_unfit = |peer: &PeerId| missed.contains(peer) || is_better && view.is_still(*peer);
        let unfit: Vec<_> = view.backups().iter().copied().filter(is_unfit).collect();
        for backup in unfit {
            view.dismiss_backup(backup);
        }
        while view.backups().len() < usize::from(core.config.rules.backups) {
            let answers = |peer: PeerId| !doubted.contains(&peer);
            let Some(backup) = view.name_backup(me, self.last_backup, answers) else { break };
            self.last_backup = view.member(backup).map(|member| member.record.seat);
        }
    }

    /// Changes the electorate by one peer, so that it follows the members. A host that has named an heir does not
    /// change the electorate, since members that have voted still listen to it.
    pub(crate) fn step_electorate(&mut self, core: &mut Core, objects: &Objects) {
        if core.roster.heir().is_some() {
            return;
        }
        let holding: SortedSet<_> = {
            let voters = core.view().electorate().peers.iter().copied();
            let everybody = voters.chain(core.view().members().map(|m| m.peer));
            everybody.filter(|&peer| core.holds_view(objects, peer) || self.leavers.contains(&peer)).collect()
        };
        core.members.view.step_electorate(|peer| holding.contains(&peer));
        let voters = core.view().electorate();
        self.leavers.retain(|peer| voters.peers.contains(peer));
    }

    /// Whether a newcomer shows the ticket of this host's own seat. A view without this host would end this host's
    /// session before any member has that view. So another member hosts first and seats the newcomer, or this host
    /// steps aside until the newcomer can host.
    pub(crate) fn is_own_seat(core: &Core, hello: &Hello) -> bool {
        let shown = hello.resume.map(|ticket| ticket.map(|ticket| ticket.hash()));
        core.seat_of(core.me()).is_some_and(|own| shown.contains(&Some(own.ticket)))
    }

    /// Takes this host's own seat back when the newcomer leaves before it becomes the host. Returns whether this host
    /// is still aside.
    pub(crate) fn tend_own_seat(&mut self, core: &mut Core, now: Time) -> bool {
        let Some(seat) = self.aside else { return false };
        let (me, time) = (core.me(), core.known_time(now));
        let (view, tickets) = (&mut core.members.view, &mut core.members.tickets);
        // The newcomer has shown the seat's former ticket, so that ticket is void.
        let draw = || {
            tickets.draw(&mut self.entropy);
            tickets.hash()
        };
        if view.step_back(time, me, seat, draw) {
            self.aside = None;
            self.welcomes.push(me);
            return false;
        }
        true
    }

    /// Whether the heir of this host has received the message that it is the heir. Returns `true` once.
    pub(crate) fn takes_appointment(&mut self, core: &Core) -> bool {
        let is_delivered = |&mut (heir, receipt): &mut (PeerId, Receipt)| {
            core.net.link(heir).is_some_and(|link| link.transport.is_delivered(receipt))
        };
        self.appointment.take_if(is_delivered).is_some()
    }

    /// Members that left, have been silent for too long, or have no link. A member without a link may have closed it
    /// to leave, while the former host did not hear that it left.
    pub(crate) fn gone(core: &Core, now: Time) -> Vec<PeerId> {
        let is_gone = |link: &PeerLink| {
            let patience = if link.is_hinted() { REMOVED_AFTER_HINT } else { REMOVED_AFTER };
            link.admitted && (link.left || link.judged_from <= now && link.transport.silence(now) >= patience)
        };
        let silent = core.net.links().filter(|(_, link)| is_gone(link)).map(|(peer, _)| peer);
        let unlinked = core.view().members().map(|m| m.peer).filter(|&peer| !core.net.is_linked(peer));
        silent.chain(unlinked.filter(|&peer| peer != core.me())).collect()
    }
}
