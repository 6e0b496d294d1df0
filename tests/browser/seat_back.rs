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
