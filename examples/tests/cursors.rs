//! Cursors: the host is killed, and is started again.

use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;

use crate::program::Program;

const CURSORS: &str = env!("CARGO_BIN_EXE_cursors");

/// The last place of another player's cursor that a player has printed.
fn last<'a>(lines: &'a [String], name: &str) -> Option<&'a str> {
    let prefix = format!("{name}: ");
    lines.iter().rev().find_map(|line| line.strip_prefix(&prefix))
}

fn score(lines: &[String]) -> Option<u32> {
    lines
        .iter()
        .rev()
        .find_map(|line| line.strip_prefix("score ")?.parse().ok())
}

/// The owners of all cursors that a player sees at a time: it prints them
/// between its last two scores.
fn seen(lines: &[String]) -> Option<Vec<String>> {
    let mut rounds = lines.rsplit(|line| line.starts_with("score "));
    rounds.next();
    let mut names: Vec<_> = rounds
        .next()?
        .iter()
        .filter(|line| !line.starts_with('<') && line.contains(": ["))
        .filter_map(|line| Some(line.split_once(": ")?.0.to_owned()))
        .collect();
    names.sort();
    Some(names)
}

#[tokio::test]
async fn killed_host_gets_its_cursor_back_after_a_restart() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let player =
        |name: &str| Program::start(CURSORS, &relay, "TEA-1", name, &folder);
    let mut ann = player("ann");
    ann.founds().await;
    let (mut bob, mut cat) = (player("bob"), player("cat"));
    let all = ["ann", "bob", "cat"].map(str::to_owned).to_vec();
    for each in [&mut ann, &mut bob, &mut cat] {
        each.until("all cursors", |lines| (seen(lines)? == all).then_some(()))
            .await;
    }
    bob.until("talk", |lines| {
        lines.iter().any(|line| line == "<ann> hello").then_some(())
    })
    .await;
    ann.kill();
    let hosts = |lines: &[String]| {
        lines
            .iter()
            .rev()
            .find_map(|line| line.strip_suffix(" hosts now").map(str::to_owned))
    };
    let host = bob.until("another hosts", hosts).await;
    assert_ne!(host, "ann");
    let before = score(&bob.lines()).expect("a score");
    bob.until("the score goes on", |lines| {
        (score(lines)? > before + 4).then_some(())
    })
    .await;
    let place = last(&cat.lines(), "bob").map(str::to_owned);
    cat.until("bob moves on", |lines| {
        (last(lines, "bob").map(str::to_owned) != place).then_some(())
    })
    .await;
    let mut again = player("ann");
    again
        .until("all cursors again", |lines| (seen(lines)? == all).then_some(()))
        .await;
    // The restarted host took its own cursor back: there is no second one of
    // its name.
    let count = cat.lines().len();
    cat.until("all cursors, and no other", |lines| {
        (lines.len() > count + 12 && seen(lines)? == all).then_some(())
    })
    .await;
}
