//! A relay that another program started with a pipe as its input.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use samovar_tests::process::{Process, path_from};
use samovar_tests::scratch::Scratch;
use samovar_tests::wait;

const WITHIN: Duration = Duration::from_secs(10);

#[tokio::test]
async fn relay_stops_when_its_input_ends_and_not_before() {
    let data = Scratch::new();
    let mut command = Command::new(path_from("SAMOVAR_RELAY_BIN", "target/release/samovar-relay"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--until-input-ends", "--data"]);
    command.arg(data.path()).stdout(Stdio::piped());
    let mut relay = Process::with_input("the relay", &mut command);
    let mut lines = BufReader::new(relay.child().stdout.take().expect("piped")).lines();
    let line = lines.next().expect("a line").expect("text");
    let address = line.strip_prefix("listening on http://").expect("an address").trim_end_matches('/');
    let mut input = relay.child().stdin.take().expect("piped");
    input.write_all(b"a line is no end\n").expect("it reads");
    std::net::TcpStream::connect(address).expect("it listens");
    relay.assert_running();
    drop(input);
    let ended = wait::until("it stops", WITHIN, async || relay.ended().ok_or_else(|| "it runs".to_owned()));
    assert!(ended.await.success());
}
