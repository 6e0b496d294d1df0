//! A reloaded tab takes its seat and score back.

use std::time::Duration;

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Time enough for a hunting player to hit a teapot that stands.
const HIT_WITHIN: Duration = Duration::from_secs(120);

/// One player hunts until it has hit the other. Then its page reloads and comes back.
async fn reload_after_a_hit(hunter: &Player, name: &str, witness: &Player) -> (Status, Status) {
    hunter.wait("both are there", SETTLE_WITHIN, |status| status.others().count() == 1).await;
    hunter.hunt().await;
    let hit = |status: &Status| status.score(name).is_some_and(|score| score > 0);
    witness.wait("the hunter hits", HIT_WITHIN, hit).await;
    hunter.rest().await;
    let before = hunter.wait("the hunter knows", SETTLE_WITHIN, hit).await;
    hunter.reload().await;
    // The old page may still answer. It has another peer id than the new page.
    let is_back = |status: &Status| {
        status.peer.is_some() && status.peer != before.peer && status.members.iter().any(|each| each.is_self)
    };
    let after = hunter.wait("the page is in the game again", JOIN_WITHIN, is_back).await;
    let seen = |status: &Status| {
        status.others().count() == 1 && status.others().all(|each| Some(&each.peer) == after.peer.as_ref())
    };
    let after = hunter.wait("its score is back", SETTLE_WITHIN, hit).await;
    let witnessed = witness.wait("the other sees it come back", SETTLE_WITHIN, seen).await;
    for status in [&after, &witnessed] {
        assert!(status.score(name) >= before.score(name), "{before}\n{status}");
        assert_eq!(status.members.len(), before.members.len(), "nobody is there twice: {status}");
    }
    (before, after)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reloaded_tab_takes_its_seat_and_score_back() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let (before, after) = reload_after_a_hit(&bob, "Bob", &ann).await;
    // The term is not compared, because a host that is alone for a moment renews it.
    assert_eq!(before.host, after.host);
    let teapots = after.objects_of("teapot").count();
    assert_eq!(teapots, 2, "the old teapot is driven on, or gone: {after}");
    bob.screenshot("reload").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_reloads_gets_its_seat_back_as_a_member() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let (before, after) = reload_after_a_hit(&ann, "Ann", &bob).await;
    assert!(after.term > before.term, "{after}");
    assert_eq!(after.host, bob.status().await.peer);
    ann.finish().await;
    bob.finish().await;
}

/// Waits until a tab keeps another ticket than `former`, and returns it.
async fn ticket_after(player: &Player, former: &str) -> String {
    wait::until("the tab has another ticket", JOIN_WITHIN, async || {
        let ticket = player.tab().try_evaluate("sessionStorage['samovar.seat.TEA'] ?? ''").await?;
        let ticket = ticket.as_str().unwrap_or_default();
        // The ticket stands behind the version, the params and the code; the rest may change without it.
        let part = |kept: &str| kept.get(40..90).map(str::to_owned);
        if part(ticket).is_none() || part(ticket) == part(former) {
            return Err(ticket.to_owned());
        }
        Ok(ticket.to_owned())
    })
    .await
}

/// Opens a page with another player's ticket, as in a copied tab.
async fn visit_with(relay: &Relay, ticket: &str, name: &str) -> Player {
    let script = format!("sessionStorage['samovar.seat.TEA'] ??= '{ticket}'");
    Visit::new(relay, &format!("game=TEA&name={name}")).with_script(&script).open().await
}

#[tokio::test(flavor = "multi_thread")]
async fn ticket_opens_its_seat_only_once() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let used = ticket_after(&bob, "").await;
    bob.reload().await;
    let renewed = ticket_after(&bob, &used).await;
    let peer = bob.joined().await.peer;
    let eve = visit_with(&relay, &used, "Eve").await;
    let names = |status: &Status| status.scores().into_keys().collect::<Vec<_>>();
    let beside = |status: &Status| names(status) == ["Ann", "Bob", "Eve"];
    for player in [&ann, &bob, &eve] {
        player.wait("who shows a used ticket sits beside the others", JOIN_WITHIN, beside).await;
    }
    assert_eq!(bob.peer().await, peer.expect("in a game"), "Bob keeps his seat");
    // The same visit with the unused ticket takes the seat.
    let twin = visit_with(&relay, &renewed, "Twin").await;
    bob.wait_text("curtain-title", "You play in another tab").await;
    let twins = twin.joined().await.peer;
    // The seat has the name of the player who sits on it now.
    let taken = |status: &Status| {
        names(status) == ["Ann", "Eve", "Twin"]
            && status.member("Twin").is_ok_and(|member| Some(&member.peer) == twins.as_ref())
    };
    ann.wait("the twin has Bob's seat", JOIN_WITHIN, taken).await;
    for player in [ann, bob, eve, twin] {
        player.finish().await;
    }
}

/// A browser that keeps a page to show it again sends the page `pagehide` and `pageshow` events. The test sends them
/// itself, because a browser keeps no page with an open WebSocket or connection.
#[tokio::test(flavor = "multi_thread")]
async fn page_kept_by_the_browser_takes_its_seat_when_shown() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let both = |status: &Status| status.others().count() == 1;
    ann.wait("both sit", SETTLE_WITHIN, both).await;
    let former = bob.peer().await;
    let say = async |what: &str| {
        let event =
            format!("window.dispatchEvent(new PageTransitionEvent('{what}', {{ persisted: true }})), null");
        bob.tab().evaluate(&event).await;
    };
    say("pagehide").await;
    ann.wait("the page is away", SETTLE_WITHIN, |status| status.others().count() == 0).await;
    say("pageshow").await;
    let again = |status: &Status| both(status) && status.peer.as_ref().is_some_and(|peer| *peer != former);
    bob.wait("it sits again", JOIN_WITHIN, again).await;
    ann.wait_text("feed", "Bob is back").await;
    ann.finish().await;
    bob.finish().await;
}
