//! A TypeScript author's first minute: from an empty folder to two tabs that
//! share an object, with the packages as npm would publish them.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::hands::Hands;
use samovar_tests::place::Place;
use samovar_tests::process::{Process, path_from};
use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;
use samovar_tests::wait;
use serde_json::json;

/// From the first command to two tabs, without downloads.
const FIRST_MINUTE: Duration = Duration::from_secs(60);
const WITHIN: Duration = Duration::from_secs(40);
/// The lines of a first program.
const LINES_MAX: usize = 12;

fn packages() -> PathBuf {
    path_from("SAMOVAR_NPM_DIR", "target/npm")
}

/// A command of npm that fetches nothing.
fn npm(folder: &Path, args: &[&str]) -> Command {
    let mut npm = Command::new("npm");
    npm.args(args).current_dir(folder);
    npm.envs([
        ("npm_config_offline", "true"),
        ("npm_config_audit", "false"),
        ("npm_config_fund", "false"),
        ("npm_config_update_notifier", "false"),
        ("NO_COLOR", "1"),
    ]);
    npm
}

fn run(command: &mut Command) {
    let done = command.output().expect("npm is there");
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success(), "{command:?}: {said}");
}

/// `npm create samovar NAME`, from the packed package.
fn create(folder: &Path, name: &str, more: &[&str]) {
    let packages = packages();
    let creator = packages.join(concat!(
        "create-samovar-",
        env!("CARGO_PKG_VERSION"),
        ".tgz"
    ));
    let creator = format!("--package={}", creator.display());
    let packages = packages.display().to_string();
    let args = ["exec", "--yes", &creator, "--", "create-samovar", name];
    let args = [&args, &["--packages", &packages][..], more].concat();
    run(&mut npm(folder, &args));
}

/// `npm run dev`, and the lines that it prints.
struct Server {
    process: Process,
    address: String,
}

impl Server {
    async fn start(project: &Path) -> Self {
        // Two tests must not wait for the same port.
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = port.local_addr().expect("a port").port().to_string();
        let args = ["run", "dev", "--", "--host", "127.0.0.1", "--port", &port];
        let mut dev = npm(project, &args);
        dev.stdout(Stdio::piped());
        let mut process = Process::start("npm run dev", &mut dev);
        let out = process.child().stdout.take().expect("a pipe");
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let address = wait::until("Vite serves", WITHIN, async || {
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            let found = lines.iter().find_map(|line| {
                Some(line.split_once("Local:")?.1.trim().to_owned())
            });
            found.ok_or_else(|| lines.join("\n"))
        })
        .await;
        Self { process, address }
    }
}

/// The program in the package's README.
fn first_program() -> String {
    let readme = include_str!("../../packages/js/README.md");
    let (_, rest) = readme.split_once("```ts\n").expect("a program");
    rest.split_once("```").expect("an end").0.to_owned()
}

async fn until(tab: &Tab, what: &str) -> serde_json::Value {
    wait::until(what, WITHIN, async || {
        let value = tab.try_evaluate(what).await?;
        let is_so = value.as_bool() != Some(false)
            && !value.is_null()
            && value.as_str() != Some("");
        let said = || tab.console().join("\n");
        is_so.then_some(value).ok_or_else(said)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_commands_lead_to_two_tabs_that_share_an_object() {
    let folder = Scratch::new();
    let began = Instant::now();
    create(folder.path(), "my-game", &[]);
    let project = folder.path().join("my-game");
    let program = first_program();
    let lines = program.lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= LINES_MAX, "{lines} lines");
    std::fs::write(project.join("src/main.ts"), &program).expect("a file");
    let server = Server::start(&project).await;
    let chromium =
        Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let one = chromium.tab().await;
    one.open(&server.address).await;
    until(&one, "location.hash.length > 1").await;
    let link = one.evaluate("location.href").await;
    let other = chromium.tab().await;
    other.open(link.as_str().expect("a link")).await;
    until(&other, "document.body.textContent.includes(') (')").await;
    Hands::on(other.clone()).mouse("mouseMoved", (123.0, 45.0)).await;
    until(&other, "document.body.textContent.includes('(123,45)')").await;
    one.ask("Page.bringToFront", json!({})).await;
    until(&one, "document.body.textContent.includes('(123,45)')").await;
    let took = began.elapsed();
    println!("two tabs after {:.1} s, {lines} lines", took.as_secs_f64());
    assert!(took < FIRST_MINUTE, "{took:?}");

    // The program is as prettier writes it, and strict TypeScript takes it.
    let prettier = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../packages/js/node_modules/prettier/bin/prettier.cjs");
    let main = project.join("src/main.ts");
    run(Command::new("node").arg(prettier).arg("--check").arg(main));
    run(&mut npm(&project, &["exec", "tsc"]));

    // A restart of Vite, as after a change of its settings, keeps the room.
    let term = one.evaluate("performance.timeOrigin").await;
    let settings = project.join("vite.config.js");
    let text = std::fs::read_to_string(&settings).expect("settings");
    let text = format!("{text}\n// A change.\n");
    std::fs::write(&settings, text).expect("a file");
    let both = "document.body.textContent.includes(') (')";
    until(&one, &format!("performance.timeOrigin !== {term}")).await;
    other.ask("Page.bringToFront", json!({})).await;
    until(&other, both).await;
    one.ask("Page.bringToFront", json!({})).await;
    until(&one, both).await;
    assert_eq!(one.evaluate("location.href").await, link, "the same room");

    // If the server is killed, its relay ends, too.
    let data = project.join("node_modules/.samovar/relay");
    let mut server = server;
    server.process.kill();
    wait::until("the relay's data are free", WITHIN, async || {
        let mut relay = Command::new(path_from(
            "SAMOVAR_RELAY_BIN",
            "target/release/samovar-relay",
        ));
        relay.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--until-input-ends",
            "--data",
        ]);
        let ended = relay.arg(&data).stdin(Stdio::null()).output();
        let ended = ended.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ended.status.success().then_some(()).ok_or(said)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_template_is_built_and_plays_from_a_relay() {
    let folder = Scratch::new();
    create(folder.path(), "physics", &["--template", "physics"]);
    let chromium =
        Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let packages = folder.path().join("physics/node_modules");
    for (name, shows) in [
        ("physics", "title.textContent.startsWith('8 boxes')"),
        ("cursors", "document.querySelectorAll('.cursor').length === 2"),
        ("pong", "/^0 : 0, you play right$/.test(score.textContent)"),
        ("board", "turn.textContent.startsWith('It is the turn of Player')"),
    ] {
        let project = folder.path().join(name);
        if name != "physics" {
            create(folder.path(), name, &["--template", name, "--no-install"]);
            let link = project.join("node_modules");
            std::os::unix::fs::symlink(&packages, link).expect("a link");
        }
        run(&mut npm(&project, &["run", "build"]));
        let relay = Relay::serving(&project.join("dist"));
        let page = format!("http://{}/", relay.address());
        let (one, other) = (chromium.tab().await, chromium.tab().await);
        one.open(&page).await;
        until(&one, "location.hash.length > 1").await;
        let link = one.evaluate("location.href").await;
        other.ask("Page.bringToFront", json!({})).await;
        other.open(link.as_str().expect("a link")).await;
        until(&other, shows).await;
        // The host's tab is closed.
        one.ask("Page.close", json!({})).await;
        let hosts = "document.querySelector('#status').textContent.endsWith('hosts now')";
        until(&other, hosts).await;
        other.ask("Page.close", json!({})).await;
    }
}

#[test]
fn relay_for_development_starts_and_stops_with_its_program() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../packages/relay/tests/relay.test.js");
    let relay = path_from("SAMOVAR_RELAY_BIN", "target/release/samovar-relay");
    let relay = relay.canonicalize().expect("a relay");
    run(Command::new("node")
        .arg("--test")
        .arg(tests)
        .env("SAMOVAR_RELAY_BIN", relay));
}
