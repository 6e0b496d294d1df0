//! The relay is killed while robots duel over direct links, and comes back.

use std::time::{Duration, Instant};

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

#[tokio::test(flavor = "multi_thread")]
async fn robots_on_direct_links_outlive_the_relay() {
    let mut relay = Relay::start();
    let (mut host, code) = Bots::found(&relay, 1, "auto").await;
    let mut other = Bots::join(&relay, &code, "auto");
    let linked = |all: &[Status]| {
        let direct = |status: &Status| {
            status.others().count() == 1 && status.others().all(|each| each.path == "direct")
        };
        all.iter().any(|status| direct(status) && status.backup.is_some())
    };
    let before = host.wait("the host has a direct link", JOIN_WITHIN, linked).await.remove(0);
    other.wait("the other has, too", JOIN_WITHIN, linked).await;
    relay.kill();
    let lost = |all: &[Status]| all.iter().all(|status| status.relay == "lost");
    host.wait("the host misses the relay", SETTLE_WITHIN, lost).await;
    other.wait("the other does, too", SETTLE_WITHIN, lost).await;
    let start = Instant::now();
    tokio::time::sleep(Duration::from_secs(8)).await;
    for robot in [&host, &other] {
        let reports = robot.since(start);
        assert!(reports.len() >= 6, "{} reports", reports.len());
        for (_, status) in &reports {
            let same = (status.term, &status.host, &status.backup, status.members.len());
            assert_eq!(same, (before.term, &before.host, &before.backup, 2), "{status}");
        }
        let (first, last) = (&reports[0].1, &reports[reports.len() - 1].1);
        for teapot in last.objects_of("teapot") {
            // All reports are compared with the last, since a robot may be back at its first place, or stand for a
            // while.
            let seen = reports.iter().filter_map(|(_, status)| status.object(&teapot.id));
            assert!(
                seen.fold(0.0, |most: f64, each| most.max(each.distance(teapot))) > 1.0,
                "{first}\n{last}"
            );
        }
    }

    relay.restart();
    let back = |all: &[Status]| all.iter().all(|status| status.relay == "connected");
    host.wait("the host is back at the relay", SETTLE_WITHIN, back).await;
    other.wait("the other is, too", SETTLE_WITHIN, back).await;
    relay.lists(&code, SETTLE_WITHIN).await;
    let mut newcomer = Bots::join(&relay, &code, "auto");
    let third =
        |all: &[Status]| all.iter().any(|status| status.members.len() == 3 && status.host == before.host);
    newcomer.wait("a newcomer joins under the same host", JOIN_WITHIN, third).await;
    host.wait("the host has three members", SETTLE_WITHIN, third).await;
}
