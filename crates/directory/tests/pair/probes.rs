//! The time of a probe begins when the probe has left the relay (PROTOCOL §5.5).

use samovar_directory::limits::{PROBE_WITHIN, PROBE_WITHIN_OF_FAR};
use samovar_wire::relay::ToRelay;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, almost, millis, term};

/// A game of four whose host does not answer by itself, while seat 1 misses the host. Also returns the number of the
/// host's probe.
fn missed() -> (World, u64) {
    let mut world = World::with_members(4);
    world.directory.set_reports_probes(true);
    world.run_for(millis(2_500));
    world.seats[0].frozen = true;
    world.said.clear();
    world.miss(1, 1);
    let host = world.seats[0].conn.expect("connected");
    let asked = world.said.iter().rev().find_map(|(conn, message)| match message {
        samovar_wire::relay::FromRelay::Probe(nonce) if *conn == host => Some(*nonce),
        _ => None,
    });
    (world, asked.expect("the host is asked"))
}

#[test]
fn a_host_is_not_deposed_while_its_probe_waits_in_the_relay() {
    let (mut world, nonce) = missed();
    world.run_for(PROBE_WITHIN + millis(300));
    assert!(world.issued(2).is_empty());
    let (now, host) = (world.now, world.seats[0].conn.expect("connected"));
    world.directory.handle_probe_sent(now, host, nonce);
    world.run_for(almost(PROBE_WITHIN));
    assert!(world.issued(2).is_empty(), "its time begins when it has left");
    world.raw_send(host, &ToRelay::Alive(nonce));
    world.hear_host(1);
    world.run_for(PROBE_WITHIN_OF_FAR);
    assert_eq!(world.warrant(1).term, term(1));
}

#[test]
fn a_probe_that_never_leaves_the_relay_still_times_out() {
    let (mut world, _) = missed();
    world.run_for(almost(PROBE_WITHIN_OF_FAR));
    assert!(world.issued(2).is_empty());
    world.run_for(millis(100));
    assert_eq!(world.issued(2).len(), 3 + 1);
}
