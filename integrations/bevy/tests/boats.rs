//! Apps in one room, over a real relay: entities, owners, the host's state, and the death of the host.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, io};

use io::BufRead as _;

/// A process that is killed with its handle, and the lines that it printed.
struct Program {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (out, keeps) = (child.stdout.take().expect("piped"), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in io::BufReader::new(out).lines().map_while(Result::ok) {
                keeps.lock().expect("no panic").push(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for a line behind the first `seen` that `is_wanted`; returns it, and how many lines there are then.
    fn wait(&self, what: &str, seen: usize, is_wanted: impl Fn(&str) -> bool) -> (String, usize) {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let lines = self.lines.lock().expect("no panic");
            if let Some(found) = lines.iter().skip(seen).find(|line| is_wanted(line)) {
                return (found.clone(), lines.len());
            }
            assert!(Instant::now() < until, "{what} did not come: {lines:#?}");
            drop(lines);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The number behind a word, as in `score 7`.
fn number(line: &str, word: &str) -> Option<u32> {
    line.strip_prefix(word)?.split_whitespace().next()?.parse().ok()
}

/// The program of an example, which cargo builds beside the tests.
fn example(name: &str) -> PathBuf {
    let own = env::current_exe().expect("a program");
    let target = own.parent().and_then(Path::parent).expect("the folder of the build");
    target.join("examples").join(name)
}

#[test]
fn boats_sail_on_when_the_host_is_killed() {
    let relay = env::var("SAMOVAR_RELAY_BIN").expect("SAMOVAR_RELAY_BIN names the relay's program");
    let data = env::temp_dir().join(format!("samovar-bevy-{}", std::process::id()));
    let relay =
        Program::start(Command::new(relay).args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data));
    let (line, _) = relay.wait("the relay's address", 0, |line| line.contains("http://"));
    let address = line.split("http://").nth(1).expect("an address").trim_end_matches('/').to_owned();
    let boat = |name: &str| {
        let url = format!("ws://{address}/ws");
        Program::start(Command::new(example("boats")).args([&url, "TEA-4", name]))
    };
    let ann = boat("Ann");
    ann.wait("Ann's raft", 0, |line| line.starts_with("raft ") && line.ends_with("of Ann"));
    let (bob, cy) = (boat("Bob"), boat("Cy"));
    for each in [&ann, &bob, &cy] {
        for name in ["Ann", "Bob", "Cy"] {
            each.wait(&format!("{name}'s boat"), 0, |line| line.starts_with(&format!("boat of {name} at")));
        }
    }
    // The raft goes to whoever touches it, and counts on.
    bob.wait("the raft is Bob's", 0, |line| line.starts_with("raft ") && line.ends_with("of Bob"));
    let (score, _) = ann.wait("a score", 0, |line| number(line, "score ").is_some_and(|score| score > 8));
    let (score, seen) = (number(&score, "score "), bob.lines.lock().expect("no panic").len());
    drop(ann);
    bob.wait("another host", seen, |line| line.contains("HostIs"));
    let goes_on =
        |line: &str| line.starts_with("score ") && !line.ends_with("Ann") && number(line, "score ") >= score;
    let (_, seen) = bob.wait("the score goes on under another host", seen, goes_on);
    cy.wait("the score goes on at Cy, too", 0, goes_on);
    bob.wait("the raft is still there", seen, |line| number(line, "raft ").is_some_and(|pushes| pushes > 0));
    bob.wait("Cy sails on", seen, |line| line.starts_with("boat of Cy at"));
    let _ = std::fs::remove_dir_all(data);
}
