//! The host's page goes, or may go soon: it is hidden, closed or frozen, its computer sleeps, or its battery is low.

use std::time::Duration;

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::{Id, Member, Status};
use samovar_tests::wait;

/// Longer than the others wait for a member before they go on without it.
const LONG: Duration = Duration::from_secs(9);

/// Two players and two robots in a game that Ann hosts, all linked directly and moving.
async fn playing(relay: &Relay) -> (Player, Player) {
    let ann = Player::join(relay, "new=TEA&name=Ann&robots=2").await;
    let bob = Player::join(relay, "game=TEA&name=Bob").await;
    for player in [&ann, &bob] {
        let ready = |status: &Status| {
            status.others().count() == 1
                && status.others().all(|member| member.path == "direct")
                && status.backup.is_some()
        };
        player.wait("both are linked and there is a backup", SETTLE_WITHIN, ready).await;
        player.hunt().await;
        sampler::start(player).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(ann.status().await.is_host());
    (ann, bob)
}

/// Waits until `heir` hosts in place of `former` and moves objects that it took over. Prints the time that this took.
async fn succeeds(heir: &Player, former: &Id, before: &Status, since: f64) -> Status {
    let over = |status: &Status| {
        // A former host that plays on drives its own teapot, and perhaps robots.
        let robots = status.members.iter().filter(|member| member.driver.as_ref() == Some(former)).count();
        // The page records the change with its next frame.
        status.is_host()
            && status.migrations.last().is_some_and(|migration| Some(&migration.to) == status.peer.as_ref())
            && status.objects_of("scoreboard").all(|board| Some(&board.owner) == status.peer.as_ref())
            && status.objects_of("teapot").filter(|pot| pot.owner == *former).count() <= 1 + robots
    };
    let after = heir.wait("there is a new host", SETTLE_WITHIN, over).await;
    for member in before.members.iter().filter(|member| member.is_robot || member.is_self) {
        assert!(after.score(&member.name) >= Some(member.score), "{before}\n{after}");
    }
    let moving = wait::until("robots move under the new host", SETTLE_WITHIN, async || {
        let samples = sampler::samples(heir).await;
        sampler::moves_under_a_new_host(&samples, before.term).ok_or_else(|| format!("{:?}", samples.last()))
    });
    let moving = moving.await;
    let cause = &after.migrations.last().expect("noted").cause;
    println!("until objects moved under the new host ({cause}): {:.0} ms", moving - since);
    after
}

/// Waits until the former host knows that it is only a member, in the new host's term.
async fn stays(player: &Player, former: &Id, after: &Status) {
    let knows = |status: &Status| !status.is_host() && status.term == after.term;
    let still = player.wait("the former host knows", SETTLE_WITHIN, knows).await;
    assert_eq!((still.peer.as_ref(), still.others().count()), (Some(former), 1), "it is a member: {still}");
}

fn cause(status: &Status) -> &str {
    status.migrations.last().map_or("none", |migration| &migration.cause)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_host_hands_over_and_plays_on() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.hide().await;
    let after = succeeds(&bob, &former, &before, since).await;
    assert_eq!(cause(&after), "handover", "{after}");
    bob.screenshot("hidden-host").await;
    stays(&ann, &former, &after).await;
    let drives = |member: &Member| member.driver.as_ref() == Some(&former);
    let spared = |status: &Status| !status.members.iter().any(drives);
    bob.wait("a hidden page drives no robots", SETTLE_WITHIN, spared).await;
    let seen = |status: &Status| status.member("Ann").is_ok_and(|member| !member.visible);
    bob.wait("the others see that it is away", SETTLE_WITHIN, seen).await;
    ann.show().await;
    let seen = |status: &Status| status.member("Ann").is_ok_and(|member| member.visible);
    let shown = bob.wait("the others see that it is back", SETTLE_WITHIN, seen).await;
    assert_eq!((shown.term, shown.host), (after.term, after.host), "it does not want to be host again");
    ann.screenshot("hidden-host-back").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_with_a_low_battery_hands_over_and_plays_on() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.drain_battery().await;
    let after = succeeds(&bob, &former, &before, since).await;
    assert_eq!(cause(&after), "handover", "{after}");
    stays(&ann, &former, &after).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_with_a_low_battery_hands_over_to_a_later_player() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    ann.drain_battery().await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let hosts = |status: &Status| status.is_host();
    bob.wait("who came is the host", SETTLE_WITHIN, hosts).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_host_hands_over_to_a_later_player() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    ann.hide().await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    bob.wait("who came is the host", SETTLE_WITHIN, Status::is_host).await;
    ann.show().await;
    let both = |status: &Status| !status.is_host() && status.others().count() == 1;
    ann.wait("it is a member", SETTLE_WITHIN, both).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_leaves_hands_over_and_is_in_the_lobby_at_once() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.leave().await;
    ann.wait_text("lobby", "Dueling Teapots").await;
    let after = succeeds(&bob, &former, &before, since).await;
    assert_eq!(cause(&after), "handover", "{after}");
    let gone = |status: &Status| status.others().count() == 0;
    bob.wait("the former host has left", SETTLE_WITHIN, gone).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_says_that_it_leaves_when_its_page_is_closed() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.close().await;
    let after = succeeds(&bob, &former, &before, since).await;
    assert!(["left", "handover"].contains(&cause(&after)), "it was not missed: {after}");
    let gone = |status: &Status| status.others().count() == 0;
    bob.wait("the former host is away", SETTLE_WITHIN, gone).await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_tab_hands_over_and_gets_its_seat_back() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.set_frozen(true).await;
    let after = succeeds(&bob, &former, &before, since).await;
    assert_eq!(cause(&after), "handover", "{after}");
    let score = after.score("Ann");
    let away = |status: &Status| status.others().count() == 0;
    bob.wait("the frozen one is away", LONG + SETTLE_WITHIN, away).await;
    ann.set_frozen(false).await;
    // The browser only brings a page to the front if it is behind another tab. So the page is hidden first.
    ann.hide().await;
    ann.show().await;
    comes_back(&ann, &former, &bob, score).await;
    ann.screenshot("woken-up").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_whose_computer_slept_deposes_no_successor() {
    let relay = Relay::start();
    let (mut ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.fall_asleep();
    let after = succeeds(&bob, &former, &before, since).await;
    assert_eq!(cause(&after), "lost", "{after}");
    bob.screenshot("sleeping-host").await;
    let score = after.score("Ann");
    tokio::time::sleep(LONG).await;
    ann.wake_up();
    let back = comes_back(&ann, &former, &bob, score).await;
    assert_eq!(back.host, after.host, "who slept does not depose who went on: {back}");
    ann.finish().await;
    bob.finish().await;
}

/// Waits until a page that was away has its seat back, as a new peer and with its score.
async fn comes_back(page: &Player, former: &Id, other: &Player, score: Option<i64>) -> Status {
    let seated = |status: &Status| {
        status.peer.as_ref().is_some_and(|peer| peer != former)
            && status.members.iter().any(|member| member.is_self)
            && status.others().count() == 1
    };
    let back = page.wait("the page is in the game again", JOIN_WITHIN, seated).await;
    let kept = |status: &Status| status.others().count() == 1 && status.score("Ann") >= score;
    other.wait("the other sees it with its score", SETTLE_WITHIN, kept).await;
    page.wait_text("toasts", "You have your seat back").await;
    back
}
