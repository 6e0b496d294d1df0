//! Robots that are told to leave, cannot, and are told again.

use std::time::Duration;

use samovar_tests::bots::Bots;
use samovar_tests::relay::Relay;
use samovar_tests::wait;

const WITHIN: Duration = Duration::from_secs(10);

/// The number of tries. Robots may be gone before they are told again: on a busy machine the second signal may come
/// after the three seconds that leaving takes at most.
const TRIES: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn robots_that_are_told_to_leave_twice_stop_at_once() {
    for _ in 0..TRIES {
        let mut relay = Relay::start();
        let (mut robots, _) = Bots::found(&relay, 2, "relayed").await;
        // The relay is paused: it passes no messages between the robots, and does not read their LEAVE.
        relay.pause();
        robots.leave();
        let heard = wait::until("they leave", WITHIN, async || {
            let said = robots.said();
            if said.contains("leaving; a second signal stops at once") { Ok(()) } else { Err(said) }
        });
        heard.await;
        if robots.leave_again() {
            let status = robots.end().await;
            match status.code() {
                Some(130) => return,
                // They had left when the signal came.
                Some(0) => {}
                code => panic!("{code:?}: {}", robots.said()),
            }
        }
    }
    panic!("{TRIES} times the robots left before the second signal had an effect");
}
