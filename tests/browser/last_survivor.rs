//! Host and backup are killed together.

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
