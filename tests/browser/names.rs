//! What strangers call themselves is text and nothing else.

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Fits into a name, and would be an element and run if it were ever read as markup.
const MARKUP: &str = "<img src onerror=a>";

/// Elements that only a name could have put there.
const INJECTED: &str = "document.querySelectorAll('img, b, script:not([type=module])').length";

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_markup_is_shown_as_text() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=%3Cimg%20src%20onerror%3Da%3E").await;
    let bob = Player::join(&relay, "game=TEA&name=%3Cb%3EBob%26amp;%3C/b%3E").await;
    for player in [&ann, &bob] {
        let status = player.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
        assert!(status.member(MARKUP).is_ok() && status.member("<b>Bob&amp;</b>").is_ok(), "{status}");
        player.wait_text("scores", MARKUP).await;
        player.wait_text("scores", "<b>Bob&amp;</b>").await;
        assert_eq!(player.tab().evaluate(INJECTED).await, 0);
    }
    ann.screenshot("names-markup").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_any_length_are_made_to_fit() {
    let relay = Relay::start();
    let long = format!("new=TEA&name={}", "long%20name%20".repeat(1_000));
    let ann = Player::join(&relay, &long).await;
    let bob = Player::join(&relay, "game=TEA&name=").await;
    let both = |status: &Status| status.members.len() == 2;
    for player in [&ann, &bob] {
        let status = player.wait("both are there", SETTLE_WITHIN, both).await;
        for member in &status.members {
            assert!((1..=20).contains(&member.name.chars().count()), "{status}");
        }
        assert!(
            status.members.iter().any(|member| member.name.starts_with("long name long name")),
            "{status}"
        );
    }
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_parameters_are_reported_and_change_nothing() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann&utm_source=x&%3Cscript%3E=1").await;
    let status = ann.status().await;
    assert!(status.is_host(), "{status}");
    let reported = |word: &str| status.errors.iter().any(|error| error.contains(word));
    assert!(reported("utm_source") && reported("<script>"), "{:?}", status.errors);
    ann.finish().await;
}
