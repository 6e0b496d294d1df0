//! Checks the ping and the age of data that a page shows over a slow line.

use std::time::Duration;

use samovar_tests::network::{Access, Line, Network};
use samovar_tests::player::{JOIN_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler::median;
use samovar_tests::status::Status;
use samovar_tests::watch::{self, Look, Watch};

/// The delay of each direction of the line.
const DELAY: Duration = Duration::from_millis(30);

/// The percentage of packets that are lost in each direction.
const LOSS: u8 = 5;

/// The greatest error of the medians that the page shows, in milliseconds: a few frames of a busy machine.
const TRUE_WITHIN: f64 = 12.0;

/// Keeps the page's connections. The browser knows their round trips by its own pings.
const KEEP: &str = "window.__connections = [];
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...settings) { super(...settings); __connections.push(this); }
};";

/// The mean round trip of the browser's own pings over the slowest connection, which is the direct one on a slow
/// line.
const CONTROL: &str = "(async () => {
  let slowest = null;
  for (const connection of __connections)
    for (const pair of (await connection.getStats()).values())
      if (pair.type === 'candidate-pair' && pair.responsesReceived > 0)
        slowest = Math.max(slowest, pair.totalRoundTripTime / pair.responsesReceived * 1000);
  return slowest;
})()";

/// The greatest difference, in milliseconds, between two statements of the same sample's time. Ages have a unit of
/// 128 µs, so they identify a sample only so exactly.
const SAME: f64 = 0.3;

/// The longest time that reading the page's figures may take, in milliseconds. A longer look was interrupted, and
/// does not count.
const TOOK: f64 = 3.0;

/// The time in which the clocks settle, and then the time in which the figures are read.
const SETTLE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn ping_and_age_of_data_are_true_over_a_slow_line() {
    let line = Line { delay: DELAY, loss: LOSS };
    let network = match Network::of(&[Access::Near, Access::Near, Access::Far(line)]) {
        Ok(network) => network,
        Err(why) => return println!("SKIPPED, no network for the test: {why}"),
    };
    let udp = ["--udp", "10.77.0.1:0", "--public-address", "10.77.0.1"];
    let relay = Relay::start_with(network.place(0), &udp);
    let ann = Visit::new(&relay, "new=TEA&name=Ann").with_script(KEEP).at(network.place(1)).open().await;
    ann.joined().await;
    let bob = Visit::new(&relay, "game=TEA&name=Bob").with_script(KEEP).at(network.place(2)).open().await;
    bob.joined().await;
    for player in [&ann, &bob] {
        let linked = |status: &Status| {
            status.others().count() == 1 && status.others().all(|other| other.path == "direct")
        };
        player.wait("the link is direct", JOIN_WITHIN, linked).await;
        player.drive(0.6, 0.5, false).await;
    }
    tokio::time::sleep(SETTLE).await;
    watch::start(&ann, "Bob").await;
    watch::start(&bob, "Ann").await;
    tokio::time::sleep(LOOK).await;
    let (at_ann, at_bob) = tokio::join!(watch::seen(&ann), watch::seen(&bob));
    println!("session clocks are {:.2} ms apart", clock(&at_bob) - clock(&at_ann));
    let delay = DELAY.as_secs_f64() * 1_000.0;
    for (name, page, watch, other) in [("Ann", &ann, &at_ann, &at_bob), ("Bob", &bob, &at_bob, &at_ann)] {
        let (ping, [least, usual, most]) = (ping(watch), ages(watch));
        let control = page.tab().evaluate(CONTROL).await.as_f64().expect("the browser has pinged");
        println!(
            "{name} sees a ping of {ping:.2} ms, its browser {control:.2}, and data {least:.1} to {most:.1} ms old, \
             mostly {usual:.1}"
        );
        // The control is the mean of the browser's own pings. The page's ping is the median of many.
        let longest = control.max(2.0 * delay) + TRUE_WITHIN;
        assert!(ping < longest, "a ping of {ping} ms, and {control} by the browser");
        assert!(ping > 2.0 * delay - 1.0, "no ping is shorter than the line");
        let errors = errors(watch, other);
        assert!(errors.len() > 100, "few looks were of a sample whose taking was seen");
        let (usual, most) = (errors[errors.len() / 2], errors[errors.len() * 19 / 20]);
        println!(
            "{} of those ages are mostly {usual:.2} ms from the truth, 95 % at most {most:.2}",
            errors.len()
        );
        assert!(usual < TRUE_WITHIN, "an error of {usual} ms at the median");
        assert!(least > delay - TRUE_WITHIN, "nothing is younger than the line is long");
    }
    ann.finish().await;
    bob.finish().await;
}

/// The session time minus the machine's time.
fn clock(watch: &Watch) -> f64 {
    median(&watch.looks.iter().map(|look| look.session - look.at).collect::<Vec<_>>())
}

fn ping(watch: &Watch) -> f64 {
    median(&watch.looks.iter().filter_map(|look| look.rtt).collect::<Vec<_>>())
}

fn ages(watch: &Watch) -> [f64; 3] {
    let ages: Vec<_> = watch.looks.iter().filter_map(|look| look.age).collect();
    let least = ages.iter().copied().fold(f64::MAX, f64::min);
    [least, median(&ages), ages.iter().copied().fold(0.0, f64::max)]
}

/// The errors of the ages that `seen` shows, in ascending order. The true time of a sample is the moment at which the
/// other player took it (`by`), by the machine's clock.
fn errors(seen: &Watch, by: &Watch) -> Vec<f64> {
    let exact = |look: &&Look| look.took < TOOK;
    let taken = |look: &Look| look.own.map(|age| (look.session - age, look.at - age));
    let mut samples: Vec<(f64, f64)> = by.looks.iter().filter(exact).filter_map(taken).collect();
    samples.sort_by(|one, other| one.0.total_cmp(&other.0));
    let error = |look: &Look| {
        let age = look.age?;
        let sampled = look.session - age;
        let from = samples.partition_point(|sample| sample.0 < sampled - SAME);
        let (_, taken) = samples.get(from).filter(|sample| sample.0 < sampled + SAME)?;
        Some((age - (look.at - taken)).abs())
    };
    let mut errors: Vec<_> = seen.looks.iter().filter(exact).filter_map(error).collect();
    errors.sort_by(f64::total_cmp);
    errors
}
