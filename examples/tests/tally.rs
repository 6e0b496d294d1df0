//! Tally: hosts are killed one after the other, and each ask of the remaining
//! players counts once.

use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;

use crate::program::Program;

const TALLY: &str = env!("CARGO_BIN_EXE_tally");
const ASKS: u32 = 200;

/// A player's asks and points, as it last printed them.
fn told(lines: &[String]) -> Option<(u32, u32)> {
    lines.iter().rev().find_map(|line| {
        let (asked, rest) = line.split_once(" asked, ")?;
        let (points, _) = rest.split_once(" points, ")?;
        Some((asked.parse().ok()?, points.parse().ok()?))
    })
}

#[tokio::test]
async fn each_ask_counts_once_when_two_hosts_are_killed() {
    let (relay, folder) = (Relay::start(), Scratch::new());
    let mut players = Vec::new();
    for name in ["ann", "bob", "cat", "dan"] {
        let mut player = Program::start(TALLY, &relay, "TEA-2", name, &folder);
        player
            .until("it plays", |lines| told(lines).filter(|told| told.1 > 0))
            .await;
        players.push((name.to_owned(), player));
    }
    for _ in 0..2 {
        let is_host = |lines: &[String]| {
            let host = |line: &String| {
                line.strip_suffix(" hosts now")
                    .or_else(|| {
                        line.strip_prefix("joined; ")?.strip_suffix(" hosts")
                    })
                    .map(str::to_owned)
            };
            lines.iter().rev().find_map(host)
        };
        // The player that joined last has printed the name of each host so
        // far.
        let last = players.len() - 1;
        let host = players[last].1.until("somebody hosts", is_host).await;
        let before = told(&players[last].1.lines()).map_or(0, |told| told.1);
        let place = players
            .iter()
            .position(|(name, _)| *name == host)
            .expect("a player hosts");
        let (_, mut dead) = players.remove(place);
        dead.kill();
        for (_, player) in &mut players {
            player
                .until("its points grow", |lines| {
                    told(lines).filter(|told| told.1 > before.min(ASKS - 20))
                })
                .await;
        }
    }
    for (_, player) in &mut players {
        let done = |lines: &[String]| {
            told(lines)
                .filter(|&(asked, points)| asked == ASKS && points >= ASKS)
        };
        assert_eq!(
            player.until("all its asks have counted", done).await,
            (ASKS, ASKS)
        );
    }
    // No ask counts a second time later on.
    for (_, player) in &mut players {
        let count = player.lines().len();
        player
            .until("it tells more", |lines| {
                (lines.len() > count + 4).then_some(())
            })
            .await;
        assert_eq!(told(&player.lines()), Some((ASKS, ASKS)));
    }
}
