//! Pong: the host is killed, and the same match goes on in step.

use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;

use crate::program::Program;

const PONG: &str = env!("CARGO_BIN_EXE_pong");

/// A line about the world.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    step: u32,
    points: u32,
    differed: u32,
}

fn told(line: &str) -> Option<Told> {
    let (step, rest) = line.strip_prefix("step ")?.split_once(": ")?;
    let (points, differed) = rest.split_once(", differed ")?;
    let (left, right) = points.split_once(" to ")?;
    let points = left.parse::<u32>().ok()? + right.parse::<u32>().ok()?;
    let differed = differed.parse().ok()?;
    Some(Told { step: step.parse().ok()?, points, differed })
}

fn last(lines: &[String]) -> Option<Told> {
    lines.iter().rev().find_map(|line| told(line))
}

#[tokio::test]
async fn match_goes_on_in_step_when_the_host_is_killed() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let player =
        |name: &str| Program::start(PONG, &relay, "TEA-7", name, &folder);
    let mut ann = player("ann");
    ann.founds().await;
    let (mut bob, mut cat) = (player("bob"), player("cat"));
    for each in [&mut ann, &mut bob, &mut cat] {
        each.until("two seconds of it", |lines| {
            last(lines).filter(|told| told.step > 120)
        })
        .await;
    }
    // Without her, cat has the free paddle.
    ann.kill();
    let before = last(&cat.lines()).expect("it has played");
    for each in [&mut bob, &mut cat] {
        let now = each
            .until("five seconds more", |lines| {
                last(lines).filter(|told| told.step > before.step + 300)
            })
            .await;
        assert!(now.points >= before.points, "{before:?}, {now:?}");
        assert_eq!(now.differed, 0, "all compute the same world");
    }
    // The world is the same at both in each step that both have told of.
    let all = |lines: Vec<String>| {
        lines.iter().filter_map(|line| told(line)).collect::<Vec<_>>()
    };
    let (bobs, cats) = (all(bob.lines()), all(cat.lines()));
    for told in &bobs {
        let same = cats.iter().find(|other| other.step == told.step);
        assert!(same.is_none_or(|other| other == told), "{told:?}, {same:?}");
    }
    let mut dan = player("dan");
    let now = dan
        .until("dan has the same match", |lines| {
            last(lines).filter(|told| told.step > before.step + 300)
        })
        .await;
    assert!(now.points >= before.points && now.differed == 0, "{now:?}");
}
