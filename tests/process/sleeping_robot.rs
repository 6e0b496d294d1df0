//! A robot's process is stopped for longer than the others wait for it, and then goes on.

use std::time::{Duration, Instant};

use samovar_tests::bots::Bots;
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// The time for which the robot sleeps. The others wait for a member for 5 s.
const ASLEEP: Duration = Duration::from_secs(8);

const WITHIN: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn robot_that_slept_comes_back_by_itself() {
    for is_host in [false, true] {
        let relay = Relay::start();
        let (first, code) = Bots::found(&relay, 1, "relayed").await;
        let second = Bots::join(&relay, &code, "relayed");
        let (mut sleeper, mut other) = if is_host { (first, second) } else { (second, first) };
        let together = |reports: &[Status]| {
            reports.iter().any(|status| status.others().count() == 1 && status.backup.is_some())
        };
        let before = sleeper.wait("both play", WITHIN, together).await;
        let former = before.last().expect("it reports").clone();
        sleeper.pause();
        let alone = |reports: &[Status]| {
            reports.iter().any(|status| status.is_host() && status.others().count() == 0)
        };
        other.wait("the other plays on alone", WITHIN, alone).await;
        tokio::time::sleep(ASLEEP).await;
        let woken = Instant::now();
        sleeper.resume();
        let back = |reports: &[Status]| {
            reports.iter().any(|status| {
                status.peer.is_some() && status.peer != former.peer && status.others().count() == 1
            })
        };
        let reports = sleeper.wait("it sits again", WITHIN, back).await;
        println!("{is_host}: back {:.1} s after it woke up", woken.elapsed().as_secs_f64());
        let now = reports.iter().find(|status| back(std::slice::from_ref(status))).expect("it is back");
        assert_eq!(now.name, former.name, "{now}");
        assert!(own_score(now) >= own_score(&former), "{former}\n{now}");
        assert!(!now.is_host(), "the other went on and stays host: {now}");
        other.wait("the other sees it", WITHIN, together).await;
    }
}

/// The score of the reporting robot. Its name does not identify it, because both robots have the same name.
fn own_score(status: &Status) -> Option<i64> {
    status.members.iter().find(|member| member.is_self).map(|member| member.score)
}
