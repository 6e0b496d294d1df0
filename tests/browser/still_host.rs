//! The host's page lives, but its game stands still: the browser withholds its frames, or the game makes no steps.

use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Lets a test withhold the frames of a page. Withheld frames wait until the test releases them.
const FRAMES: &str = "
(real => {
  const waiting = [];
  window.__withhold = withheld => {
    window.__withheld = withheld;
    if (!withheld) waiting.splice(0).forEach(each => real(each));
  };
  window.requestAnimationFrame = frame => window.__withheld ? waiting.push(frame) : real(frame);
})(window.requestAnimationFrame.bind(window));";

/// Two players with robots in a duel that Ann hosts. Her frames can be withheld.
async fn playing(relay: &Relay) -> (Player, Player) {
    table(relay, "robots=2").await
}

async fn table(relay: &Relay, game: &str) -> (Player, Player) {
    let ann = Visit::new(relay, &format!("new=TEA&name=Ann&{game}")).with_script(FRAMES).open().await;
    ann.wait("Ann plays", SETTLE_WITHIN, |status| status.is_host() && status.member("Ann").is_ok()).await;
    let bob = Player::join(relay, "game=TEA&name=Bob").await;
    for player in [&ann, &bob] {
        let ready = |status: &Status| status.others().count() == 1 && status.backup.is_some();
        player.wait("there is a backup", SETTLE_WITHIN, ready).await;
    }
    sampler::start(&bob).await;
    (ann, bob)
}

/// Waits until a page has drawn no frame for half a second, although it asks for frames.
async fn stops_drawing(page: &Player) {
    wait::until("no frame is drawn any more", SETTLE_WITHIN, async || {
        let before = page.status().await.frames;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let after = page.status().await.frames;
        if before == after { Ok(()) } else { Err(format!("{before} and {after}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_move_on_though_the_hosts_frames_are_withheld() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let before = bob.status().await;
    ann.tab().evaluate("__withhold(true), null").await;
    stops_drawing(&ann).await;
    // The players stand still, and the pages share the robots.
    let robots = |status: &Status| -> Vec<_> {
        status.objects_of("teapot").map(|pot| (pot.id.clone(), pot.position.clone())).collect()
    };
    let mut last = robots(&bob.status().await);
    for _ in 0..5 {
        // The robots are at another place each time, so they do not depend on the host's frames.
        bob.wait("the robots move on", SETTLE_WITHIN, |status| {
            let here = robots(status);
            let moved = here.iter().filter(|pot| !last.contains(pot)).count();
            moved >= 2 && here.len() >= 2
        })
        .await;
        last = robots(&bob.status().await);
    }
    let after = bob.status().await;
    assert_eq!((after.term, &after.host), (before.term, &before.host), "it plays, so it may host");
    ann.tab().evaluate("__withhold(false), null").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_whose_game_stands_still_hands_over() {
    let relay = Relay::start();
    let (ann, bob) = playing(&relay).await;
    let (former, before) = (ann.peer().await, bob.status().await);
    let since = sampler::now();
    ann.tab().evaluate("samovar.hold(true), null").await;
    let hosts = |status: &Status| status.is_host() && status.term > before.term;
    let after = bob.wait("another hosts", SETTLE_WITHIN, hosts).await;
    println!("until another hosted: {:.0} ms", sampler::now() - since);
    bob.wait_text("toasts", "Ann's game stood still. You are the host now").await;
    assert!(after.member("Ann").is_ok_and(|ann| ann.peer == former && !ann.visible), "it stays: {after}");
    let moving = wait::until("robots move under the new host", SETTLE_WITHIN, async || {
        let samples = sampler::samples(&bob).await;
        sampler::moves_under_a_new_host(&samples, before.term).ok_or_else(|| format!("{:?}", samples.last()))
    });
    moving.await;
    ann.tab().evaluate("samovar.hold(false), null").await;
    ann.wait_text("toasts", "Your game stood still. Bob is the host now").await;
    let plays = |status: &Status| status.member("Ann").is_ok_and(|ann| ann.visible);
    let again = bob.wait("it plays again", SETTLE_WITHIN, plays).await;
    assert_eq!((again.term, again.host), (after.term, after.host), "it does not want its office back");
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maze_goes_on_though_its_host_stops_drawing_or_stepping() {
    let relay = Relay::start();
    let (ann, bob) = table(&relay, "mode=maze").await;
    let before = bob.status().await;
    let frame = |status: &Status| status.maze.as_ref().map_or(0, |maze| maze.frame);
    // A second has 30 frames, so the maze goes on for three seconds.
    let goes_on = async |from: &Status| {
        let is_further = |status: &Status| frame(status) >= frame(from) + 90;
        bob.wait("the maze goes on", SETTLE_WITHIN, is_further).await
    };
    goes_on(&before).await;
    ann.tab().evaluate("__withhold(true), null").await;
    stops_drawing(&ann).await;
    let withheld = goes_on(&bob.status().await).await;
    assert_eq!((withheld.term, &withheld.host), (before.term, &before.host), "it steps, so it may host");
    ann.tab().evaluate("__withhold(false), null").await;
    ann.tab().evaluate("samovar.hold(true), null").await;
    let hosts = |status: &Status| status.is_host() && status.term > before.term;
    let after = bob.wait("another hosts", SETTLE_WITHIN, hosts).await;
    bob.wait_text("toasts", "Ann's game stood still. You are the host now").await;
    goes_on(&after).await;
    ann.tab().evaluate("samovar.hold(false), null").await;
    let now = goes_on(&bob.status().await).await;
    let in_step = |status: &Status| frame(status) >= frame(&now) && !status.is_host();
    let ann_now = ann.wait("it is in step again", SETTLE_WITHIN, in_step).await;
    assert_eq!(ann_now.maze.map(|maze| maze.desyncs), Some(0));
    ann.finish().await;
    bob.finish().await;
}
