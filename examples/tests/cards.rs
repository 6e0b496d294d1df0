//! Cards: the host is killed, and the rounds go on, checked by each player.

use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;

use crate::program::Program;

const CARDS: &str = env!("CARGO_BIN_EXE_cards");

fn rounds(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| line.ends_with(" wins")).collect()
}

#[tokio::test]
async fn rounds_go_on_fairly_when_the_host_is_killed() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let player =
        |name: &str| Program::start(CARDS, &relay, "TEA-6", name, &folder);
    let mut ann = player("ann");
    ann.founds().await;
    let (mut bob, mut cat) = (player("bob"), player("cat"));
    for each in [&mut ann, &mut bob, &mut cat] {
        each.until("three rounds", |lines| {
            (rounds(lines).len() >= 3).then_some(())
        })
        .await;
    }
    ann.kill();
    for each in [&mut bob, &mut cat] {
        let before = rounds(&each.lines()).len();
        each.until("five rounds more", |lines| {
            (rounds(lines).len() >= before + 5).then_some(())
        })
        .await;
    }
    let (bobs, cats) = (bob.lines(), cat.lines());
    for lines in [&bobs, &cats] {
        let cheated = lines.iter().find(|line| line.contains("cheated"));
        assert_eq!(cheated, None);
    }
    // Both have the same cards in each round that both have seen.
    let number = |line: &str| line.split(':').next().map(str::to_owned);
    let same = rounds(&bobs).into_iter().filter(|line| {
        let other = rounds(&cats)
            .into_iter()
            .find(|other| number(other) == number(line));
        other.inspect(|other| assert_eq!(other, line)).is_some()
    });
    assert!(same.count() >= 5);
}
