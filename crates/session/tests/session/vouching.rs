//! Members that the relay vouches for (PROTOCOL §5.8).

use samovar_session::{EndReason, Event, Rules, SessionConfig};
use samovar_wire::view::SPECTATOR;
use samovar_wire::{CloseCode, PeerId, SessionId, Vouched, Voucher};

use crate::world::World;

/// A world whose host the relay vouches for, with room for spectators.
fn world() -> (World, PeerId) {
    let mut world = World::with_rules(3, 0, Rules { spectators: 2, ..Rules::default() });
    let host = world.host();
    let pass = world.voucher(host, Vouched::default());
    world.peers.clear();
    let config = world.config(Vec::new());
    let config = SessionConfig { me: host, voucher: Some(Box::new(pass)), ..config };
    world.join_as(config);
    world.run(100);
    (world, host)
}

impl World {
    fn host(&self) -> PeerId {
        *self.peers.keys().next().expect("a host")
    }

    fn voucher(&self, peer: PeerId, vouched: Vouched) -> Voucher {
        self.witness.signatory.voucher(SessionId(7), peer, vouched)
    }

    /// A newcomer joins with this pass.
    fn join_with(&mut self, pass: impl FnOnce(&Self, PeerId) -> Option<Voucher>) -> PeerId {
        let config = self.config(Vec::new());
        let pass = pass(self, config.me);
        let me = self.join_as(SessionConfig { voucher: pass.map(Box::new), ..config });
        self.run(1_000);
        me
    }

    fn refusal(&self, peer: PeerId) -> Option<CloseCode> {
        self.events[&peer].iter().find_map(|event| match event {
            Event::Ended(EndReason::Refused(code)) => Some(*code),
            _ => None,
        })
    }
}

/// The voucher that a newcomer shows.
type Shown<'a> = &'a dyn Fn(&World, PeerId) -> Option<Voucher>;

fn named(name: &str, watches: Option<bool>) -> Vouched {
    Vouched { name: Some(name.to_owned()), watches }
}

#[test]
fn name_and_role_are_those_that_the_relay_vouches_for() {
    let (mut world, host) = world();
    let ann = world.join_with(|world, me| Some(world.voucher(me, named("Ann", None))));
    let eve = world.join_with(|world, me| Some(world.voucher(me, named("Eve", Some(true)))));
    for (peer, name, watches) in [(ann, "Ann", false), (eve, "Eve", true)] {
        assert!(world.peers[&peer].is_member());
        let view = world.peers[&host].view();
        let member = view.members().find(|member| member.peer == peer).expect("a member");
        assert_eq!((&*member.record.name, member.record.attributes & SPECTATOR != 0), (name, watches));
    }
}

#[test]
fn a_vouched_player_cannot_make_itself_a_spectator() {
    let (mut world, host) = world();
    let config = world.config(Vec::new());
    let me = config.me;
    let pass = Some(world.voucher(me, named("Ann", Some(false))));
    world.join_as(SessionConfig { voucher: pass.map(Box::new), attributes: SPECTATOR | 5, ..config });
    world.run(1_000);
    let view = world.peers[&host].view();
    let member = view.members().find(|member| member.peer == me).expect("a member");
    assert_eq!(member.record.attributes, 5);
}

#[test]
fn a_vouched_host_refuses_those_without_a_voucher_of_their_own() {
    let (mut world, _) = world();
    let forge =
        |world: &World, me| Voucher { vouched: named("Ann", None), ..world.voucher(me, named("Eve", None)) };
    let other_session =
        |world: &World, me| world.witness.signatory.voucher(SessionId(8), me, Vouched::default());
    let passes: [Shown<'_>; 4] = [
        &|_, _| None,
        &|world, me| Some(forge(world, me)),
        &|world, me| Some(world.voucher(PeerId(me.0 + 50), Vouched::default())),
        &|world, me| Some(other_session(world, me)),
    ];
    for pass in passes {
        let eve = world.join_with(pass);
        assert!(!world.peers.get(&eve).is_some_and(|session| session.is_member()));
        assert_eq!(world.refusal(eve), Some(CloseCode::NotVouched));
    }
}

#[test]
fn the_next_host_asks_for_passes_too() {
    let (mut world, host) = world();
    let ann = world.join_with(|world, me| Some(world.voucher(me, named("Ann", None))));
    world.kill(host);
    world.run(3_000);
    assert!(world.peers[&ann].is_host());
    let eve = world.join_with(|_, _| None);
    assert_eq!(world.refusal(eve), Some(CloseCode::NotVouched));
}
