//! One player is left, because host and backup are killed together, or the relay and then the host.

use std::time::Duration;

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::Status;
use samovar_tests::wait;

#[tokio::test(flavor = "multi_thread")]
async fn the_last_survivor_plays_on() {
    let relay = Relay::start();
    let mut players = vec![
        Player::join(&relay, "new=TEA&name=Ann&robots=2").await,
        Player::join(&relay, "game=TEA&name=Bob").await,
        Player::join(&relay, "game=TEA&name=Cy").await,
    ];
    for player in &players {
        let ready = |status: &Status| {
            status.others().count() == 2
                && status.others().all(|each| each.path == "direct")
                && status.backup.is_some()
        };
        player.wait("all are linked and there is a backup", SETTLE_WITHIN, ready).await;
        player.hunt().await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut last = None;
    for (index, player) in players.iter().enumerate() {
        let status = player.status().await;
        if !status.is_host() && !status.is_backup() {
            last = Some(index);
        }
    }
    let survivor = players.remove(last.expect("one of three is neither host nor backup"));
    sampler::start(&survivor).await;
    let before = survivor.status().await;
    let killed = sampler::now();
    for player in &mut players {
        player.kill();
    }
    let alone =
        |status: &Status| status.is_host() && status.others().count() == 0 && status.role == "ActiveAlone";
    let after = survivor.wait("the survivor hosts alone", SETTLE_WITHIN, alone).await;
    assert!(after.term > before.term);
    let kept = before.members.iter().filter(|member| member.is_robot || member.is_self);
    for member in kept {
        assert!(after.score(&member.name) >= Some(member.score), "{before}\n{after}");
    }
    let moving = wait::until("the robots drive on", SETTLE_WITHIN, async || {
        let samples = sampler::samples(&survivor).await;
        sampler::moves_under_a_new_host(&samples, before.term).ok_or_else(|| format!("{:?}", samples.last()))
    });
    println!("SIGKILL of host and backup to objects moving: {:.0} ms", moving.await - killed);
    let deadline = Duration::from_secs(120);
    let scored = |status: &Status| status.scores() != after.scores();
    survivor.wait("somebody scores under the new host", deadline, scored).await;
    survivor.screenshot("last-survivor").await;
    survivor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn survivor_of_two_plays_on_without_the_relay() {
    let mut relay = Relay::start();
    let mut ann = Player::join(&relay, "new=TEA&name=Ann&robots=2").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    for player in [&ann, &bob] {
        let ready = |status: &Status| {
            status.others().count() == 1
                && status.others().all(|each| each.path == "direct")
                && status.backup.is_some()
        };
        player.wait("the link is direct and there is a backup", SETTLE_WITHIN, ready).await;
    }
    sampler::start(&bob).await;
    let before = bob.status().await;
    relay.kill();
    bob.wait("the relay is missed", SETTLE_WITHIN, |status| status.relay == "lost").await;
    ann.kill();
    let killed = sampler::now();
    let alone = |status: &Status| status.is_host() && status.suspension.is_none();
    let after = bob.wait("the survivor hosts", SETTLE_WITHIN, alone).await;
    println!(
        "SIGKILL of the host without a relay to the survivor as host: {:.0} ms",
        sampler::now() - killed
    );
    for member in before.members.iter().filter(|member| member.is_robot || member.is_self) {
        assert!(after.score(&member.name) >= Some(member.score), "{before}\n{after}");
    }
    wait::until("the robots drive on", SETTLE_WITHIN, async || {
        let samples = sampler::samples(&bob).await;
        sampler::moves_under_a_new_host(&samples, before.term).ok_or_else(|| format!("{:?}", samples.last()))
    })
    .await;
    bob.wait_text("banner", "The relay is gone").await;
    assert_eq!(bob.text("curtain-title").await, "", "the page shows the game");
    relay.restart();
    let known = |status: &Status| status.is_host() && status.relay == "connected" && status.term > after.term;
    bob.wait("the relay knows the survivor for the host", 2 * SETTLE_WITHIN, known).await;
    let cy = Player::join(&relay, "game=TEA&name=Cy").await;
    let both = |status: &Status| status.others().count() == 1 && !status.is_host();
    cy.wait("somebody else can sit down", SETTLE_WITHIN, both).await;
    assert_eq!(bob.status().await.score("Bob"), after.score("Bob"), "it is the same game");
    bob.finish().await;
    cy.finish().await;
}
