//! The process of the host is killed in the middle of a duel between robots.

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Id, Status};

/// The number of hosts killed over each kind of path.
const ROUNDS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn robot_goes_on_over_the_relay_after_its_host_is_killed() {
    hosts_die("relayed", "relayed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn robot_goes_on_over_direct_links_after_its_host_is_killed() {
    hosts_die("auto", "direct").await;
}

async fn hosts_die(wish: &str, path: &str) {
    let relay = Relay::start();
    let (mut host, code) = Bots::found(&relay, 1, wish).await;
    for _ in 0..ROUNDS {
        let mut other = Bots::join(&relay, &code, wish);
        let linked = |all: &[Status]| {
            all.iter().any(|status| {
                status.is_backup()
                    && status.others().count() == 1
                    && status.others().all(|each| each.path == path)
            })
        };
        let before = other.wait("the second robot is the host's backup", JOIN_WITHIN, linked).await.remove(0);
        let dead = before.host.clone().expect("just seen");
        host.kill();
        let alone = |all: &[Status]| all.iter().any(|status| is_over(status, &before, &dead));
        let after = other.wait("the second robot hosts alone", SETTLE_WITHIN, alone).await.remove(0);
        assert_moves(&mut other, &after).await;
        host = other;
    }
}

fn is_over(status: &Status, before: &Status, dead: &Id) -> bool {
    status.term > before.term
        && status.is_host()
        && status.role == "ActiveAlone"
        && status.members.len() == 1
        && status.score(&before.name) >= before.score(&before.name)
        && status.objects.iter().all(|object| object.owner != *dead)
}

async fn assert_moves(robot: &mut Bots, before: &Status) {
    let moved = |all: &[Status]| {
        let objects = all.iter().flat_map(|status| status.objects_of("teapot"));
        objects.filter_map(|object| Some(object.distance(before.object(&object.id)?))).any(|far| far > 1.0)
    };
    robot.wait("it drives on", SETTLE_WITHIN, moved).await;
}
