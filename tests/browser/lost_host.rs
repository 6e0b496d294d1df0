//! The host's browser is killed in the middle of play.

use std::collections::BTreeSet;
use std::time::Duration;

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::{Id, Status};

/// The number of hosts that are killed.
const ROUNDS: usize = 2;

/// Keeps the page's passing messages, which vanish after some seconds.
const KEEP_TOASTS: &str = r"
window.__toasts = [];
new MutationObserver(changes => changes.forEach(change => change.addedNodes.forEach(node => __toasts.push(node.textContent))))
  .observe(document.getElementById('toasts'), {childList: true}), null";

#[tokio::test(flavor = "multi_thread")]
async fn survivors_go_on_under_one_new_host_with_all_scores() {
    let relay = Relay::start();
    let mut players = vec![
        Player::join(&relay, "new=TEA&name=Ann&robots=2").await,
        Player::join(&relay, "game=TEA&name=Bob").await,
        Player::join(&relay, "game=TEA&name=Cy").await,
    ];
    for round in 1..=ROUNDS {
        for player in &players {
            let ready = |status: &Status| {
                status.others().count() == 2
                    && status.others().all(|member| member.path == "direct")
                    && status.backup.is_some()
            };
            player.wait("all are linked and there is a backup", SETTLE_WITHIN, ready).await;
            player.hunt().await;
            player.tab().evaluate(KEEP_TOASTS).await;
            sampler::start(player).await;
        }
        // The players hunt for a while, so that there are scores to keep.
        tokio::time::sleep(Duration::from_secs(4)).await;
        kill_the_host(&mut players, round).await;
        if round < ROUNDS {
            players.push(Player::join(&relay, &format!("game=TEA&name=Guest%20{round}")).await);
        }
    }
    for player in players {
        player.finish().await;
    }
}

/// Kills the host's browser and waits until the survivors see objects move again.
async fn kill_the_host(players: &mut Vec<Player>, round: usize) {
    let before = players[0].status().await;
    let mut hosting = None;
    for (index, player) in players.iter().enumerate() {
        if player.status().await.is_host() {
            hosting = Some(index);
        }
    }
    let mut host = players.remove(hosting.expect("somebody hosts"));
    let dead = host.peer().await;
    host.kill();
    let mut hosts = BTreeSet::new();
    for player in players.iter() {
        let after =
            player.wait("there is a new host", SETTLE_WITHIN, |status| is_over(status, &before, &dead)).await;
        assert_kept(&before, &after, &dead);
        let migration = after.migrations.last().expect("noted");
        assert_eq!((&migration.from, migration.cause.as_str()), (&dead, "lost"), "{after}");
        let toasts = player.tab().evaluate("__toasts.join()").await;
        assert!(toasts.as_str().is_some_and(|text| text.contains("The host was lost.")), "{toasts}");
        hosts.insert((after.host, after.term));
    }
    assert_eq!(hosts.len(), 1, "the survivors disagree: {hosts:?}");
    for player in players.iter() {
        samovar_tests::wait::until("objects move again", SETTLE_WITHIN, async || {
            let samples = sampler::samples(player).await;
            let moving = sampler::moves_under_a_new_host(&samples, before.term);
            moving.ok_or_else(|| format!("{:?}", samples.last()))
        })
        .await;
    }
    players[0].screenshot(&format!("lost-host-{round}")).await;
}

/// Whether the dead peer is gone, another peer hosts, and all objects of the dead peer have new owners.
fn is_over(status: &Status, before: &Status, dead: &Id) -> bool {
    status.term > before.term
        && status.migrations.last().is_some_and(|migration| migration.term == status.term)
        && status
            .host
            .as_ref()
            .is_some_and(|host| host != dead && status.members.iter().any(|each| each.peer == *host))
        && status.members.iter().all(|member| member.peer != *dead)
        && status.objects.iter().all(|object| object.owner != *dead)
        && status.objects_of("session").chain(status.objects_of("scoreboard")).count() == 2
}

fn assert_kept(before: &Status, after: &Status, dead: &Id) {
    let kept = before.members.iter().filter(|member| member.peer != *dead);
    for member in kept {
        let score = after.score(&member.name).unwrap_or(-1);
        assert!(score >= member.score, "{} of {} became {score}: {after}", member.score, member.name);
    }
    let host = after.host.as_ref().expect("there is one");
    for object in after.objects_of("session").chain(after.objects_of("scoreboard")) {
        assert_eq!(object.owner, *host, "{after}");
    }
    // The robots live on. The teapot of the dead player waits for the player's return, and the checks below do not
    // depend on it.
    let robots = after.members.iter().filter(|member| member.is_robot).count();
    assert_eq!(robots, 2, "{after}");
    let of_host = after.objects_of("teapot").filter(|object| object.owner == *host).count();
    assert!(of_host >= 3, "the host drives its own and the robots': {after}");
}
