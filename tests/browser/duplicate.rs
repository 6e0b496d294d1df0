//! A tab that is duplicated by the browser's menu. The copy has the whole storage of the tab, its ticket included.

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use serde_json::json;

/// The tab's storage.
const KEPT: &str = "JSON.stringify({...sessionStorage})";

/// Opens a second tab with the whole storage of this one.
async fn duplicate(relay: &Relay, tab: &Player) -> Player {
    let kept = tab.tab().evaluate(KEPT).await;
    let kept = kept.as_str().expect("text");
    assert!(kept.contains("samovar.seat.TEA"), "{kept}");
    let script = format!("sessionStorage.length || Object.assign(sessionStorage, {kept})");
    Visit::new(relay, "game=TEA&name=Ann").with_script(&script).beside(tab).open().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicated_tab_takes_the_seat_of_a_lone_host() {
    let relay = Relay::start();
    let first = Player::join(&relay, "new=TEA&name=Ann&robots=1").await;
    first.wait("it has its ticket", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    let second = duplicate(&relay, &first).await;
    second.joined().await;
    first.wait_text("curtain-title", "You play in another tab").await;
    let alone = |status: &Status| {
        let people = status.members.iter().filter(|member| !member.is_robot);
        status.is_host() && people.map(|member| &*member.name).eq(["Ann"])
    };
    let status = second.wait("one Ann plays, and hosts", SETTLE_WITHIN, alone).await;
    assert!(status.members.iter().all(|member| !member.is_spectator), "{status}");
    // The second tab reloads. It is the only member, so it founds the game anew.
    second.reload().await;
    second.wait("one Ann plays, and hosts", JOIN_WITHIN, alone).await;
    // The player goes back to the first tab after all.
    first.tab().ask("Page.bringToFront", json!({})).await;
    first.hands().click("#curtain-buttons [data-action=join]").await;
    first.joined().await;
    second.wait_text("curtain-title", "You play in another tab").await;
    first.wait("one Ann plays, and hosts", SETTLE_WITHIN, alone).await;
    first.finish().await;
    second.finish().await;
}
