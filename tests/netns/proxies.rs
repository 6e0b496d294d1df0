//! The relay behind nginx and Caddy, which run the very configuration of `docs/relay.md`. Robots meet by TLS, at the
//! root and at a sub-path. The game goes on when the proxy reloads its configuration, and when it restarts.
//!
//! If a proxy is not installed, its test says so and ends.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use samovar_tests::bots::Bots;
use samovar_tests::network::Network;
use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::process::Process;
use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;
use samovar_tests::status::Status;
use samovar_tests::wait;

use crate::table::HEALED_WITHIN;

const GUIDE: &str = include_str!("../../docs/relay.md");

/// The paths of the certificate in the guide's configurations, and the relay's address in them.
const CERTIFICATE: [&str; 2] = ["/etc/ssl/tea.example/fullchain.pem", "/etc/ssl/tea.example/privkey.pem"];
const BACKEND: &str = "127.0.0.1:8080";
/// The ports of this test's proxies, which run at the relay's place.
const PORT: u16 = 4_430;
const PLAIN_PORT: u16 = 8_000;

/// The two code blocks of a language in the guide: one serves the root, and one a sub-path.
fn blocks(language: &str) -> [&'static str; 2] {
    let parts = GUIDE.split("\n```").filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'));
    let blocks: Vec<_> = parts.collect();
    blocks.try_into().unwrap_or_else(|blocks| panic!("two blocks of {language}: {blocks:?}"))
}

/// A proxy at the relay's place.
struct Proxy {
    place: Place,
    files: Scratch,
    start: Vec<String>,
    reload: Vec<String>,
    process: Process,
}

impl Proxy {
    fn run(name: &str, place: &Place, files: Scratch, start: Vec<String>, reload: Vec<String>) -> Self {
        let process = spawn(name, place, &files, &start);
        Self { place: place.clone(), files, start, reload, process }
    }

    /// Ends the proxy, with all its connections, and starts it again.
    fn restart(&mut self) {
        self.process.kill();
        self.process = spawn("the proxy", &self.place, &self.files, &self.start);
    }

    /// Lets the proxy reload its configuration.
    fn reload(&self) {
        let output = command(&self.place, &self.files, &self.reload).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    async fn listens(&mut self) {
        let at = format!("{}:{PORT}", self.place.address());
        wait::until("the proxy listens", SETTLE_WITHIN, async || {
            self.process.assert_running();
            self.place.connect(&at).map(drop).map_err(|error| error.to_string())
        })
        .await;
    }
}

fn command(place: &Place, files: &Scratch, arguments: &[String]) -> Command {
    let mut command = place.command(&arguments[0]);
    // Caddy writes its state into its user's directories, so these variables name the scratch directory.
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, files.path());
    }
    command.args(&arguments[1..]).stdin(Stdio::null());
    command
}

fn spawn(name: &str, place: &Place, files: &Scratch, arguments: &[String]) -> Process {
    let log = fs::File::create(files.path().join("log")).expect("a log");
    let mut command = command(place, files, arguments);
    command.stdout(log.try_clone().expect("a log")).stderr(log);
    Process::start(name, &mut command)
}

/// The path of a program, if it is installed. Otherwise prints that it is missing.
fn installed(program: &str) -> Option<String> {
    let directories = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/sbin"].map(PathBuf::from);
    let found = directories.iter().map(|directory| directory.join(program)).find(|path| path.exists());
    if found.is_none() {
        println!("SKIPPED, {program} is missing (Debian: apt-get install {program})");
    }
    found.map(|path| path.display().to_string())
}

/// Writes a certificate for this address, and its key, to files.
fn certify(files: &Scratch, address: Ipv4Addr) -> [String; 2] {
    let own = rcgen::generate_simple_self_signed([address.to_string()]).expect("a certificate");
    let file = |name: &str, text: String| {
        let path = files.path().join(name);
        fs::write(&path, text).expect("writes");
        path.display().to_string()
    };
    [file("certificate.pem", own.cert.pem()), file("key.pem", own.signing_key.serialize_pem())]
}

/// Starts nginx with both blocks in one server.
fn nginx(program: String, place: &Place, relay: &Relay) -> Proxy {
    let files = Scratch::new();
    let certificate = certify(&files, place.address());
    let [server, location] = blocks("nginx");
    let (server, end) = server.rsplit_once('}').expect("a server");
    let mut lines = format!("{server}{location}\n}}{end}").replace(BACKEND, relay.address());
    for (there, here) in CERTIFICATE.iter().zip(&certificate) {
        assert!(lines.contains(there), "{there}");
        lines = lines.replace(there, here);
    }
    let listen = format!("listen {}:{PORT} ssl;\n listen {}:{PLAIN_PORT};", place.address(), place.address());
    assert!(lines.contains("listen 443 ssl;"));
    lines = lines.replace("listen 443 ssl;", &listen);
    let directory = files.path().display();
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {directory}/{kind};\n"))
        .concat();
    let text = format!(
        "daemon off;\npid {directory}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}{lines}\n}}\n"
    );
    let file = files.path().join("nginx.conf");
    fs::write(&file, text).expect("writes");
    let start = [&program, "-c", &file.display().to_string(), "-e", "stderr"].map(str::to_owned).to_vec();
    let reload = [&start[..], &["-s".to_owned(), "reload".to_owned()]].concat();
    Proxy::run("nginx", place, files, start, reload)
}

/// Starts Caddy with both blocks as one site, which it serves without TLS as well.
fn caddy(program: String, place: &Place, relay: &Relay) -> Proxy {
    let files = Scratch::new();
    let [certificate, key] = certify(&files, place.address());
    let body = |block: &str| {
        let inner = block.trim().strip_prefix("tea.example {").and_then(|rest| rest.strip_suffix('}'));
        inner.unwrap_or_else(|| panic!("a site: {block}")).replace(BACKEND, relay.address())
    };
    let [root, path] = blocks("caddy").map(body);
    let (address, admin) = (place.address(), "127.0.0.1:2019");
    let site = format!("{path}\nhandle {{\n{root}\n}}\n");
    let text = format!(
        "{{\nadmin {admin}\nauto_https disable_redirects\n}}\n\
         https://{address}:{PORT} {{\ntls {certificate} {key}\n{site}}}\nhttp://{address}:{PLAIN_PORT} {{\n{site}}}\n"
    );
    let file = files.path().join("Caddyfile");
    fs::write(&file, text).expect("writes");
    let file = file.display().to_string();
    let how = |what: &[&str]| -> Vec<String> {
        let all = [&[program.as_str()], what, &["--config", &file, "--adapter", "caddyfile"]].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    Proxy::run("caddy", place, files, how(&["run"]), how(&["reload", "--force", "--address", admin]))
}

fn both_play(all: &[Status]) -> bool {
    let plays = |status: &Status| {
        status.relay == "connected"
            && status.members.len() == 2
            && status.others().all(|other| other.path == "relayed")
    };
    !all.is_empty() && all.iter().all(plays)
}

/// Starts a relay behind a proxy, and two robots at other places that meet through it.
async fn meet(program: &str, proxy: fn(String, &Place, &Relay) -> Proxy) {
    let Some(program) = installed(program) else { return };
    let network = match Network::open(3) {
        Ok(network) => network,
        Err(why) => return println!("SKIPPED, no network for the test: {why}"),
    };
    let place = network.place(0);
    let flags = ["--trusted-proxy", "10.77.0.1/32", "--log", "debug", "--log-addresses"];
    let relay = Relay::start_with(place, &flags);
    let mut proxy = proxy(program, place, &relay);
    proxy.listens().await;
    let root = format!("https://{}:{PORT}/", place.address());
    let authority = proxy.files.path().join("certificate.pem").display().to_string();
    let trust = ["--ca", &authority];
    let (mut founder, code) = Bots::found_behind(network.place(1), &root, &trust, "relayed").await;
    // The founder is told of the certificate authority by a flag. The other robot's machine trusts the authority.
    let (below, game) = (format!("{root}tea/"), (&*code, "relayed"));
    let mut other = Bots::join_trusting(network.place(2), &below, &authority, game);
    let before = founder.wait("the founder plays with the other", JOIN_WITHIN, both_play).await.remove(0);
    other.wait("and the other with it", JOIN_WITHIN, both_play).await;
    // The relay sees the players' addresses, and not the proxy's, so its limits hold for each player.
    for player in [1, 2] {
        let address = format!("address={}", network.place(player).address());
        assert!(relay.said().contains(&address), "{address} is not in {}", relay.said());
    }
    for (path, words) in [("/tea/api/games", &*code), ("/tea/", "Dueling Teapots"), ("/readyz", "ready")] {
        let (status, body) =
            Relay::get_at(place, &format!("{}:{PLAIN_PORT}", place.address()), path).expect("an answer");
        assert!(status == 200 && body.contains(words), "{path}: {status} {body}");
    }
    proxy.reload();
    let since = Instant::now();
    goes_on(&mut [&mut founder, &mut other], since).await;
    // A reload of Caddy breaks all sockets at once, and one of nginx breaks none. Neither causes a new host. On a
    // busy machine the host may have its own term renewed, because it hears no member for a second.
    let after = founder.wait("it plays", SETTLE_WITHIN, both_play).await.remove(0);
    assert_eq!(after.host, before.host, "{after}");
    proxy.restart();
    proxy.listens().await;
    goes_on(&mut [&mut founder, &mut other], Instant::now()).await;
}

/// Waits until both are in the game, by reports at least two seconds after `since`.
async fn goes_on(robots: &mut [&mut Bots], since: Instant) {
    for robot in robots {
        wait::until("the game goes on", HEALED_WITHIN, async || {
            robot.assert_running();
            let late = since + Duration::from_secs(2);
            match robot.last().filter(|(heard, _)| *heard > late) {
                Some((_, status)) if both_play(std::slice::from_ref(&status)) => Ok(()),
                last => Err(format!("{last:?}")),
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_play_behind_nginx() {
    meet("nginx", nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_play_behind_caddy() {
    meet("caddy", caddy).await;
}
