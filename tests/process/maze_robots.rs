//! Native robots play the maze, and go on when the process of their host is killed.

use samovar_tests::bots::Bots;
use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Maze, Status};

fn maze(status: &Status) -> &Maze {
    status.maze.as_ref().expect("robots of a maze play the maze")
}

/// Whether two members have stepped a frame to the same state. Fails if they have stepped one to different states.
fn are_in_step(one: &Status, other: &Status) -> bool {
    let mut shared = 0;
    for (frame, checksum) in &maze(one).checksums {
        if let Some((_, theirs)) = maze(other).checksums.iter().find(|(theirs, _)| theirs == frame) {
            assert_eq!(checksum, theirs, "behind frame {frame}");
            shared += 1;
        }
    }
    shared > 0
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_join_a_maze_by_code_and_outlive_their_host() {
    let relay = Relay::start();
    let (here, address) = (Place::here(), format!("http://{}", relay.address()));
    let (mut host, code) = Bots::found_behind(&here, &address, &["--mode", "maze"], "auto").await;
    // These are not told that the game is a maze.
    let mut others = Bots::start(&here, &relay, &["--game", &code, "--count", "2"]);
    let ready = |all: &[Status]| {
        all.len() == 2
            && all.iter().all(|status| {
                status.mode == "maze" && status.others().count() == 2 && maze(status).role.is_some()
            })
            && all.iter().any(Status::is_backup)
            && are_in_step(&all[0], &all[1])
    };
    let before = others.wait("three play, two of them in step", JOIN_WITHIN, ready).await;
    let roles = maze(&before[0]).roles.values().flatten().count();
    assert_eq!(roles, 3, "{:?}", maze(&before[0]).roles);
    host.kill();
    let frame = before.iter().map(|status| maze(status).frame).max().expect("two robots");
    let go_on = |all: &[Status]| {
        all.len() == 2
            && all.iter().filter(|status| status.is_host()).count() == 1
            && all.iter().all(|status| status.others().count() == 1 && maze(status).frame > frame + 90)
            && are_in_step(&all[0], &all[1])
    };
    let after = others.wait("two go on in step", SETTLE_WITHIN, go_on).await;
    let moved =
        maze(&after[0]).places.iter().filter(|(role, place)| maze(&before[0]).places[*role] != **place);
    assert!(moved.count() > 1, "the robots drive: {:?}", maze(&after[0]).places);
    assert_eq!(after.iter().map(|status| maze(status).desyncs).sum::<u64>(), 0);
}
