//! A directory's events for logs: which peers entered, and how long a session was without its host.

use samovar_directory::limits::PROBE_WITHIN;
use samovar_directory::{HostChange, Note};
use samovar_wire::Duration;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, millis, seconds};

impl World {
    /// The causes of host changes, and how long their sessions had no host.
    fn host_changes(&self) -> Vec<(HostChange, Option<Duration>)> {
        let changes = self.notes.iter().filter_map(|note| match note {
            Note::HostChanged { cause, recovery, .. } => Some((*cause, *recovery)),
            _ => None,
        });
        changes.collect()
    }
}

#[test]
fn every_entry_into_a_game_is_noted() {
    let mut world = World::with_members(2);
    world.drop_socket(1);
    world.run_for(seconds(2));
    let entered = world.notes.iter().filter_map(|note| match note {
        Note::Entered { peer, .. } => Some(*peer),
        _ => None,
    });
    assert_eq!(entered.collect::<Vec<_>>(), [world.peer(0), world.peer(1), world.peer(1)]);
    assert_eq!(world.host_changes(), [], "a founder succeeds nobody");
}

#[test]
fn recovery_time_counts_from_the_end_of_the_connection() {
    let mut world = World::with_members(3);
    // A claim waits until the reserve is on disk.
    world.disk_works = false;
    world.kill(0);
    world.run_for(millis(300));
    world.miss(1, 2);
    world.run_for(millis(50));
    world.write();
    assert_eq!(world.host_changes(), [(HostChange::Disconnected, Some(millis(350)))]);
}

#[test]
fn recovery_time_counts_from_the_first_claim() {
    let mut world = World::with_members(4);
    world.name_members(0, &[0, 1, 2, 3]);
    world.seats[0].frozen = true;
    world.miss(1, 2);
    world.run_for(millis(60));
    world.miss(2, 2);
    world.run_for(millis(20));
    world.miss(3, 2);
    assert_eq!(world.host_changes(), [(HostChange::Missed, Some(millis(80)))]);
}

#[test]
fn a_host_change_is_noted_for_a_silent_host_not_a_live_one() {
    let mut world = World::with_members(4);
    world.name_members(0, &[0, 1, 2, 3]);
    world.miss(1, 2);
    world.hear_host(1);
    world.run_for(seconds(5));
    assert_eq!(world.host_changes(), []);
    world.seats[0].frozen = true;
    world.miss(1, 2);
    world.run_for(seconds(1));
    assert_eq!(world.host_changes(), [(HostChange::Silent, Some(PROBE_WITHIN))]);
}

#[test]
fn a_hand_over_has_no_recovery_time() {
    let mut world = World::with_members(2);
    world.claim(0, 2);
    assert_eq!(world.host_changes(), [], "it renewed its term");
    world.claim_for(0, 3, 1);
    assert_eq!(world.host_changes(), [(HostChange::HandedOver, None)]);
}
