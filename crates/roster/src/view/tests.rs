use super::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The ticket that a peer draws.
fn ticket(peer: u32) -> ShownTicket {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&peer.to_le_bytes());
    ShownTicket(bytes)
}

fn hello(peer: u32, resume: Option<ShownTicket>) -> Hello {
    let ticket = ticket(peer).hash();
    Hello {
        version: 1,
        params: 0,
        name: format!("P{peer}"),
        attributes: 0,
        ticket,
        resume: [resume, None, None, None],
        voucher: None,
    }
}

fn admit(view: &mut View, peer: u32, resume: Option<ShownTicket>) -> Result<Admission, CloseCode> {
    view.admit(Time::ZERO, PeerId(peer), &hello(peer, resume))
}

fn view(members: u32) -> (View, Vec<Admission>) {
    let mut view = View::founding(8);
    let admissions = (1..=members).map(|peer| admit(&mut view, peer, None).unwrap()).collect();
    (view, admissions)
}

#[test]
fn view_survives_its_encoding_as_fields() {
    let (view, _) = view(5);
    let fields = view.to_fields();
    assert_eq!(View::from_fields(fields.iter().map(|f| &f[..])), Ok(view));
    assert!(fields.iter().all(|f| f.len() <= 255));
}

#[test]
fn ticket_takes_its_seat_back_once_and_replaces_the_old_peer() {
    let (mut view, admissions) = view(3);
    view.name_backup(PeerId(1), None, |_| true);
    let back = admit(&mut view, 9, Some(ticket(2))).unwrap();
    assert_eq!((back.seat, back.yields), (admissions[1].seat, Some(PeerId(2))));
    assert_eq!(view.backup(), None, "a peer that yields is no longer a backup");
    let thief = admit(&mut view, 10, Some(ticket(2))).unwrap();
    assert_ne!(thief.seat, back.seat, "a ticket works once");
}

#[test]
fn a_player_back_has_its_present_name_and_its_former_role() {
    let (mut view, _) = view(2);
    let back =
        Hello { name: "Ann".to_owned(), attributes: 7 | SPECTATOR | LEFT, ..hello(5, Some(ticket(2))) };
    let admitted = view.admit(Time::ZERO, PeerId(5), &back).unwrap();
    let record = view.seats().find(|record| record.seat == admitted.seat).unwrap();
    assert_eq!((record.name.as_str(), record.attributes, record.peer), ("Ann", 7, Some(PeerId(5))));
}

#[test]
fn rules_limit_spectators_except_those_that_come_back() {
    let (mut view, _) = view(2);
    let watch = |peer, resume| Hello { attributes: SPECTATOR, ..hello(peer, resume) };
    let refuses =
        |view: &View, peer, resume, most| view.refuses_spectator(PeerId(peer), &watch(peer, resume), most);
    assert!(refuses(&view, 3, None, 0) && !refuses(&view, 3, None, 1));
    view.admit(Time::ZERO, PeerId(3), &watch(3, None)).unwrap();
    assert!(refuses(&view, 4, None, 1));
    assert!(!refuses(&view, 4, Some(ticket(3)), 1), "it has a seat");
    assert!(!view.refuses_spectator(PeerId(5), &hello(5, None), 0), "it plays");
}

#[test]
fn spectators_and_players_have_separate_places() {
    let mut view = View::founding(30);
    let watch = |view: &mut View, peer| {
        let hello = Hello { attributes: SPECTATOR, ..hello(peer, None) };
        view.admit(Time::ZERO, PeerId(peer), &hello).map(drop)
    };
    assert_eq!([1, 2, 3].map(|peer| watch(&mut view, peer)), [Ok(()), Ok(()), Err(CloseCode::Full)]);
    for peer in 101..=130 {
        assert!(admit(&mut view, peer, None).is_ok(), "{peer}");
    }
    assert_eq!(admit(&mut view, 131, None).map(drop), Err(CloseCode::Full));
    assert!(view.vacate(Time::ZERO, PeerId(101)));
    assert_eq!(watch(&mut view, 4), Err(CloseCode::Full));
    assert!(admit(&mut view, 132, None).is_ok());
}

#[test]
fn a_seated_peer_keeps_its_seat_with_any_ticket() {
    let (mut view, admissions) = view(3);
    let back = admit(&mut view, 3, Some(ticket(2))).unwrap();
    assert_eq!((back.seat, back.yields), (admissions[2].seat, None));
    assert_eq!(view.members().count(), 3);
}

#[test]
fn ticket_hash_of_another_seat_is_refused() {
    let (mut view, admissions) = view(3);
    assert!(view.vacate(Time::ZERO, PeerId(2)));
    for peer in [3, 4] {
        let copied = Hello { ticket: ticket(2).hash(), ..hello(peer, None) };
        assert_eq!(view.admit(Time::ZERO, PeerId(peer), &copied), Err(CloseCode::BadTicket));
    }
    assert_eq!(admit(&mut view, 9, Some(ticket(2))).unwrap().seat, admissions[1].seat);
}

#[test]
fn number_of_a_view_wraps_at_its_maximum() {
    let (mut view, _) = view(3);
    view.header.number = u64::MAX;
    assert!(view.vacate(Time::ZERO, PeerId(2)));
    assert_eq!(view.number(), 0);
}

#[test]
fn backups_are_named_in_turn() {
    let (mut view, _) = view(4);
    assert_eq!(view.name_backup(PeerId(1), None, |_| true), Some(PeerId(2)));
    for expected in [3, 4, 2, 3] {
        let former = view.backup().unwrap();
        assert!(view.dismiss_backup(former));
        let seat = view.member(former).unwrap().record.seat;
        assert!(view.name_backup(PeerId(1), Some(seat), |p| p != former).is_some());
        assert_eq!(view.backup(), Some(PeerId(expected)));
    }
}

#[test]
fn backups_are_named_in_order_of_seats_despite_departures() {
    let mut view = View::founding(8);
    for id in [50, 90, 20, 70] {
        admit(&mut view, id, None).unwrap();
    }
    let (mut named, mut last) = (Vec::new(), None);
    for round in 0..6 {
        let backup = view.name_backup(PeerId(50), last, |_| true).unwrap();
        last = view.member(backup).map(|member| member.record.seat);
        named.push(backup.0);
        view.dismiss_backup(backup);
        if round == 3 {
            view.vacate(Time::ZERO, backup);
        }
    }
    assert_eq!(named, [90, 20, 70, 90, 20, 70]);
}

#[test]
fn tickets_admit_no_more_members_than_a_view_holds() {
    let (mut view, most) = (View::founding(MEMBERS_MAX as u8), MEMBERS_MAX as u32);
    (1..=most).for_each(|peer| _ = admit(&mut view, peer, None).unwrap());
    view.vacate(Time::ZERO, PeerId(most));
    admit(&mut view, 99, None).unwrap();
    assert_eq!(admit(&mut view, 98, Some(ticket(most))), Err(CloseCode::Full));
    view.vacate(Time::ZERO, PeerId(99));
    assert!(admit(&mut view, 98, Some(ticket(most))).is_ok(), "the ticket was not used");
    view.begin_electorate(|_| true);
    assert!(View::from_fields(view.to_fields().iter().map(Vec::as_slice)).is_ok());
}

#[test]
fn succession_begins_with_backups_and_then_visible_pages() {
    let (mut view, _) = view(4);
    view.set_standing(PeerId(2), Standing { presence: Presence::Hidden, reach: 3 });
    view.name_backup(PeerId(1), Some(SeatId(3)), |_| true);
    assert_eq!(view.succession(PeerId(1)), [PeerId(4), PeerId(3), PeerId(2)]);
    view.name_backup(PeerId(1), Some(SeatId(1)), |p| p == PeerId(2));
    assert_eq!(view.succession(PeerId(1)), [PeerId(4), PeerId(2), PeerId(3)]);
}

#[test]
fn member_whose_game_stands_still_is_last_in_succession() {
    let (mut view, _) = view(4);
    let still = Standing { presence: Presence::Still, reach: 3 };
    view.name_backup(PeerId(1), None, |p| p == PeerId(2));
    view.set_standing(PeerId(2), still);
    view.set_standing(PeerId(3), Standing { presence: Presence::Hidden, reach: 0 });
    assert_eq!(view.succession(PeerId(1)), [PeerId(4), PeerId(3), PeerId(2)], "a backup, too");
    view.dismiss_backup(PeerId(2));
    assert_eq!(view.name_backup(PeerId(1), None, |p| p != PeerId(4)), Some(PeerId(3)));
    view.dismiss_backup(PeerId(3));
    assert_eq!(view.name_backup(PeerId(1), None, |p| p == PeerId(2)), Some(PeerId(2)), "before nobody");
}

#[test]
fn electorate_changes_by_one_peer_if_a_majority_knows_it() {
    let (mut view, _) = view(3);
    view.begin_electorate(|_| true);
    admit(&mut view, 9, None).unwrap();
    view.vacate(Time::ZERO, PeerId(2));
    assert!(!view.step_electorate(|peer| peer == PeerId(1)), "one of three holds it");
    assert!(view.step_electorate(|peer| peer != PeerId(2)));
    assert_eq!(view.electorate().peers, [PeerId(1), PeerId(3)]);
    assert!(!view.step_electorate(|peer| peer == PeerId(1)), "one of two is no majority");
    assert!(view.step_electorate(|_| true));
    assert_eq!(view.electorate().peers, [PeerId(1), PeerId(3), PeerId(9)]);
    assert!(!view.step_electorate(|_| true), "it equals the members");
    assert_eq!(view.electorate().number, 3);
}

#[test]
fn electorate_drops_members_that_are_gone_one_at_a_time() {
    let (mut view, _) = view(5);
    view.begin_electorate(|_| true);
    view.vacate(Time::ZERO, PeerId(2));
    view.vacate(Time::ZERO, PeerId(4));
    assert!(view.step_electorate(|_| true));
    assert_eq!(view.electorate().peers, [1, 3, 4, 5].map(PeerId));
    assert!(view.step_electorate(|_| true));
    assert_eq!(view.electorate().peers, [1, 3, 5].map(PeerId));
}

#[test]
fn full_session_keeps_the_seats_of_members_that_are_away() {
    let (mut view, admissions) = view(8);
    assert_eq!(admit(&mut view, 99, None), Err(CloseCode::Full));
    assert!(view.vacate(Time::ZERO, PeerId(3)));
    admit(&mut view, 99, None).unwrap();
    assert_eq!(admit(&mut view, 100, Some(ticket(3))).unwrap().seat, admissions[2].seat);
    let grace = Duration::from_millis(60_000);
    assert!(!view.expire(Time::ZERO + grace, grace), "no member is away any more");
    assert!(view.vacate(Time::ZERO, PeerId(99)));
    assert!(!view.expire(Time::from_micros(59_999_999), grace) && view.expire(Time::ZERO + grace, grace));
}

#[test]
fn only_the_relays_own_peers_have_the_relays_name() {
    let own = PeerId::OWN_FROM.0 + 5;
    let mut view = View::founding(8);
    for (peer, name) in [(1, "Ann"), (own, name::RELAY), (2, "the  RELAY\u{200b}")] {
        let hello = Hello { name: name.to_owned(), ..hello(peer, None) };
        view.admit(Time::ZERO, PeerId(peer), &hello).unwrap();
    }
    let names = |view: &View| view.seats().map(|seat| seat.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&view), ["Ann", name::RELAY, NOT_RELAY]);
    // A peer that takes the relay's seat by its ticket does not get the relay's name.
    let thief = Hello { name: name::RELAY.to_owned(), ..hello(3, Some(ticket(own))) };
    view.admit(Time::ZERO, PeerId(3), &thief).unwrap();
    assert_eq!(names(&view), ["Ann", NOT_RELAY, NOT_RELAY]);
    // Members replace the relay's name even where the host wrote it.
    for record in view.seats.iter_mut().flatten() {
        name::RELAY.clone_into(&mut record.name);
    }
    let fields = view.to_fields();
    let read = View::from_fields(fields.iter().map(|field| &field[..])).unwrap();
    assert_eq!(names(&read), [NOT_RELAY; 3]);
}
