//! Players' names are shown as plain text, in any script, and cannot inject elements.

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Names with characters of several code points. The first has emoji: a family, a flag, a keycap and a skin tone. The
/// second has Persian with a non-joiner, and Hindi and Sinhala with joiners.
const NAMES: [&str; 2] =
    ["👨\u{200d}👩\u{200d}👧\u{200d}👦🇺🇦7\u{fe0f}\u{20e3}🤝🏽", "می\u{200c}خواهم क्\u{200d}ष ශ්\u{200d}රී"];

/// Whether the round trip in the summary is drawn to the right of the host's name.
const IN_ORDER: &str = r"(text => {
  const place = at => { const range = document.createRange(); range.setStart(text, at); range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left; };
  const [name, digit] = [text.data.indexOf('م'), text.data.search(/\d/)];
  return name > 0 && digit > name ? place(digit) > place(name) : null;
})(document.getElementById('session-summary').firstChild)";

/// Markup that fits into a name. If a page read it as markup, its script would run.
const MARKUP: &str = "<img src onerror=a>";

/// Counts the elements that only a name could have injected.
const INJECTED: &str = "document.body.querySelectorAll('img, b, script').length";

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
async fn every_name_has_1_to_20_characters() {
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
async fn names_of_any_script_arrive_unchanged() {
    let relay = Relay::start();
    let ann = Player::join(&relay, &format!("new=TEA&name={}", encoded(NAMES[0]))).await;
    let bob = Player::join(&relay, &format!("game=TEA&name={}", encoded(NAMES[1]))).await;
    for player in [&ann, &bob] {
        let status = player.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
        for name in NAMES {
            assert!(status.member(name).is_ok(), "{name} is not in {status}");
            player.wait_text("scores", name).await;
        }
    }
    assert_eq!(relay.lists("TEA", SETTLE_WITHIN).await["host"], NAMES[0]);
    ann.screenshot("names-any-script").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_name_is_cut_between_characters() {
    let relay = Relay::start();
    let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
    let ann = Player::join(&relay, &format!("new=TEA&name={}", encoded(&family.repeat(5)))).await;
    let status = ann.status().await;
    assert!(status.member(&family.repeat(3)).is_ok(), "{status}");
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arabic_name_does_not_reverse_the_text_after_it() {
    let relay = Relay::start();
    let ann = Player::join(&relay, &format!("new=TEA&name={}", encoded("مريم"))).await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    wait::until("the round trip stands behind the name", SETTLE_WITHIN, async || {
        let in_order = bob.tab().evaluate(IN_ORDER).await;
        if in_order == true {
            Ok(())
        } else {
            Err(format!("{in_order}: {}", bob.text("session-summary").await))
        }
    })
    .await;
    ann.finish().await;
    bob.finish().await;
}

/// Percent-encodes a text for an address.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
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
