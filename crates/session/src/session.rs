//! One peer's session: its parts, and what a program can read of it.

use samovar_objects::{Kinded, Object, ObjectError, Objects, Replicate};
use samovar_roster::{Role, Roster, Suspension, View};
use samovar_wire::view::SeatRecord;
use samovar_wire::{Entropy, ObjectId, PeerId, SeatId, Term, Ticket, Time, Warrant};

use crate::ages::DataAges;
use crate::calls::CallsState;
use crate::core::tickets::Tickets;
use crate::core::{Core, Phase};
use crate::desk::Desk;
use crate::divergence::Divergence;
use crate::inputs::Inputs;
use crate::interest::InterestState;
use crate::orders::Machines;
use crate::ownership::OwnershipState;
use crate::steps::Steps;
use crate::{ConfigError, Event, Kept, Rules, SessionConfig};

/// One peer's session: a core, the objects, and services. A service knows the core and no other service.
#[derive(Debug)]
pub struct Session {
    pub(crate) core: Core,
    pub(crate) objects: Objects,
    pub(crate) desk: Desk,
    pub(crate) divergence: Divergence,
    pub(crate) steps: Steps,
    pub(crate) ownership: OwnershipState,
    pub(crate) inputs: Inputs,
    pub(crate) calls: CallsState,
    pub(crate) interest: InterestState,
    pub(crate) orders: Machines,
    pub(crate) ages: DataAges,
    /// A buffer for messages on their way to a link, reused to save allocations.
    pub(crate) scratch: Vec<u8>,
}

/// An empty set of objects under the present host and term.
pub(crate) fn objects_of(core: &Core) -> Objects {
    Objects::new(core.me(), core.host(), core.term(), core.config.schemas.clone())
}

impl Session {
    /// Founds the session if the warrant names this peer as the host; joins it otherwise.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn new(now: Time, config: SessionConfig) -> Result<Self, ConfigError> {
        Self::with_kept(now, config, None)
    }

    /// Does the same as [`Session::new`], with the seats and the time of an earlier session. They count only if this
    /// peer founds the session, or begins it anew because no member is left.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn with_kept(now: Time, config: SessionConfig, kept: Option<Kept>) -> Result<Self, ConfigError> {
        if let Some(feature) = config.rules.orders.left_out() {
            return Err(ConfigError::LeftOut(feature));
        }
        let roster = Roster::new(config.me, config.key, config.warrant)
            .ok_or(ConfigError::BadWarrant)?
            .with_survival(config.rules.migrates, config.rules.forks);
        let mut entropy = Entropy::new(config.entropy);
        let tickets = Tickets::new(config.warrant.session, config.tickets.clone(), &mut entropy);
        let desk = Desk::new(now, entropy);
        let core = Core::new(now, config, roster, (kept, tickets));
        let mut session = Self {
            objects: objects_of(&core),
            desk,
            divergence: Divergence::default(),
            steps: Steps::default(),
            ownership: OwnershipState::default(),
            inputs: Inputs::default(),
            calls: CallsState::default(),
            interest: InterestState::default(),
            orders: Machines::new(&core.config, core.roster.is_host()),
            ages: DataAges::default(),
            core,
            scratch: Vec::new(),
        };
        if session.core.roster.is_host() {
            session.found(now);
        } else {
            session.ask_to_join(now);
        }
        Ok(session)
    }

    /// This peer.
    #[must_use]
    pub const fn me(&self) -> PeerId {
        self.core.me()
    }

    /// The host of the present term.
    #[must_use]
    pub const fn host(&self) -> PeerId {
        self.core.host()
    }

    /// The present term.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.core.term()
    }

    /// The highest warrant known; the relay asks for it when this peer comes back.
    #[must_use]
    pub const fn warrant(&self) -> &Warrant {
        self.core.roster.warrant()
    }

    /// The rules of the session, as its members agreed on them.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.core.config.rules
    }

    /// Whether this peer hosts, and may act as the host now; see [`Session::suspension`].
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.core.is_host()
    }

    /// The reason why no host decides anything here now; `None` if a host does. While suspended, a session admits no
    /// peer, grants no object and accepts no input.
    #[must_use]
    pub fn suspension(&self, now: Time) -> Option<Suspension> {
        self.core.roster.suspension(now).filter(|_| self.core.phase == Phase::Member)
    }

    /// Whether this peer is a member.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.core.phase == Phase::Member
    }

    /// The agreed member list.
    #[must_use]
    pub const fn view(&self) -> &View {
        self.core.view()
    }

    /// This peer's seat; `None` before admission.
    #[must_use]
    pub fn seat(&self) -> Option<SeatId> {
        self.core.seat()
    }

    /// The ticket that takes this peer's seat back, once; `None` until [`Event::Ticket`].
    #[must_use]
    pub fn ticket(&self) -> Option<Ticket> {
        self.core.members.tickets.good()
    }

    /// The tickets to give to this program's next session; the one that is a seat's takes that seat back. The first is
    /// [`Session::ticket`], if there is one. Those before it follow, in case the host that confirmed it had been
    /// replaced. Otherwise they are the tickets of the previous session, and those drawn since then, none of which a
    /// host has confirmed.
    #[must_use]
    pub fn tickets(&self) -> Vec<Ticket> {
        self.core.members.tickets.candidates()
    }

    /// The seats and the session time, to be stored in case all members go at once. They are the newest, or those at
    /// the session's end. `None` before this peer is a member.
    #[must_use]
    pub fn kept(&self, now: Time) -> Option<Kept> {
        (self.core.phase != Phase::Joining && self.core.members.view.members().next().is_some()).then(|| {
            Kept {
                session: self.warrant().session,
                view: self.core.members.view.clone(),
                time: self.session_time(now),
            }
        })
    }

    /// The seat of a member.
    #[must_use]
    pub fn seat_of(&self, peer: PeerId) -> Option<&SeatRecord> {
        self.core.seat_of(peer)
    }

    /// Whether a member may not have the session's state yet, as far as this peer knows: since it was seated, nothing
    /// has shown that it read the view. Such a member takes over from nobody.
    #[must_use]
    pub fn is_joining(&self, peer: PeerId) -> bool {
        self.core.is_joining(peer)
    }

    /// This peer's role.
    #[must_use]
    pub fn role(&self, now: Time) -> Role {
        self.core.roster.role(now, &self.core.members.view, self.is_backed_up())
    }

    fn is_backed_up(&self) -> bool {
        let backups = self.core.members.view.backups();
        !backups.is_empty()
            && backups.iter().all(|&backup| self.core.holds_view(&self.objects, backup))
            && self.inputs.are_backed_up(&self.core)
    }

    /// Session time: the host's clock, as this peer estimates it. On a member it never goes backwards. Before this
    /// peer is a member, the value means nothing.
    #[must_use]
    pub fn session_time(&self, now: Time) -> Time {
        self.core.time(now)
    }

    /// All objects, by id; the session object is among them.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// One object.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(id)
    }

    /// The value of an object.
    ///
    /// # Errors
    /// `Unknown`; `BadField` when the object is of another kind, or holds a value that this type cannot.
    pub fn read<T: Replicate + Kinded>(&self, id: ObjectId) -> Result<T, ObjectError> {
        self.objects.read(id)
    }

    /// The member that the host has granted an object to, until that member announces itself as the owner.
    #[must_use]
    pub fn granted_to(&self, id: ObjectId) -> Option<PeerId> {
        self.objects.granted_to(id)
    }

    /// How old the states of other members' objects are when they arrive.
    #[must_use]
    pub const fn ages(&self) -> &DataAges {
        &self.ages
    }

    /// The next event. The inputs for a host's game come after all other events.
    ///
    /// Each peer may fill a share of the queue: 1,024 events or a mebibyte of messages. This peer reads nothing more
    /// of a peer whose share is full until this method has returned `None`. Reliable messages of that peer are not
    /// lost meanwhile, and other peers are read. Of its unreliable messages the latest 256 wait. If a game never
    /// polls, the others go on without this peer.
    pub fn poll_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.core.out.events.poll() {
                return Some(event);
            }
            let stalled = self.core.out.events.take_stalled();
            if stalled.is_empty() {
                return self.inputs.poll(&self.core);
            }
            stalled.into_iter().for_each(|peer| self.hear(self.core.now, peer));
        }
    }

    /// A counter that grows with everything that happens here, except the arrival of object states and acks. While it
    /// stays the same, so do the view, the host and this peer's role.
    #[must_use]
    pub const fn stirs(&self) -> u64 {
        self.core.stirs
    }

    /// Whether this peer's own network seems to be cut. It seems so when the connection to the relay is open but
    /// silent, and every member is silent, too. This stays `true` until the relay or a member is heard again.
    #[must_use]
    pub const fn is_cut_off(&self) -> bool {
        self.core.watch.reach.is_cut_off()
    }
}
