//! A player closes the page and opens the link again: the new tab gets the seat of the closed one.

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

fn names(status: &Status) -> Vec<&str> {
    let people = status.members.iter().filter(|member| !member.is_robot);
    people.map(|member| &*member.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opened_again_takes_the_seat_of_a_closed_tab() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    ann.wait("both are there", SETTLE_WITHIN, |status| names(status) == ["Ann", "Bob"]).await;
    // The browser stays open. Another player opens the link in another tab of it.
    let bea = Visit::new(&relay, "game=TEA&name=Bea").beside(&bob).open().await;
    bea.joined().await;
    ann.wait("three are there", SETTLE_WITHIN, |status| names(status).len() == 3).await;
    bob.close().await;
    let again = Visit::new(&relay, "game=TEA&name=Bob").beside(&bea).open().await;
    again.joined().await;
    // Each player is there once.
    let is_whole = |status: &Status| {
        let mut names = names(status);
        names.sort_unstable();
        names == ["Ann", "Bea", "Bob"]
    };
    ann.wait("Bob has his seat back", JOIN_WITHIN, is_whole).await;
    bea.wait("Bea has hers", SETTLE_WITHIN, is_whole).await;
    ann.finish().await;
    bea.finish().await;
    again.finish().await;
}

/// The player's own name and colour, as its page shows them.
async fn look(player: &Player) -> (String, String) {
    let status = player.joined().await;
    let own = status.members.iter().find(|member| member.is_self).expect("itself");
    (own.name.clone(), player.text("colour-name").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn player_without_a_name_keeps_the_name_and_colour_it_was_given() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA").await;
    let given = look(&bob).await;
    let peer = bob.peer().await;
    bob.reload().await;
    bob.wait("it is back", JOIN_WITHIN, |status| status.peer.as_ref().is_some_and(|new| *new != peer)).await;
    assert_eq!(look(&bob).await, given, "after a reload");
    // Another tab keeps the browser open.
    let beside = Visit::new(&relay, "low").beside(&bob).open().await;
    bob.close().await;
    let again = Visit::new(&relay, "game=TEA").beside(&beside).open().await;
    assert_eq!(look(&again).await, given, "in a new tab");
    ann.wait("it has one seat", SETTLE_WITHIN, |status| names(status) == ["Ann", &given.0]).await;
    ann.finish().await;
    beside.finish().await;
    again.finish().await;
}
