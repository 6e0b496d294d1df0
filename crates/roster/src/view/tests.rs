use super::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn hello(name: &str, resume: Option<Ticket>) -> Hello {
    Hello { version: 1, params: 0, name: name.to_owned(), attributes: 0, resume }
}

fn view(members: u32) -> (View, Vec<Admission>) {
    let mut entropy = Entropy::new([1; 32]);
    let mut view = View::founding(8);
    let admit = |n| view.admit(Time::ZERO, PeerId(n), &hello("x", None), &mut entropy).unwrap();
    let admissions = (1..=members).map(admit).collect();
    (view, admissions)
}

#[test]
fn a_view_comes_back_from_its_fields() {
    let (view, _) = view(5);
    let fields = view.to_fields();
    assert_eq!(View::from_fields(fields.iter().map(|f| &f[..])), Ok(view));
    assert!(fields.iter().all(|f| f.len() <= 255));
}

#[test]
fn a_ticket_takes_its_seat_back_once_and_the_old_peer_yields() {
    let (mut view, admissions) = view(3);
    view.name_backup(PeerId(1), None, |_| true);
    let mut entropy = Entropy::new([2; 32]);
    let again = hello("", Some(admissions[1].ticket));
    let back = view.admit(Time::ZERO, PeerId(9), &again, &mut entropy).unwrap();
    assert_eq!((back.seat, back.yields), (admissions[1].seat, Some(PeerId(2))));
    assert_eq!(view.backup(), None, "who yields is a backup no longer");
    let thief = view.admit(Time::ZERO, PeerId(10), &again, &mut entropy).unwrap();
    assert_ne!(thief.seat, back.seat, "a ticket works once");
}

#[test]
fn who_asks_again_keeps_its_seat_whatever_ticket_it_shows() {
    let (mut view, admissions) = view(3);
    let again = hello("", Some(admissions[1].ticket));
    let back = view.admit(Time::ZERO, PeerId(3), &again, &mut Entropy::new([2; 32])).unwrap();
    assert_eq!((back.seat, back.yields), (admissions[2].seat, None));
    assert_ne!(back.ticket, admissions[2].ticket);
    assert_eq!(view.members().count(), 3);
}

#[test]
fn the_number_of_a_view_may_be_at_its_end() {
    let (mut view, _) = view(3);
    view.header.number = u64::MAX;
    assert!(view.vacate(Time::ZERO, PeerId(2)));
    assert_eq!(view.number(), 0);
}

#[test]
fn backups_go_round_the_list() {
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
fn backups_go_round_the_list_whatever_ids_they_have_and_whoever_has_gone() {
    let mut view = View::founding(8);
    for id in [50, 90, 20, 70] {
        view.admit(Time::ZERO, PeerId(id), &hello("P", None), &mut Entropy::new([4; 32])).unwrap();
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
fn no_more_come_back_by_tickets_than_a_view_holds() {
    let (mut view, mut entropy) = (View::founding(MEMBERS_MAX as u8), Entropy::new([4; 32]));
    let admitted = (1..=MEMBERS_MAX as u32)
        .map(|id| view.admit(Time::ZERO, PeerId(id), &hello("P", None), &mut entropy).unwrap());
    let ticket = admitted.last().unwrap().ticket;
    view.vacate(Time::ZERO, PeerId(MEMBERS_MAX as u32));
    view.admit(Time::ZERO, PeerId(99), &hello("new", None), &mut entropy).unwrap();
    let back = hello("back", Some(ticket));
    assert_eq!(view.admit(Time::ZERO, PeerId(98), &back, &mut entropy).unwrap_err(), CloseCode::Full);
    view.vacate(Time::ZERO, PeerId(99));
    assert!(view.admit(Time::ZERO, PeerId(98), &back, &mut entropy).is_ok(), "the ticket was not used");
    view.begin_electorate(|_| true);
    assert!(View::from_fields(view.to_fields().iter().map(Vec::as_slice)).is_ok());
}

#[test]
fn the_backup_is_first_in_line_then_visible_pages() {
    let (mut view, _) = view(4);
    view.set_standing(PeerId(2), Standing { presence: Presence::Hidden, reach: 3 });
    view.name_backup(PeerId(1), Some(SeatId(3)), |_| true);
    assert_eq!(view.succession(PeerId(1)), [PeerId(4), PeerId(3), PeerId(2)]);
    view.name_backup(PeerId(1), Some(SeatId(1)), |p| p == PeerId(2));
    assert_eq!(view.succession(PeerId(1)), [PeerId(4), PeerId(2), PeerId(3)]);
}

#[test]
fn a_member_that_stands_still_comes_last() {
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
fn the_electorate_follows_the_members_one_at_a_time_and_only_when_most_of_it_knows() {
    let (mut view, _) = view(3);
    view.begin_electorate(|_| true);
    view.admit(Time::ZERO, PeerId(9), &hello("new", None), &mut Entropy::new([4; 32])).unwrap();
    view.vacate(Time::ZERO, PeerId(2));
    assert!(!view.step_electorate(|peer| peer == PeerId(1)), "one of three holds it");
    assert!(view.step_electorate(|peer| peer != PeerId(2)));
    assert_eq!(view.electorate().peers, [PeerId(1), PeerId(3)]);
    assert!(!view.step_electorate(|peer| peer == PeerId(1)), "one of two is no majority");
    assert!(view.step_electorate(|_| true));
    assert_eq!(view.electorate().peers, [PeerId(1), PeerId(3), PeerId(9)]);
    assert!(!view.step_electorate(|_| true), "it is as the members are");
    assert_eq!(view.electorate().number, 3);
}

#[test]
fn of_two_who_are_gone_the_electorate_drops_one_after_the_other() {
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
fn a_full_session_admits_nobody_but_keeps_seats_of_members_who_are_away() {
    let (mut view, admissions) = view(8);
    let mut entropy = Entropy::new([3; 32]);
    let newcomer = hello("new", None);
    assert_eq!(view.admit(Time::ZERO, PeerId(99), &newcomer, &mut entropy), Err(CloseCode::Full));
    assert!(view.vacate(Time::ZERO, PeerId(3)));
    view.admit(Time::ZERO, PeerId(99), &newcomer, &mut entropy).unwrap();
    let back = hello("", Some(admissions[2].ticket));
    assert_eq!(view.admit(Time::ZERO, PeerId(100), &back, &mut entropy).unwrap().seat, admissions[2].seat);
    let grace = Duration::from_millis(60_000);
    assert!(!view.expire(Time::ZERO + grace, grace), "nobody is away any more");
    assert!(view.vacate(Time::ZERO, PeerId(99)));
    assert!(!view.expire(Time::from_micros(59_999_999), grace) && view.expire(Time::ZERO + grace, grace));
}
