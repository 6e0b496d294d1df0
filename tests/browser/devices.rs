//! Input devices: keys of any layout, gamepads, fingers. All input is released when the page no longer receives it.

use samovar_tests::hands::Key;
use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;
use serde_json::json;

/// M, H and W on a Cyrillic layout, and H on a Hebrew one.
const CYRILLIC_M: Key = Key { key: "ь", code: "KeyM" };
const CYRILLIC_H: Key = Key { key: "р", code: "KeyH" };
const CYRILLIC_W: Key = Key { key: "ц", code: "KeyW" };
const HEBREW_H: Key = Key { key: "י", code: "KeyH" };

/// The least speed of a driven teapot, and the greatest speed of a teapot at rest.
const DRIVEN: f64 = 1.0;
const AT_REST: f64 = 0.05;

/// The number of frames within which the page has certainly read a gamepad.
const FRAMES: u64 = 20;

/// Gamepads that a test can push. The browser does not know the layout of the first one.
const PADS: &str = r"
const pad = (index, mapping) => ({
  id: `pad ${index}`, index, mapping, connected: true, axes: [0, 0, 0, 0],
  buttons: Array.from({length: 17}, () => ({pressed: false, touched: false, value: 0})),
});
window.__pads = [pad(0, ''), pad(1, 'standard'), pad(2, 'standard'), null];
navigator.getGamepads = () => window.__pads;
addEventListener('load', () => setTimeout(() => dispatchEvent(new Event('gamepadconnected')), 500));";

#[tokio::test(flavor = "multi_thread")]
async fn shortcuts_work_on_layouts_without_latin_letters() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let is_muted =
        "document.querySelector('#game [data-action=mute]').getAttribute('aria-pressed') === 'true'";
    let is_helped = "document.getElementById('help').open";
    let becomes = async |what: &str, wanted: bool| {
        wait::until(what, SETTLE_WITHIN, async || match ann.tab().evaluate(what).await {
            found if found == wanted => Ok(()),
            found => Err(found.to_string()),
        })
        .await;
    };
    becomes(is_muted, false).await;
    ann.hands().tap_key(CYRILLIC_M).await;
    becomes(is_muted, true).await;
    for key in [CYRILLIC_H, HEBREW_H] {
        ann.hands().tap_key(key).await;
        becomes(is_helped, true).await;
        ann.hands().tap_key(key).await;
        becomes(is_helped, false).await;
    }
    ann.hands().hold(CYRILLIC_W).await;
    drives(&ann).await;
    ann.hands().release(CYRILLIC_W).await;
    rests(&ann).await;
    ann.finish().await;
}

/// Denies the clipboard to scripts, as browsers do over plain HTTP, or while the window has no focus.
const NO_CLIPBOARD: &str = "navigator.clipboard.writeText = () => Promise.reject(new Error('not now'));";

#[tokio::test(flavor = "multi_thread")]
async fn keys_work_after_the_invitation_was_copied() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann").with_script(NO_CLIPBOARD).open().await;
    ann.joined().await;
    ann.hands().click("[data-action=copy]").await;
    wait::until("the link is selected", SETTLE_WITHIN, async || {
        let focused = ann.tab().evaluate("document.activeElement.id").await;
        if focused == "invite-link" { Ok(()) } else { Err(focused.to_string()) }
    })
    .await;
    ann.hands().hold_only(&[Key::W, Key::A]).await;
    drives(&ann).await;
    ann.hands().hold_only(&[]).await;
    ann.hands().tap_key(Key::H).await;
    ann.hands().click("#help button").await;
    // The space bar throws although a panel is open and has the focus. By default the key would close the panel.
    ann.hands().click("#session summary").await;
    ann.hands().hold_only(&[Key::SPACE]).await;
    let flies = |status: &Status| status.objects.iter().any(|object| object.kind == "cube");
    ann.wait("a cube flies", SETTLE_WITHIN, flies).await;
    ann.hands().hold_only(&[]).await;
    assert_eq!(ann.tab().evaluate("document.getElementById('session').open").await, true);
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn held_key_is_released_when_the_page_is_hidden() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    ann.hands().hold(Key::W).await;
    drives(&ann).await;
    ann.hide().await;
    rests(&ann).await;
    ann.show().await;
    rests(&ann).await;
    ann.finish().await;
}

/// Another document on top of the page, which takes the focus when it is clicked.
const ELSEWHERE: &str = "const frame = document.createElement('iframe');
frame.id = 'elsewhere';
frame.style = 'position: fixed; inset: 0 auto auto 0; z-index: 99';
document.body.append(frame), null";

#[tokio::test(flavor = "multi_thread")]
async fn held_input_is_released_when_the_focus_goes_elsewhere() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann").with_script(PADS).open().await;
    ann.joined().await;
    ann.tab().evaluate(ELSEWHERE).await;
    ann.hands().hold(Key::W).await;
    drives(&ann).await;
    ann.hands().click("#elsewhere").await;
    rests(&ann).await;
    ann.tab().evaluate("__pads[1].axes = [0, -1, 0, 0], null").await;
    drives(&ann).await;
    // Pretends that another window is in front. The test's browser has only one window.
    ann.tab().evaluate("document.hasFocus = () => false, null").await;
    rests(&ann).await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gamepad_used_last_drives_the_teapot() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann").with_script(PADS).open().await;
    ann.joined().await;
    let push = async |script: &str| ann.tab().evaluate(&format!("{script}, null")).await;
    // Pad 0 is a device that only pretends to be a gamepad, and pad 1 has a worn stick.
    push("__pads[0].axes = [-1, -1, -1, -1], __pads[1].axes = [0.12, -0.19, 0, 0]").await;
    let before = ann.status().await.frames;
    let after = ann.wait("the pads are read", SETTLE_WITHIN, |status| status.frames >= before + FRAMES).await;
    assert!(speed(&after) <= AT_REST, "{after}");
    push("__pads[1].buttons[12].pressed = true").await;
    drives(&ann).await;
    push("__pads[1].buttons[12].pressed = false").await;
    rests(&ann).await;
    push("__pads[2].axes = [0, 1, 0, 0]").await;
    drives(&ann).await;
    push("__pads[2] = null").await;
    rests(&ann).await;
    push("__pads[1].axes = [0, 0, 0, -1]").await;
    drives(&ann).await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_touch_releases_the_stick() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann").on_a_phone().open().await;
    ann.joined().await;
    // The stick appears with the first touch.
    ann.hands().tap("#scene").await;
    let (x, y) = ann.hands().touch(1, "#stick").await;
    ann.hands().slide(1, (x, y - 40.0)).await;
    drives(&ann).await;
    ann.tab().ask("Input.dispatchTouchEvent", json!({ "type": "touchCancel", "touchPoints": [] })).await;
    rests(&ann).await;
    ann.finish().await;
}

/// On an upright screen the maze stands on its red side, and the whole of it is visible. A teapot begins in a corner,
/// from which a way up and a way to the side always exist.
#[tokio::test(flavor = "multi_thread")]
async fn stick_moves_a_teapot_in_the_upright_maze_of_a_phone() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann&mode=maze").on_a_phone().open().await;
    ann.joined().await;
    let place = |status: &Status| {
        let maze = status.maze.as_ref()?;
        Some(maze.places[maze.role.as_ref()?])
    };
    let is_played = |status: &Status| status.maze.as_ref().is_some_and(|maze| maze.stage == "play");
    let begins = ann.wait("the round begins", SETTLE_WITHIN, is_played).await;
    let (column, row) = place(&begins).expect("a teapot");
    // The stick appears with the first touch.
    ann.hands().tap("#scene").await;
    let (x, y) = ann.hands().touch(1, "#stick").await;
    // Row 1 is at the left edge of the upright picture.
    let aside = if row == 1 { 60.0 } else { -60.0 };
    ann.hands().slide(1, (x + aside, y)).await;
    let is_aside =
        |status: &Status| place(status).is_some_and(|place| place.0 == column && place.1.abs_diff(row) >= 2);
    ann.wait("the teapot is two rows further", SETTLE_WITHIN, is_aside).await;
    ann.hands().slide(1, (x - aside, y)).await;
    let is_back = |status: &Status| place(status) == Some((column, row));
    ann.wait("the teapot is back in its corner", SETTLE_WITHIN, is_back).await;
    ann.hands().slide(1, (x, y - 60.0)).await;
    let is_up = |status: &Status| place(status).is_some_and(|place| place.0 >= column + 2 && place.1 == row);
    ann.wait("the teapot is two columns further", SETTLE_WITHIN, is_up).await;
    ann.screenshot("maze-on-a-phone").await;
    ann.hands().lift(1).await;
    ann.finish().await;
}

async fn drives(player: &Player) {
    player.wait("the teapot drives", SETTLE_WITHIN, |status| speed(status) >= DRIVEN).await;
}

async fn rests(player: &Player) {
    player.wait("the teapot rests", SETTLE_WITHIN, |status| speed(status) <= AT_REST).await;
}

/// The speed of the only teapot.
fn speed(status: &Status) -> f64 {
    let teapot = status.objects.iter().find(|object| object.kind == "teapot");
    let velocity = teapot.and_then(|teapot| teapot.velocity.as_ref());
    velocity.map_or(f64::NAN, |velocity| velocity.iter().map(|part| part * part).sum::<f64>().sqrt())
}
