//! The example of the package for JavaScript in browsers, with a mouse: its
//! host is killed, closed, frozen and loaded again, and a native program hosts.

use samovar_tests::scratch::Scratch;
use serde_json::json;

use crate::js_player::{self, CURSORS, Player};
use crate::program::Program;

#[tokio::test(flavor = "multi_thread")]
async fn room_in_javascript_goes_on_when_its_host_is_killed() {
    let relay = js_player::relay();
    let [ann, bob, cy] = js_player::three(&relay).await;
    ann.point([20, 20]).await;
    bob.point([80, 30]).await;
    cy.point([40, 70]).await;
    let all = [("Ann", [20, 20]), ("Bob", [80, 30]), ("Cy", [40, 70])];
    for player in [&ann, &bob, &cy] {
        player.shows(&all).await;
    }
    // A long message arrives whole, an error of a listener stops nothing, and
    // the state is told.
    let listens = "window.heard = []; window.states = 0;
        r.on('message', () => { throw Error('on purpose') });
        r.on('message', (from, text) => heard.push([from.name, text.length]));
        r.on('state', () => states++), null";
    for player in [&ann, &bob, &cy] {
        player.tab.evaluate(listens).await;
    }
    let talk = "r.send('all', 'tea'); r.send('all', 'x'.repeat(9000)); r.send('host', 'hi'), null";
    bob.tab.evaluate(talk).await;
    let heard = |list: &str| format!("JSON.stringify(heard) === '{list}'");
    let all_but_one = r#"[["Bob",3],["Bob",9000]]"#;
    cy.until("the messages", &heard(all_but_one)).await;
    ann.until("its own, too", &heard(r#"[["Bob",3],["Bob",9000],["Bob",2]]"#))
        .await;
    for player in [&ann, &bob, &cy, &bob] {
        player.click([50, 50]).await;
    }
    for player in [&ann, &bob, &cy] {
        player.reads("4 points; Ann hosts").await;
    }
    cy.until("the state was told", "states > 0 && states <= 4").await;
    // The asks of this moment are carried out, too, each once.
    for _ in 0..5 {
        bob.click([80, 30]).await;
    }
    drop(ann);
    bob.until("another host", "r.host?.name !== 'Ann' && r.term > 256").await;
    bob.click([80, 30]).await;
    for player in [&bob, &cy] {
        player
            .until("all asks", "points.textContent.startsWith('10 points')")
            .await;
    }
    // A page that is loaded again has its cursor and its place.
    bob.tab.ask("Page.reload", serde_json::json!({})).await;
    bob.until("it plays", "!!window.r?.me.isHere").await;
    bob.until("its own points", "r.state.points === 10").await;
    cy.until("one cursor each", &format!("!!({CURSORS}).Bob")).await;
    let makers = "r.members.length === 2 && document.querySelectorAll('.cursor').length >= 2";
    cy.until("Bob is back", makers).await;
}

/// The points that a page shows.
async fn points(player: &Player) -> u64 {
    player.tab.evaluate("r.state.points").await.as_u64().expect("points")
}

#[tokio::test(flavor = "multi_thread")]
async fn host_may_close_freeze_or_reload_and_no_ask_is_lost() {
    let relay = js_player::relay();
    let [ann, bob, cy] = js_player::three(&relay).await;
    let hosts = |name: &str| format!("r.host?.name === '{name}'");
    let has = |points: u64| format!("r.state.points === {points}");
    // The host reloads, and comes back to its seat under another host.
    bob.click([50, 50]).await;
    ann.tab.ask("Page.reload", json!({})).await;
    bob.click([50, 50]).await;
    bob.until("another host", "r.host.name !== 'Ann' && r.host.isHere").await;
    for player in [&ann, &bob, &cy] {
        player.until("it plays", "!!window.r?.me.isHere").await;
        player.until("both asks", &has(2)).await;
    }
    // The host's tab is closed.
    let (host, others) = if bob.tab.evaluate(&hosts("Bob")).await == true {
        (bob, [ann, cy])
    } else {
        (cy, [ann, bob])
    };
    host.tab.ask("Page.close", json!({})).await;
    let [one, other] = &others;
    one.click([50, 50]).await;
    for player in [one, other] {
        let elsewhere =
            format!("r.host.isHere && r.host.name !== '{}'", host.name);
        player.until("another host", &elsewhere).await;
        player.until("the ask", &has(3)).await;
    }
    // The host's process stands still, and goes on after the others went on.
    let [mut one, mut other] = others;
    if one.tab.evaluate("r.me.isHost").await != true {
        std::mem::swap(&mut one, &mut other);
    }
    one.chromium.pause();
    other.click([50, 50]).await;
    other.until("it hosts", "r.me.isHost").await;
    other.until("its ask", &has(4)).await;
    one.chromium.resume();
    one.until("it is back", "r.me.isHere && !r.me.isHost").await;
    one.until("all asks", &has(4)).await;
    one.click([50, 50]).await;
    other.until("one more", &has(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn native_program_plays_in_the_room_of_a_page_and_hosts_it() {
    let (relay, folder) = (js_player::relay(), Scratch::new());
    let ann = Player::new(&relay, "", "Ann").await;
    let code = ann.tab.evaluate("r.code").await;
    let code = code.as_str().expect("a code").to_owned();
    ann.point([20, 20]).await;
    let visitor = env!("CARGO_BIN_EXE_visitor");
    let mut rob = Program::start(visitor, &relay, &code, "Rob", &folder);
    rob.until("it sees both cursors", |lines| {
        let last = lines.last()?;
        last.ends_with("Ann hosts, 2 cursors").then_some(())
    })
    .await;
    let moves = format!("!!({CURSORS}).Rob && r.state.points >= 2");
    ann.until("Rob plays", &moves).await;
    let before = points(&ann).await;
    drop(ann);
    rob.until("it hosts", |lines| {
        lines.last()?.contains(" Rob hosts").then_some(())
    })
    .await;
    let bob = Player::new(&relay, &code, "Bob").await;
    bob.until("the points are kept", &format!("r.state.points > {before}"))
        .await;
    // Bob asks for more at once than Rob can have asked for by himself.
    bob.tab
        .evaluate("window.then = r.state.points, r.ask.point(1000), null")
        .await;
    bob.until("the native host counts", "r.state.points >= then + 1000").await;
    bob.until(
        "it hosts",
        "r.host.name === 'Rob' && r.state.points < then + 1100",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn player_who_reloads_alone_finds_all_as_it_was() {
    let relay = js_player::relay();
    let ann = Player::new(&relay, "", "Ann").await;
    ann.click([20, 30]).await;
    ann.until("a point", "r.state.points === 1").await;
    ann.shows(&[("Ann", [20, 30])]).await;
    for points in 2..4 {
        ann.tab.ask("Page.reload", json!({})).await;
        ann.until("it plays", "!!window.r?.me.isHere && r.me.isHost").await;
        ann.shows(&[("Ann", [20, 30])]).await;
        ann.tab.evaluate("r.ask.point(1), null").await;
        ann.until("the points", &format!("r.state.points === {points}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_puts_a_player_out_and_hands_over() {
    let relay = js_player::relay();
    let [ann, bob, cy] = js_player::three(&relay).await;
    let ends = "window.over = undefined,
        r.finished.catch((why) => (window.over = why.code)), null";
    cy.tab.evaluate(ends).await;
    let cy_of = "r.members.find(({ name }) => name === 'Cy')";
    bob.until("it knows Cy", &format!("!!({cy_of})")).await;
    let not_host = format!(
        "(() => {{ try {{ r.putOut({cy_of}) }} catch (why) {{ return why.code }} }})()"
    );
    assert_eq!(bob.tab.evaluate(&not_host).await, "NotHost");
    ann.tab.evaluate(&format!("r.putOut({cy_of}), null")).await;
    cy.until("it is out", "window.over === 'PutOut'").await;
    for player in [&ann, &bob] {
        player.until("two are left", "r.members.length === 2").await;
    }
    ann.tab.evaluate("r.handOver(), null").await;
    for player in [&ann, &bob] {
        player.until("Bob hosts", "r.host?.name === 'Bob'").await;
    }
}
