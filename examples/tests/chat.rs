//! Chat: the host is killed while the others talk, and no line is lost or
//! printed twice.

use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;

use crate::program::Program;

const CHAT: &str = env!("CARGO_BIN_EXE_chat");
const LINES: usize = 30;

fn lines_of<'a>(lines: &'a [String], name: &str) -> Vec<&'a str> {
    let prefix = format!("<{name}> ");
    lines.iter().filter_map(|line| line.strip_prefix(&prefix)).collect()
}

#[tokio::test]
async fn no_line_is_lost_when_the_host_is_killed() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let player =
        |name: &str| Program::start(CHAT, &relay, "TEA-3", name, &folder);
    let mut ann = player("ann");
    ann.founds().await;
    let (mut bob, mut cat) = (player("bob"), player("cat"));
    ann.say("welcome");
    for each in [&mut bob, &mut cat] {
        each.until("the first line", |lines| {
            (lines_of(lines, "ann") == ["welcome"]).then_some(())
        })
        .await;
    }
    for number in 0..LINES {
        bob.say(&format!("line {number}"));
        if number == LINES / 2 {
            ann.kill();
        }
        let heard = format!("line {number}");
        cat.until(&heard, |lines| {
            (lines_of(lines, "bob").last() == Some(&&*heard)).then_some(())
        })
        .await;
    }
    let all: Vec<_> = (0..LINES).map(|n| format!("line {n}")).collect();
    for each in [&mut bob, &mut cat] {
        each.until("each line once", |lines| {
            (lines_of(lines, "bob").len() == LINES).then_some(())
        })
        .await;
        assert_eq!(lines_of(&each.lines(), "bob"), all);
    }
    let told =
        bob.lines().iter().filter(|line| line.ends_with(" hosts now")).count();
    assert_eq!(told, 1, "a new host is told of once");
    let mut dan = player("dan");
    dan.until("the last lines", |lines| {
        (lines_of(lines, "bob") == all[LINES - 8..]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn player_that_slept_and_came_back_can_leave() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let player =
        |name: &str| Program::start(CHAT, &relay, "TEA-4", name, &folder);
    let is_in = |lines: &[String]| {
        lines.iter().any(|line| line.starts_with("joined; ")).then_some(())
    };
    let mut ann = player("ann");
    ann.until("she is in", is_in).await;
    let mut bob = player("bob");
    bob.until("he is in", is_in).await;
    bob.pause();
    let said = |what: &'static str| {
        move |lines: &[String]| lines.iter().any(|l| l == what).then_some(())
    };
    ann.until("bob is missed", said("bob is away")).await;
    bob.resume();
    ann.until("bob is back", said("bob is back")).await;
    ann.say("hello again");
    bob.until("he hears her", said("<ann> hello again")).await;
    bob.say("/leave");
    ann.until("bob has left", said("bob left")).await;
    bob.ends_well().await;
}
