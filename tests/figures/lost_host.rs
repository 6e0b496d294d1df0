//! The time from the kill of a host until its survivors go on, in pages and robots.

use std::time::{Duration, Instant};

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::sampler::{self, Sample};
use samovar_tests::status::{Id, Status};
use samovar_tests::wait;

/// The number of hosts that are killed.
const ROUNDS: usize = 5;

/// The longest time, in milliseconds, by which the median may exceed the standstill of the pages without a death. In
/// virtual time the excess is an eighth of that.
const RESUMED_WITHIN: f64 = 1_000.0;

#[tokio::test(flavor = "multi_thread")]
async fn pages_go_on_within_a_second_after_a_host_is_killed() {
    let relay = Relay::start();
    let mut players = vec![
        Player::join(&relay, "new=TEA&name=Ann&robots=2").await,
        Player::join(&relay, "game=TEA&name=Bob").await,
        Player::join(&relay, "game=TEA&name=Cy").await,
    ];
    let (mut times, mut stills) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        for player in &players {
            let ready = |status: &Status| {
                status.others().count() == 2
                    && status.others().all(|member| member.path == "direct")
                    && status.backup.is_some()
            };
            player.wait("all are linked and there is a backup", SETTLE_WITHIN, ready).await;
            player.hunt().await;
            sampler::start(player).await;
        }
        // The standstill without a death is the control.
        tokio::time::sleep(Duration::from_secs(4)).await;
        for player in &players {
            stills.push(standstill(&sampler::samples(player).await));
        }
        times.push(kill_the_host(&mut players).await);
        if round < ROUNDS {
            players.push(Player::join(&relay, &format!("game=TEA&name=Guest%20{round}")).await);
        }
    }
    let (median, control) = (sampler::median(&times), sampler::median(&stills));
    println!(
        "SIGKILL of the host to objects moving under the new one: {times:.0?} ms, median {median:.0} ms; robots stood \
         still for {control:.0} ms before"
    );
    assert!(median < RESUMED_WITHIN + control, "median {median} ms, control {control} ms");
    for player in players {
        player.finish().await;
    }
}

/// The longest time for which no object of the host moved.
fn standstill(samples: &[Sample]) -> f64 {
    let (mut longest, mut since): (f64, _) = (0.0, samples.first());
    for sample in samples {
        let moves = since.is_none_or(|since| {
            sample.objects.iter().any(|(id, _, _, place)| {
                since.objects.iter().any(|(same, _, _, before)| same == id && before != place)
            })
        });
        if moves {
            longest = longest.max(since.map_or(0.0, |since| sample.at - since.at));
            since = Some(sample);
        }
    }
    longest
}

/// Kills the host's browser. Returns the milliseconds until the slower survivor saw objects move again.
async fn kill_the_host(players: &mut Vec<Player>) -> f64 {
    let before = players[0].status().await;
    let mut hosting = None;
    for (index, player) in players.iter().enumerate() {
        if player.status().await.is_host() {
            hosting = Some(index);
        }
    }
    let mut host = players.remove(hosting.expect("somebody hosts"));
    let killed = sampler::now();
    host.kill();
    let mut slowest: f64 = 0.0;
    for player in players.iter() {
        let moving = wait::until("objects move again", SETTLE_WITHIN, async || {
            let samples = sampler::samples(player).await;
            sampler::moves_under_a_new_host(&samples, before.term)
                .ok_or_else(|| format!("{:?}", samples.last()))
        });
        slowest = slowest.max(moving.await - killed);
    }
    slowest
}

#[tokio::test(flavor = "multi_thread")]
async fn robot_goes_on_within_a_second_after_its_host_is_killed() {
    for (wish, path) in [("relayed", "relayed"), ("auto", "direct")] {
        let relay = Relay::start();
        let (mut host, code) = Bots::found(&relay, 1, wish).await;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let mut other = Bots::join(&relay, &code, wish);
            let before = other.wait("it is the host's backup", JOIN_WITHIN, backs_up(path)).await.remove(0);
            // Waits for some reports, which relate session time to the machine's clock.
            tokio::time::sleep(Duration::from_secs(3)).await;
            let since = Instant::now();
            host.kill();
            let alone =
                |all: &[Status]| all.iter().any(|status| is_over(status, before.host.as_ref(), before.term));
            let after = other.wait("it hosts alone", SETTLE_WITHIN, alone).await.remove(0);
            times.push(other.resumed_after(&after, since));
            host = other;
        }
        let median = sampler::median(&times);
        println!(
            "{path}: SIGKILL of the host to the session under the new one: {times:.0?}, median {median:.0} ms"
        );
        assert!(median < RESUMED_WITHIN, "median {median} ms");
    }
}

fn backs_up(path: &str) -> impl Fn(&[Status]) -> bool {
    move |all| {
        all.iter().any(|status| {
            status.is_backup()
                && status.others().count() == 1
                && status.others().all(|each| each.path == path)
        })
    }
}

fn is_over(status: &Status, dead: Option<&Id>, term: u64) -> bool {
    status.term > term && status.is_host() && status.host.as_ref() != dead && status.members.len() == 1
}
