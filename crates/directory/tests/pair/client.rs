//! The client alone: how it comes back, which messages it sends, and which relays it refuses.

use samovar_directory::limits::{CLIENT_SIGNAL_BURST, CLIENT_SIGNAL_INTERVAL, RETRY_MAX, SILENCE_MAX};
use samovar_directory::{Client, ClientConfig, ClientEvent, ClientRequest, Fault, SocketId};
use samovar_roster::authority::Signatory;
use samovar_wire::relay::{Entered, FromRelay, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Duration, PROTOCOL_VERSION, PeerId, SessionId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, code, listing, millis, seconds, term};

const SESSION: SessionId = SessionId(5);
const ME: PeerId = PeerId(8);

fn client(seed: u8) -> Client {
    let purpose = Purpose::Join(code("TEA"));
    let config =
        ClientConfig { version: PROTOCOL_VERSION, params: PARAMS, purpose, token: None, entropy: [seed; 32] };
    Client::new(Time::ZERO, config)
}

fn entered(signatory: &Signatory, peer: PeerId, n: u64, host: PeerId) -> Entered {
    Entered {
        voucher: None,
        code: code("TEA"),
        pass: signatory.pass(SESSION, peer, false),
        key: signatory.key().to_bytes(),
        warrant: signatory.warrant(SESSION, term(n), host),
        session: SESSION,
    }
}

fn hear(client: &mut Client, now: Time, message: &FromRelay) {
    client.handle_message(now, client.socket(), &RelayFrame::control(message));
}

fn hear_on(client: &mut Client, socket: SocketId, message: &FromRelay) {
    client.handle_message(Time::ZERO, socket, &RelayFrame::control(message));
}

fn said(client: &mut Client) -> Vec<ToRelay> {
    let mut said = Vec::new();
    while let Some((_, bytes)) = client.poll_transmit() {
        let Ok(RelayFrame::Control(body)) = RelayFrame::decode(&bytes) else { panic!("not control") };
        said.push(ToRelay::decode(body).expect("the client speaks the protocol"));
    }
    said
}

/// Loses the connection and opens the next.
fn reopen(client: &mut Client) -> Time {
    client.handle_closed(Time::ZERO, client.socket());
    let now = client.poll_timeout().expect("a pause");
    client.handle_timeout(now);
    client.handle_opened(now, client.socket());
    now
}

/// A client that has entered, with its first events and messages taken.
fn in_game(signatory: &Signatory, host: PeerId) -> Client {
    let mut client = client(1);
    client.handle_opened(Time::ZERO, SocketId::FIRST);
    hear(&mut client, Time::ZERO, &FromRelay::Entered(entered(signatory, ME, 1, host)));
    assert!(matches!(client.poll_event(), Some(ClientEvent::Entered(_))));
    assert_eq!(client.poll_request(), Some(ClientRequest::Open(SocketId::FIRST)));
    said(&mut client);
    client
}

#[test]
fn pauses_double_to_their_limit_with_a_replayable_jitter() {
    let pauses = |seed| {
        let (mut client, mut now) = (client(seed), Time::ZERO);
        (0..8)
            .map(|_| {
                assert_eq!(client.poll_request(), Some(ClientRequest::Open(client.socket())));
                client.handle_closed(now, client.socket());
                let next = client.poll_timeout().expect("it goes on");
                let pause = next.since(now);
                now = next;
                client.handle_timeout(now);
                pause.as_micros() / 1_000
            })
            .collect::<Vec<_>>()
    };
    let first = pauses(1);
    for (pause, base) in first.iter().zip([250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]) {
        assert!(
            (base / 2..=base * 3 / 2).contains(pause),
            "{pause} is not {base} or half as much more or less"
        );
    }
    assert_eq!(first, pauses(1));
    assert_ne!(first, pauses(2));
}

#[test]
fn a_relay_that_is_down_is_reported_once_and_entered_later() {
    let mut world = World::new();
    world.relay_up = false;
    world.create("TEA");
    world.run_for(seconds(30));
    assert_eq!(world.events(0), [ClientEvent::Lost]);
    world.relay_up = true;
    world.run_for(RETRY_MAX + RETRY_MAX);
    assert!(matches!(world.events(0)[..], [ClientEvent::Entered(_)]));
}

#[test]
fn a_silent_relay_is_lost_and_a_pulse_prevents_that() {
    let mut world = World::with_members(1);
    world.run_for(seconds(60));
    assert_eq!(world.events(0).len(), 1, "the pulse is heard");
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, ME);
    let silent = Time::ZERO + SILENCE_MAX;
    assert_eq!(client.poll_timeout(), Some(silent));
    client.handle_timeout(silent);
    assert_eq!(client.poll_request(), Some(ClientRequest::Close(client.socket())));
    assert_eq!(client.poll_event(), Some(ClientEvent::Lost));
}

#[test]
fn a_lost_client_resumes_with_the_highest_known_warrant() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, PeerId(2));
    let learnt = signatory.warrant(SESSION, term(4), PeerId(3));
    assert!(client.set_warrant(Time::ZERO, learnt));
    assert!(client.set_warrant(Time::ZERO, signatory.warrant(SESSION, term(3), PeerId(2))));
    assert!(!client.set_warrant(Time::ZERO, Signatory::new(&[2; 32]).warrant(SESSION, term(9), ME)));
    assert!(!client.set_warrant(Time::ZERO, signatory.warrant(SessionId(6), term(9), ME)));
    reopen(&mut client);
    let [ToRelay::Enter(enter)] = &said(&mut client)[..] else { panic!("one message") };
    assert_eq!(enter.purpose, Purpose::Resume(code("TEA"), signatory.pass(SESSION, ME, false), learnt));
}

#[test]
fn a_client_leaves_a_relay_that_changes_key_or_identity() {
    let (signatory, other) = (Signatory::new(&[1; 32]), Signatory::new(&[2; 32]));
    let cases = [
        (entered(&other, ME, 1, ME), Fault::KeyChanged),
        (entered(&signatory, PeerId(9), 1, ME), Fault::IdentityChanged),
        (Entered { code: code("MILK"), ..entered(&signatory, ME, 1, ME) }, Fault::IdentityChanged),
        (
            Entered { warrant: other.warrant(SESSION, term(2), ME), ..entered(&signatory, ME, 1, ME) },
            Fault::BadSignature,
        ),
    ];
    for (answer, fault) in cases {
        let mut client = in_game(&signatory, ME);
        let now = reopen(&mut client);
        hear(&mut client, now, &FromRelay::Entered(answer));
        assert_eq!(client.poll_event(), Some(ClientEvent::Lost));
        assert_eq!(client.poll_event(), Some(ClientEvent::Failed(fault)));
        assert_eq!(client.poll_request(), Some(ClientRequest::Close(client.socket())));
        assert_eq!((client.poll_request(), client.poll_timeout()), (None, None));
    }
}

#[test]
fn bad_messages_of_a_relay_end_the_client_without_a_panic() {
    let signatory = Signatory::new(&[1; 32]);
    let forged = Signatory::new(&[2; 32]).warrant(SESSION, term(2), ME);
    let mut unexpected = in_game(&signatory, ME);
    hear(&mut unexpected, Time::ZERO, &FromRelay::Entered(entered(&signatory, ME, 1, ME)));
    assert_eq!(
        unexpected.poll_event(),
        Some(ClientEvent::Lost),
        "who is in a game goes on without the relay"
    );
    assert_eq!(unexpected.poll_event(), Some(ClientEvent::Failed(Fault::Unexpected)));
    let mut deceived = in_game(&signatory, PeerId(2));
    hear(&mut deceived, Time::ZERO, &FromRelay::Issued(forged));
    assert_eq!(deceived.poll_event(), Some(ClientEvent::Lost));
    assert_eq!(deceived.poll_event(), Some(ClientEvent::Failed(Fault::BadSignature)));
    for pass in [Signatory::new(&[2; 32]).pass(SESSION, ME, true), signatory.pass(SESSION, PeerId(77), true)]
    {
        let mut deceived = in_game(&signatory, ME);
        hear(&mut deceived, Time::ZERO, &FromRelay::Pass(pass));
        assert_eq!(deceived.poll_event(), Some(ClientEvent::Lost));
        assert_eq!(deceived.poll_event(), Some(ClientEvent::Failed(Fault::BadSignature)));
    }
    let pass = Signatory::new(&[2; 32]).pass(SESSION, ME, false);
    let mut newcomer = client(1);
    newcomer.handle_opened(Time::ZERO, SocketId::FIRST);
    hear(&mut newcomer, Time::ZERO, &FromRelay::Entered(Entered { pass, ..entered(&signatory, ME, 1, ME) }));
    assert_eq!(newcomer.poll_event(), Some(ClientEvent::Failed(Fault::BadSignature)));
    let mut entropy = samovar_wire::Entropy::new([5; 32]);
    for length in 0..300 {
        let mut client = in_game(&signatory, ME);
        let bytes: Vec<u8> = (0..10).flat_map(|_| entropy.bytes()).take(length).collect();
        client.handle_message(Time::ZERO, SocketId::FIRST, &bytes);
        while client.poll_event().is_some() {}
    }
}

#[test]
fn refusals_end_a_client_unless_they_are_temporary() {
    let signatory = Signatory::new(&[1; 32]);
    for (refusal, is_named, ends) in [
        (Refusal::Busy, true, false),
        (Refusal::CodeTaken, true, false),
        (Refusal::UnknownGame, true, false),
        // In these three cases no host has named the client.
        (Refusal::Busy, false, true),
        (Refusal::CodeTaken, false, true),
        (Refusal::UnknownGame, false, true),
        (Refusal::BadPass, true, true),
        (Refusal::Version(9), true, true),
        (Refusal::Misbehaved, true, true),
    ] {
        let mut client = in_game(&signatory, ME);
        client.set_named(is_named);
        hear(&mut client, Time::ZERO, &FromRelay::Refused(refusal));
        assert_eq!(client.poll_event(), Some(ClientEvent::Lost));
        let tells = (refusal == Refusal::CodeTaken).then_some(ClientEvent::CodeTaken);
        assert_eq!(client.poll_event(), if ends { Some(ClientEvent::Refused(refusal)) } else { tells });
        assert_eq!(client.poll_timeout().is_none(), ends);
    }
    let mut newcomer = client(1);
    newcomer.handle_opened(Time::ZERO, SocketId::FIRST);
    hear(&mut newcomer, Time::ZERO, &FromRelay::Refused(Refusal::Busy));
    assert_eq!(newcomer.poll_event(), Some(ClientEvent::Refused(Refusal::Busy)));
}

#[test]
fn a_probe_is_answered_at_once() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, ME);
    hear(&mut client, Time::ZERO, &FromRelay::Probe(42));
    assert_eq!(said(&mut client), [ToRelay::Alive(42)]);
}

#[test]
fn claims_are_sent_each_time_and_lost_with_the_connection() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, PeerId(2));
    assert!(client.claim(Time::ZERO, term(2), ME), "queued, and lost with the connection before it was sent");
    let mut now = reopen(&mut client);
    assert!(!client.claim(now, term(2), ME));
    assert!(matches!(said(&mut client)[..], [ToRelay::Enter(_)]));
    hear(&mut client, now, &FromRelay::Entered(entered(&signatory, ME, 1, PeerId(2))));
    for _ in 0..20 {
        assert!(client.claim(now, term(2), PeerId(9)));
        assert_eq!(said(&mut client), [ToRelay::Claim(term(2), PeerId(9))]);
        now += millis(250);
    }
}

#[test]
fn claims_without_pause_stay_within_the_relays_limits() {
    let mut world = World::with_members(3);
    for _ in 0..2_000 {
        let (now, me) = (world.now, world.peer(1));
        assert!(world.seats[1].client.claim(now, term(2), me));
        world.settle();
        world.run_for(millis(2));
    }
    assert!(world.closed.is_empty() && world.seats[1].client.is_entered());
}

#[test]
fn only_the_host_sends_members_on_change_and_on_reconnection() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, PeerId(2));
    let members = |ids: &[u32]| ToRelay::Members(ids.iter().map(|&id| PeerId(id)).collect(), 0);
    client.set_members(Time::ZERO, vec![ME, PeerId(2), ME], 0);
    assert_eq!(said(&mut client), []);
    hear(&mut client, Time::ZERO, &FromRelay::Issued(signatory.warrant(SESSION, term(2), ME)));
    assert_eq!(said(&mut client), [members(&[8, 2])]);
    client.set_members(Time::ZERO, vec![ME, PeerId(2)], 0);
    assert_eq!(said(&mut client), []);
    client.set_members(Time::ZERO, vec![ME], 0);
    assert_eq!(said(&mut client), [members(&[8])]);
    let now = reopen(&mut client);
    said(&mut client);
    hear(&mut client, now, &FromRelay::Entered(entered(&signatory, ME, 2, ME)));
    assert_eq!(said(&mut client), [members(&[8])]);
    client.set_members(now, (1..100).map(PeerId).collect(), 0);
    let [ToRelay::Members(most, 0)] = &said(&mut client)[..] else { panic!("not members") };
    assert_eq!(most.len(), 32);
}

#[test]
fn member_lists_without_pause_stay_within_relay_limits() {
    let mut world = World::with_members(1);
    for n in 0..1_000 {
        let (now, me) = (world.now, world.peer(0));
        world.seats[0].client.set_members(now, vec![me, PeerId(n)], 0);
        world.settle();
        world.run_for(millis(2));
    }
    assert!(world.closed.is_empty() && world.seats[0].client.is_entered());
}

#[test]
fn the_pause_before_a_retry_is_short_after_every_entry() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, ME);
    let mut start = Time::ZERO;
    for _ in 0..5 {
        client.handle_closed(start, client.socket());
        let now = client.poll_timeout().expect("a pause");
        assert!(now.since(start) <= millis(375));
        client.handle_timeout(now);
        client.handle_opened(now, client.socket());
        hear(&mut client, now, &FromRelay::Entered(entered(&signatory, ME, 1, ME)));
        start = now;
    }
}

#[test]
fn only_the_host_sends_listings_at_most_twice_a_second() {
    let signatory = Signatory::new(&[1; 32]);
    let mut member = in_game(&signatory, PeerId(2));
    member.set_listing(Time::ZERO, listing(1));
    assert_eq!(said(&mut member), []);
    hear(&mut member, Time::ZERO, &FromRelay::Issued(signatory.warrant(SESSION, term(2), ME)));
    assert_eq!(said(&mut member), [ToRelay::Listing(listing(1))]);
    member.set_listing(Time::ZERO, listing(1));
    let mut sent = Vec::new();
    for step in 0..100_u64 {
        let now = Time::ZERO + millis(step * 10);
        member.set_listing(now, listing(step as u8));
        member.handle_timeout(now);
        sent.extend(said(&mut member));
    }
    assert_eq!(sent.len(), 1, "{sent:?}");
    let due = member.poll_timeout().expect("the last change is due");
    assert_eq!(due, Time::ZERO + seconds(1));
    member.handle_timeout(due);
    assert_eq!(said(&mut member), [ToRelay::Listing(listing(99))]);
    member.handle_timeout(due + seconds(1));
    assert_eq!(said(&mut member), []);
}

#[test]
fn signals_stay_within_the_relays_limits() {
    let mut world = World::with_members(2);
    let to = world.peer(1);
    for _ in 0..100 {
        let now = world.now;
        world.seats[0].client.signal(now, to, Signal::Offer(1, "v=0".to_owned()), true);
    }
    world.settle();
    assert_eq!(world.events(1).len() as u64, CLIENT_SIGNAL_BURST + 1);
    world.run_for(seconds(20));
    assert_eq!(world.events(1).len() as u64, 100 - CLIENT_SIGNAL_BURST);
    assert!(world.seats[0].client.is_entered());
}

#[test]
fn signals_to_members_overtake_those_to_others() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, ME);
    let (stranger, member) = (PeerId(77), PeerId(78));
    let offer = || Signal::Offer(1, "v=0".to_owned());
    for _ in 0..400 {
        client.signal(Time::ZERO, stranger, offer(), false);
    }
    client.signal(Time::ZERO, member, offer(), true);
    let mut said = said(&mut client);
    assert_eq!(said.len() as u64, CLIENT_SIGNAL_BURST);
    client.handle_timeout(Time::ZERO + CLIENT_SIGNAL_INTERVAL);
    said.extend(self::said(&mut client));
    assert_eq!(said.last(), Some(&ToRelay::Signal(member, offer())));
}

#[test]
fn leave_is_sent_before_the_socket_closes() {
    let signatory = Signatory::new(&[1; 32]);
    let mut client = in_game(&signatory, ME);
    let now = Time::ZERO + Duration::from_millis(5);
    client.leave(now);
    assert_eq!(client.poll_request(), None);
    assert_eq!(client.poll_timeout(), Some(now));
    assert_eq!(said(&mut client), [ToRelay::Leave]);
    client.handle_timeout(now);
    assert_eq!(client.poll_request(), Some(ClientRequest::Close(client.socket())));
    assert_eq!((client.poll_request(), client.poll_timeout(), client.poll_event()), (None, None, None));
}

/// A client that has entered and then changed its network, with its second socket open.
fn moving(signatory: &Signatory) -> (Client, SocketId, SocketId) {
    let mut client = in_game(signatory, ME);
    let first = client.socket();
    client.reconnect(Time::ZERO);
    let Some(ClientRequest::Open(second)) = client.poll_request() else { panic!("a second socket") };
    assert_eq!(client.poll_request(), None, "the first one lives on");
    client.handle_opened(Time::ZERO, second);
    let Some((socket, bytes)) = client.poll_transmit() else { panic!("it enters") };
    assert_eq!(socket, second);
    let resume = Purpose::Resume(
        code("TEA"),
        signatory.pass(SESSION, ME, false),
        signatory.warrant(SESSION, term(1), ME),
    );
    let enter = samovar_wire::relay::Enter { version: PROTOCOL_VERSION, params: PARAMS, purpose: resume };
    assert_eq!(bytes, RelayFrame::control(&ToRelay::Enter(enter)));
    (client, first, second)
}

#[test]
fn a_change_of_network_moves_the_client_to_a_new_socket() {
    let signatory = Signatory::new(&[1; 32]);
    let (mut client, first, second) = moving(&signatory);
    client.handle_message(Time::ZERO, first, &RelayFrame::control(&FromRelay::Probe(4)));
    assert_eq!(client.poll_transmit().map(|(socket, _)| socket), Some(first), "it answers as before");
    let again = RelayFrame::control(&FromRelay::Entered(entered(&signatory, ME, 1, ME)));
    client.handle_message(Time::ZERO, second, &again);
    assert_eq!((client.socket(), client.is_entered()), (second, true));
    // Messages that the relay sent earlier on the first socket still arrive, and then that socket closes.
    client.handle_message(
        Time::ZERO,
        first,
        &RelayFrame::forward(PeerId(2), samovar_wire::Mode::Unreliable, &[7]),
    );
    client.handle_closed(Time::ZERO, first);
    assert_eq!(client.poll_event(), Some(ClientEvent::Moved));
    assert!(matches!(client.poll_event(), Some(ClientEvent::Forwarded { .. })));
    assert_eq!((client.poll_event(), client.is_entered()), (None, true), "the relay was never lost");
}

#[test]
fn a_failed_new_socket_leaves_the_old_one_in_use() {
    let signatory = Signatory::new(&[1; 32]);
    let (mut client, first, second) = moving(&signatory);
    let pulse = RelayFrame::control(&FromRelay::Pulse);
    client.handle_message(Time::ZERO + millis(10), first, &pulse);
    client.handle_closed(Time::ZERO + millis(20), second);
    assert_eq!(client.poll_request(), Some(ClientRequest::Close(second)));
    assert_eq!((client.socket(), client.is_settled(), client.poll_event()), (first, true, None));
    let mut refused = moving(&signatory);
    hear_on(&mut refused.0, refused.2, &FromRelay::Refused(Refusal::Busy));
    assert_eq!((refused.0.socket(), refused.0.is_entered(), refused.0.poll_event()), (first, true, None));
}

#[test]
fn a_client_whose_old_socket_fails_waits_for_the_new_one() {
    let signatory = Signatory::new(&[1; 32]);
    let (mut client, first, second) = moving(&signatory);
    client.handle_closed(Time::ZERO, first);
    assert_eq!(client.poll_event(), None, "the relay may have let it in already");
    hear_on(&mut client, second, &FromRelay::Entered(entered(&signatory, ME, 1, ME)));
    assert_eq!(client.poll_event(), Some(ClientEvent::Moved));
    assert_eq!(client.socket(), second);
    let (mut client, first, second) = moving(&signatory);
    client.handle_closed(Time::ZERO, first);
    client.handle_closed(Time::ZERO, second);
    assert_eq!(client.poll_event(), Some(ClientEvent::Lost));
}

#[test]
fn a_new_socket_is_retried_while_the_old_one_is_silent() {
    let signatory = Signatory::new(&[1; 32]);
    let (mut client, first, second) = moving(&signatory);
    client.handle_closed(Time::ZERO, second);
    assert_eq!(client.poll_request(), Some(ClientRequest::Close(second)));
    let again = client.poll_timeout().expect("a pause");
    assert!(again.since(Time::ZERO) <= millis(375) && client.socket() == first);
    client.handle_timeout(again);
    assert!(matches!(client.poll_request(), Some(ClientRequest::Open(third)) if third > second));
}

#[test]
fn a_member_that_moves_is_never_reported_gone() {
    let mut world = World::with_members(3);
    world.said.clear();
    world.events(0);
    let now = world.now;
    world.seats[0].client.reconnect(now);
    world.settle();
    world.run_for(seconds(5));
    assert!(world.seats[0].client.is_settled());
    let gone =
        world.said.iter().any(|(_, message)| matches!(message, FromRelay::Gone(_) | FromRelay::Successor(_)));
    assert!(!gone);
    assert_eq!(world.events(0), [ClientEvent::Moved]);
    assert_eq!(world.directory.usage().connections, 3, "the former socket is closed");
}
