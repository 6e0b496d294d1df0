//! One roster, or a few that hear each other: claims, votes, leases, sleep, hand-over.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod leases;
mod succession;
mod votes;

use samovar_roster::authority::Signatory;
use samovar_roster::{Act, Lives, Roster, View};
use samovar_wire::control::{Hello, Opinion, Vote};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::{PeerId, SessionId, SortedSet, Term, TicketHash, Time, Warrant};

const RELAY: [u8; 32] = [5; 32];
const VOTED: Term = Term(257);

fn warrant(term: u64, host: u32) -> Warrant {
    Signatory::new(&RELAY).warrant(SessionId(1), Term(term << 8), PeerId(host))
}

fn roster(me: u32) -> Roster {
    Roster::new(PeerId(me), Signatory::new(&RELAY).key(), warrant(1, 1)).unwrap()
}

/// Members 1 to 4; 1 hosts, 2 is its backup.
fn view() -> View {
    view_of(4)
}

/// Members 1 to `count`; 1 hosts, 2 is its backup.
fn view_of(count: u32) -> View {
    let mut view = View::founding(8);
    for n in 1..=count {
        let (name, ticket) = (String::new(), TicketHash([n as u8; 16]));
        let hello = Hello {
            version: 1,
            params: 0,
            name,
            attributes: 0,
            ticket,
            resume: [None; RESUME_MAX],
            voucher: None,
        };
        view.admit(Time::ZERO, PeerId(n), &hello).unwrap();
    }
    view.name_backup(PeerId(1), None, |_| true);
    view.begin_electorate(|_| true);
    view
}

fn at(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

/// Lets a peer watch at `ms`, while it misses the peers in `gone`. Returns its acts.
fn look(roster: &mut Roster, ms: u64, gone: &[u32]) -> Vec<Act> {
    look_in(&view(), roster, ms, gone)
}

/// Like [`look`], in another view.
fn look_in(view: &View, roster: &mut Roster, ms: u64, gone: &[u32]) -> Vec<Act> {
    let missed: SortedSet<_> = gone.iter().copied().map(PeerId).collect();
    roster.watch(at(ms), view, Lives { missed: &missed, doubted: &missed });
    core::iter::from_fn(|| roster.poll_act()).collect()
}

/// The opinion of a member that misses its host, and does not reach the relay.
fn misses(term: Term, host: u32) -> Opinion {
    Opinion { missed: true, ..lives_under(term, host) }
}

/// The opinion of a member that hears its host.
fn lives_under(term: Term, host: u32) -> Opinion {
    Opinion::content(term, PeerId(host))
}

/// This opinion with a vote for `candidate`.
fn votes_for(opinion: Opinion, term: Term, candidate: u32) -> Opinion {
    let vote = Some(Vote { term, candidate: PeerId(candidate), electorate: 1 });
    Opinion { vote, ..opinion }
}

fn claims(acts: &[Act]) -> Vec<(u64, u32)> {
    let claim = |act: &Act| match act {
        Act::Claim(term, peer) => Some((term.0, peer.0)),
        _ => None,
    };
    acts.iter().filter_map(claim).collect()
}

/// The living members among 1 to 4 miss the host and hear each other's opinions for 20 ms. Returns the term and the
/// host of each.
fn elect(living: &[u32], gone: &[u32]) -> Vec<(u64, u32)> {
    let mut rosters: Vec<_> = living.iter().map(|&n| roster(n)).collect();
    rosters.iter_mut().for_each(|roster| roster.set_relay(at(0), false));
    for ms in 0..20 {
        let all: Vec<_> = rosters.iter_mut().map(|roster| look(roster, ms, gone)).collect();
        for (n, act) in living.iter().zip(all).flat_map(|(&n, acts)| acts.into_iter().map(move |a| (n, a))) {
            let Act::Tell(opinion) = act else { continue };
            for (_, roster) in living.iter().zip(&mut rosters).filter(|(m, _)| **m != n) {
                roster.handle_opinion(PeerId(n), opinion);
            }
        }
    }
    rosters.iter().map(|roster| (roster.term().0, roster.host().0)).collect()
}
