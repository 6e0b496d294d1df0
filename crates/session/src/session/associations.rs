//! The links of this peer to each other one, one after another: the generation of each, and how they begin anew.

use samovar_link::{Link, LinkConfig};
use samovar_wire::control::PeerControl;
use samovar_wire::{Duration, Generation, PeerId, SortedMap, Time};

use super::{Departure, Event, Peering, Phase, Session};

/// Peers whose generation is remembered: more than a peer can have links to.
const REMEMBERED_MAX: usize = 256;
/// The shortest time between two signs of life of a host.
const HOST_PACE_MIN: Duration = Duration::from_millis(20);
/// How soon after one link to a peer the next may begin by that peer's doing. Each tells it everything anew.
const RESTART_INTERVAL: Duration = Duration::from_millis(500);

/// The newest link to a peer: its generation, and when it began.
pub(super) type Associations = SortedMap<PeerId, (Generation, Time)>;

impl Session {
    /// Makes sure there is a link to a peer.
    pub(super) fn open_link(&mut self, now: Time, peer: PeerId) -> &mut Peering {
        if !self.links.contains_key(&peer) {
            let generation = self.next_generation(now, peer);
            let peering = Peering {
                link: Link::new(now, LinkConfig::default(), generation),
                admitted: false,
                opened: now,
                hint: None,
                judged_from: Time::ZERO,
                carrier: (None, Time::ZERO),
                resumed: Time::ZERO,
                left: false,
                greeted: false,
                welcomed: false,
                next_update: now,
                patience: Duration::ZERO,
                before: self.reached_before(now, peer),
                is_told: false,
                idle: None,
                ahead: None,
                held: std::collections::VecDeque::new(),
            };
            self.links.insert(peer, Box::new(peering));
            self.stir();
            self.set_paces();
        }
        self.links.get_mut(&peer).expect("it is there or was put there")
    }

    fn next_generation(&mut self, now: Time, peer: PeerId) -> Generation {
        let former = self.associations.get(&peer).map(|&(generation, _)| generation);
        if former.is_none() && self.associations.len() >= REMEMBERED_MAX {
            let unlinked = self.associations.iter().filter(|(peer, _)| !self.links.contains_key(peer));
            if let Some(oldest) = unlinked.min_by_key(|(_, (_, began))| *began).map(|(&peer, _)| peer) {
                self.associations.remove(&oldest);
            }
        }
        let generation = former.map_or(Generation::FIRST, Generation::next);
        self.associations.insert(peer, (generation, now));
        generation
    }

    /// Opens the link to a member that has none: the other end is told everything. What was under way on a former link
    /// is lost, so that the game learns that the member left and is back; the game at the other end does, too
    /// (DESIGN §5.5).
    pub(super) fn link_member(&mut self, now: Time, peer: PeerId) {
        if let Some(member) = self.members.get(&peer).cloned() {
            self.push_event(Event::MemberLeft { member: member.clone(), departure: Departure::Gone });
            self.push_event(Event::MemberJoined { member, resumed: true });
        }
        let is_new = !self.links.contains_key(&peer);
        self.open_link(now, peer).admitted = true;
        self.greet(now, peer);
        if is_new && peer == self.host() && self.migration.is_none() {
            self.asked = None;
            self.ask_for_ticket(now);
        }
        self.objects.add_peer(peer);
        self.inputs.on_linked(peer);
        self.link_orders(now, peer);
        self.tell_focus_to(peer);
    }

    /// Tells a peer by what right this one speaks, before anything is said under the present term (PROTOCOL §4.3).
    pub(super) fn greet(&mut self, now: Time, peer: PeerId) {
        self.send_control(now, peer, &PeerControl::Warrant(*self.roster.warrant()));
        for news in self.roster.greeting() {
            self.send_control(now, peer, &news);
        }
    }

    /// A host gives signs of life as often as it tells of its objects, so that its death is noticed soon; others do so
    /// when they must (PROTOCOL §2.4).
    pub(super) fn set_paces(&mut self) {
        let own = self.pace_of(self.me());
        let paces: Vec<_> = self.links.keys().map(|&peer| self.pace_of(peer)).collect();
        for (peering, promised) in self.links.values_mut().zip(paces) {
            peering.link.set_pace(own, promised);
        }
    }

    /// Within which time something is heard of a member that lives.
    pub(super) fn pace_of(&self, peer: PeerId) -> Duration {
        if peer == self.host() { self.host_pace() } else { LinkConfig::default().keep_alive }
    }

    /// Half as long again as the pace of updates, so that a host that plays needs no packet of its own for it.
    pub(super) fn host_pace(&self) -> Duration {
        self.update_interval.times(3).half().clamp(HOST_PACE_MIN, LinkConfig::default().keep_alive)
    }

    /// Opens the links to members that have none: to those that came, and to whoever closed one for a view that was
    /// not this peer's. Who broke the rules stays closed to until the view drops it.
    pub(super) fn link_all_members(&mut self, now: Time) {
        let is_unlinked = |peer: &PeerId| {
            *peer != self.config.me
                && self.closed_to(*peer).is_none()
                && !self.links.get(peer).is_some_and(|peering| peering.admitted)
        };
        let unlinked: Vec<_> = self.view.members().map(|member| member.peer).filter(is_unlinked).collect();
        unlinked.into_iter().for_each(|peer| self.link_member(now, peer));
    }

    /// Whether a peer may have another link by its own doing.
    fn may_restart(&self, now: Time, peer: PeerId) -> bool {
        self.associations.get(&peer).is_none_or(|&(_, began)| began + RESTART_INTERVAL <= now)
    }

    /// A member speaks that there is no link to, since it closed a former one: it knows better now.
    pub(super) fn is_member_come_back(&self, now: Time, peer: PeerId) -> bool {
        self.phase == Phase::Member
            && self.view.has(peer)
            && self.closed_to(peer).is_none()
            && self.may_restart(now, peer)
    }

    /// The other end of a link began anew: so does this one (PROTOCOL §2.2). Whoever is a member stays one.
    pub(super) fn on_restarted(&mut self, now: Time, peer: PeerId) {
        if !self.may_restart(now, peer) {
            return;
        }
        let Some(former) = self.remove_link(peer) else { return };
        if former.admitted {
            self.objects.restart_peer(peer);
            self.link_member(now, peer);
            let view = &self.view;
            self.objects.report_orphans(|peer| !view.has(peer));
        } else if self.phase == Phase::Joining && peer == self.host() {
            self.ticket = None;
            self.ask_to_join(now);
        } else {
            self.open_link(now, peer);
        }
    }
}
