//! Join tokens, and the question to the game's own server.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, Refusal, ToRelay, TokenFault};
use samovar_wire::{JoinToken, PROTOCOL_VERSION, Vouched};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch, refusal};

const SECRET: &str = "a secret of the game's own server, 32 bytes or more";

/// The keys of a game's own server, and the relay's files of them.
struct Issuer {
    scratch: Scratch,
    private: EncodingKey,
    public_pem: String,
}

impl Issuer {
    fn new() -> Self {
        let scratch = Scratch::new();
        let keys = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("keys");
        let public_pem = keys.public_key_pem();
        std::fs::write(scratch.path().join("key.pem"), &public_pem).expect("writes");
        private_file(&scratch.path().join("secret"), &format!("{SECRET}\n"));
        let private = EncodingKey::from_ed_pem(keys.serialize_pem().as_bytes()).expect("a key");
        Self { scratch, private, public_pem }
    }

    fn file(&self, name: &str) -> String {
        self.scratch.path().join(name).to_str().expect("text").to_owned()
    }

    fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// A relay that trusts both keys.
    fn relay(&self, more: &[&str]) -> RelayProcess {
        let (key, secret) = (self.file("key.pem"), self.file("secret"));
        let both = [&["--token-key", &key, "--token-secret", &secret][..], more].concat();
        RelayProcess::start_with(&self.data(), &both)
    }

    fn signed(&self, claims: &Value) -> String {
        encode(&Header::new(Algorithm::EdDSA), claims, &self.private).expect("a token")
    }
}

/// Writes a file that its owner alone may read.
fn private_file(path: &Path, text: &str) {
    std::fs::write(path, text).expect("writes");
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("our own");
}

/// A token with `HS256`.
fn by_secret(secret: &[u8], claims: &Value) -> String {
    encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(secret).expect("a key"))
        .expect("a token")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn soon() -> u64 {
    now() + 300
}

/// The relay's answer to a peer with this token.
pub(crate) async fn enter(relay: &RelayProcess, token: Option<&str>, purpose: Purpose) -> (Peer, Vec<Heard>) {
    let mut peer = Peer::connect(relay).await;
    if let Some(token) = token {
        peer.tell(&ToRelay::Token(JoinToken(token.to_owned()))).await;
    }
    peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose })).await;
    let mut heard = vec![peer.hear().await];
    if matches!(heard[0], Heard::Control(FromRelay::Told(_))) {
        heard.push(peer.hear().await);
    }
    (peer, heard)
}

async fn let_in(relay: &RelayProcess, token: Option<&str>, purpose: Purpose) -> (Peer, Entered) {
    let (peer, mut heard) = enter(relay, token, purpose).await;
    match heard.pop() {
        Some(Heard::Control(FromRelay::Entered(entered))) => (peer, entered),
        other => panic!("not let in: {other:?}"),
    }
}

fn word_about(entered: &Entered) -> Option<Vouched> {
    entered.voucher.as_ref().map(|voucher| voucher.vouched.clone())
}

pub(crate) fn create(text: &str) -> Purpose {
    Purpose::Create(Some(code(text)))
}

fn faulty(fault: TokenFault) -> Vec<Heard> {
    vec![Heard::Control(FromRelay::Refused(Refusal::Token(fault)))]
}

#[tokio::test]
async fn tokens_let_in_with_the_name_and_the_role_in_them() {
    let issuer = Issuer::new();
    let relay = issuer.relay(&[]);
    let (_, heard) = enter(&relay, None, create("TEA")).await;
    assert_eq!(heard, faulty(TokenFault::Missing));
    let ann = issuer
        .signed(&json!({ "exp": soon(), "name": " Ann  Bo\u{202e} ", "role": "player", "game": "tea" }));
    let (_ann, entered) = let_in(&relay, Some(&ann), create("TEA")).await;
    let vouched = Vouched { name: Some("Ann Bo".to_owned()), watches: Some(false) };
    assert_eq!(word_about(&entered), Some(vouched));
    let eve = by_secret(SECRET.as_bytes(), &json!({ "exp": soon(), "role": "spectator" }));
    let (_eve, entered) = let_in(&relay, Some(&eve), Purpose::Join(code("TEA"))).await;
    assert_eq!(word_about(&entered), Some(Vouched { name: None, watches: Some(true) }));
    assert_eq!(relay.metric("samovar_refused_total{reason=\"token\"}").await, 1.0);
}

#[tokio::test]
async fn hostile_tokens_are_refused_by_their_fault() {
    let issuer = Issuer::new();
    let relay = issuer.relay(&["--token-audience", "teapots"]);
    let good = json!({ "exp": soon(), "aud": "teapots", "game": "TEA" });
    let with = |changes: &[(&str, Value)]| {
        let mut claims = good.clone();
        changes.iter().for_each(|(name, value)| claims[*name] = value.clone());
        issuer.signed(&claims)
    };
    let without = |name: &str| {
        let mut claims = good.clone();
        claims.as_object_mut().expect("claims").remove(name);
        issuer.signed(&claims)
    };
    let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let genuine = issuer.signed(&good);
    let parts: Vec<&str> = genuine.split('.').collect();
    let other = Issuer::new();
    let unsigned = format!("{}.{}.", encoded(&json!({ "alg": "none", "typ": "JWT" })), parts[1]);
    let richer =
        format!("{}.{}.{}", parts[0], encoded(&json!({ "exp": soon(), "aud": "teapots" })), parts[2]);
    let by_rsa = format!("{}.{}.{}", encoded(&json!({ "alg": "RS256" })), parts[1], parts[2]);
    let as_hmac = format!("{}.{}.{}", encoded(&json!({ "alg": "HS256" })), parts[1], parts[2]);
    for (what, token, fault) in [
        ("no token", "tea".to_owned(), TokenFault::Malformed),
        ("an empty one", String::new(), TokenFault::Malformed),
        ("bytes without end", "a".repeat(4_096), TokenFault::Malformed),
        ("no algorithm", unsigned, TokenFault::Malformed),
        ("another algorithm", by_rsa, TokenFault::Forged),
        ("a signature for another algorithm", as_hmac, TokenFault::Forged),
        // The old trick: the public key, which everybody may know, in place of the secret.
        ("the public key as secret", by_secret(issuer.public_pem.as_bytes(), &good), TokenFault::Forged),
        ("another key", other.signed(&good), TokenFault::Forged),
        (
            "another secret",
            by_secret(b"another secret of another server, 32 bytes", &good),
            TokenFault::Forged,
        ),
        ("other claims", richer, TokenFault::Forged),
        ("one that ended", with(&[("exp", json!(now() - 60))]), TokenFault::Expired),
        ("one without an end", without("exp"), TokenFault::Malformed),
        ("one for ever", with(&[("exp", json!(now() + 10 * 86_400))]), TokenFault::Malformed),
        ("an end in words", with(&[("exp", json!("tomorrow"))]), TokenFault::Malformed),
        ("an end below zero", with(&[("exp", json!(-1))]), TokenFault::Malformed),
        ("an end beyond all numbers", with(&[("exp", json!(1e300))]), TokenFault::Malformed),
        ("one that has not begun", with(&[("nbf", json!(now() + 120))]), TokenFault::NotYet),
        ("one for others", with(&[("aud", json!("kettles"))]), TokenFault::OtherGame),
        ("one for nobody", without("aud"), TokenFault::Malformed),
        ("one for another game", with(&[("game", json!("MILK"))]), TokenFault::OtherGame),
        ("one for no game", with(&[("game", json!("../../tea"))]), TokenFault::Malformed),
        ("an unknown role", with(&[("role", json!("admin"))]), TokenFault::Malformed),
        ("a name that is none", with(&[("name", json!(["Ann"]))]), TokenFault::Malformed),
    ] {
        let (_, heard) = enter(&relay, Some(&token), create("TEA")).await;
        assert_eq!(heard, faulty(fault), "{what}");
    }
    let (_peer, _) = let_in(&relay, Some(&genuine), create("TEA")).await;
    let (_, heard) = enter(&relay, Some(&genuine), Purpose::Rejoin(code("TEA"), forged_pass())).await;
    assert_eq!(heard, faulty(TokenFault::Used));
    // Its signature written in another way is the same token.
    let (_, heard) = enter(&relay, Some(&format!("{genuine}=")), Purpose::Join(code("TEA"))).await;
    assert!([faulty(TokenFault::Used), faulty(TokenFault::Malformed)].contains(&heard), "{heard:?}");
}

fn forged_pass() -> samovar_wire::PeerPass {
    samovar_wire::PeerPass {
        session: samovar_wire::SessionId(1),
        peer: samovar_wire::PeerId(2),
        is_named: true,
        signature: samovar_wire::Signature([7; 64]),
    }
}

#[tokio::test]
async fn a_second_token_before_entering_does_not_count() {
    let issuer = Issuer::new();
    let relay = issuer.relay(&[]);
    let mut peer = Peer::connect(&relay).await;
    peer.tell(&ToRelay::Token(JoinToken("tea".to_owned()))).await;
    peer.tell(&ToRelay::Token(JoinToken(issuer.signed(&json!({ "exp": soon() }))))).await;
    peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose: create("TEA") })).await;
    assert_eq!(vec![peer.hear().await], faulty(TokenFault::Malformed));
}

#[cfg(unix)]
#[tokio::test]
async fn keys_are_read_again_at_sighup() {
    let issuer = Issuer::new();
    let relay = issuer.relay(&[]);
    let other = Issuer::new();
    let token = || other.signed(&json!({ "exp": soon(), "sub": now().to_string() }));
    let (_, heard) = enter(&relay, Some(&token()), create("TEA")).await;
    assert_eq!(heard, faulty(TokenFault::Forged));
    std::fs::write(issuer.file("key.pem"), "no key").expect("writes");
    relay.signal("HUP");
    std::fs::write(issuer.file("key.pem"), &other.public_pem).expect("writes");
    relay.signal("HUP");
    let deadline = Instant::now() + Duration::from_secs(10);
    while enter(&relay, Some(&token()), create("TEA")).await.1 == faulty(TokenFault::Forged) {
        assert!(Instant::now() < deadline, "the new key counts");
        sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn wrong_keys_are_named_at_the_start() {
    let issuer = Issuer::new();
    let (secret, data) = (issuer.file("secret"), issuer.data());
    let private_pem = issuer.file("private.pem");
    private_file(Path::new(&private_pem), &issuer.public_pem);
    let (short, none) = (issuer.file("short"), issuer.file("none"));
    private_file(Path::new(&short), "tea");
    let open = issuer.file("open");
    std::fs::write(&open, SECRET).expect("writes");
    for (flags, word) in [
        (&["--token-key", &none][..], "none"),
        (&["--token-key", &secret], "no public key of Ed25519"),
        (&["--token-secret", &short], "32 bytes"),
        (&["--token-secret", &open], "chmod 600"),
        (&["--token-secret", &private_pem], "no secret"),
        (&["--token-audience", "tea"], "--token-key"),
        (&["--webhook-secret", &secret], "--webhook"),
        (&["--webhook", "https://api.tea.example/", "--webhook-secret", &none], "none"),
    ] {
        let error = refusal("127.0.0.1:0", &data, flags);
        assert!(error.contains(word), "{word} is not in {error}");
    }
}

/// A server of a game that gives each request this answer.
pub(crate) struct GameServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// How a server answers.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// With this status line's end and this body.
    Says(&'static str, &'static str),
    /// With a body without end.
    Endless,
    /// With a head without end.
    EndlessHead,
    /// One byte every 100 ms.
    Drips,
    /// Not at all.
    Hangs,
    /// It closes the connection.
    HangsUp,
}

impl GameServer {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let url = format!("http://{}/enter?v=1", listener.local_addr().expect("bound"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let known = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, manner, Arc::clone(&known)));
            }
        });
        Self { url, asked }
    }

    pub(crate) fn last(&self) -> String {
        self.asked.lock().expect("whole").last().cloned().expect("asked")
    }
}

async fn answer(mut stream: TcpStream, manner: Manner, asked: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    while !String::from_utf8_lossy(&request).contains("\r\n\r\n{") || !request.ends_with(b"}") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&buffer[..count]),
        }
    }
    asked.lock().expect("whole").push(String::from_utf8_lossy(&request).into_owned());
    let head = |length: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    match manner {
        Manner::Says(status, body) => {
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.ok();
        }
        Manner::Endless => {
            stream.write_all(head(usize::MAX >> 1).as_bytes()).await.ok();
            while stream.write_all(&[b' '; 65_536]).await.is_ok() {}
        }
        Manner::EndlessHead => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await.ok();
            while stream.write_all(b"X-Tea: earl grey\r\n").await.is_ok() {}
        }
        Manner::Drips => {
            stream.write_all(head(1_000).as_bytes()).await.ok();
            while stream.write_all(b" ").await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        }
        Manner::Hangs => sleep(Duration::from_secs(60)).await,
        Manner::HangsUp => {}
    }
}

#[tokio::test]
async fn the_games_server_is_asked_and_may_rename_or_refuse() {
    let server =
        GameServer::start(Manner::Says("200 OK", r#"{"allow":true,"name":"Ann","role":"spectator"}"#)).await;
    let scratch = Scratch::new();
    let secret = scratch.path().join("secret");
    private_file(&secret, "tea and milk\n");
    let flags = ["--webhook", &server.url, "--webhook-secret", secret.to_str().expect("text")];
    let relay = RelayProcess::start_with(&scratch.path().join("data"), &flags);
    let (_ann, entered) = let_in(&relay, None, create("TEA")).await;
    assert_eq!(word_about(&entered), Some(Vouched { name: Some("Ann".to_owned()), watches: Some(true) }));
    let request = server.last();
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /enter?v=1 http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer tea and milk"), "{head}");
    let body: Value = body.parse().expect("JSON");
    assert_eq!(
        (&body["action"], &body["game"], &body["params"]),
        (&json!("create"), &json!("TEA"), &json!("0000000000000001"))
    );
    assert_eq!((&body["address"], &body["token"]), (&Value::Null, &Value::Null));

    let server = GameServer::start(Manner::Says("200 OK", r#"{"allow":false,"reason":"Pay\nfirst."}"#)).await;
    let scratch = Scratch::new();
    let relay = RelayProcess::start_with(scratch.path(), &["--webhook", &server.url]);
    let (_, heard) = enter(&relay, None, create("TEA")).await;
    let refused = Heard::Control(FromRelay::Refused(Refusal::NotAllowed));
    assert_eq!(heard, [Heard::Control(FromRelay::Told("Pay first.".to_owned())), refused]);
}

#[tokio::test]
async fn a_games_server_that_fails_costs_seconds_and_no_memory() {
    for (manner, name) in [
        (Manner::Hangs, "hangs"),
        (Manner::HangsUp, "hangs up"),
        (Manner::Endless, "endless"),
        (Manner::EndlessHead, "endless head"),
        (Manner::Drips, "drips"),
        (Manner::Says("200 OK", "no JSON"), "no JSON"),
        (Manner::Says("200 OK", "{}"), "says nothing"),
        (Manner::Says("500 Broken", r#"{"allow":true}"#), "broken"),
        (Manner::Says("302 Found\r\nLocation: /other", r#"{"allow":true}"#), "elsewhere"),
    ] {
        let server = GameServer::start(manner).await;
        let scratch = Scratch::new();
        let flags = ["--webhook", &server.url, "--webhook-timeout", "1"];
        let relay = RelayProcess::start_with(scratch.path(), &flags);
        let start = Instant::now();
        let (_, heard) = enter(&relay, None, create("TEA")).await;
        let told = Heard::Control(FromRelay::Told(
            "The game's server does not answer. Try again in a moment.".to_owned(),
        ));
        assert_eq!(heard, [told, Heard::Control(FromRelay::Refused(Refusal::NotAllowed))], "{name}");
        assert!(start.elapsed() < Duration::from_secs(4), "{name} took {:?}", start.elapsed());
        let status = std::fs::read_to_string(format!("/proc/{}/status", relay.id()));
        let peak = status.ok().and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok())
        });
        assert!(peak.is_none_or(|kilobytes| kilobytes < 100_000), "{name}: {peak:?} kB");
    }
}

#[tokio::test]
async fn the_games_server_sees_the_claims_of_a_genuine_token() {
    let server = GameServer::start(Manner::Says("200 OK", r#"{"allow":true,"name":"Bea"}"#)).await;
    let issuer = Issuer::new();
    let relay = issuer.relay(&["--webhook", &server.url]);
    let (_, heard) = enter(&relay, Some("tea"), create("TEA")).await;
    assert_eq!(heard, faulty(TokenFault::Malformed));
    assert!(server.asked.lock().expect("whole").is_empty(), "it is not asked about strangers");
    let token =
        issuer.signed(&json!({ "exp": soon(), "sub": "user-7", "name": "Ann", "role": "player", "x": 1 }));
    let (_, entered) = let_in(&relay, Some(&token), create("TEA")).await;
    assert_eq!(word_about(&entered), Some(Vouched { name: Some("Bea".to_owned()), watches: Some(false) }));
    let request = server.last();
    let body: Value = request.split_once("\r\n\r\n").expect("a head").1.parse().expect("JSON");
    assert_eq!((&body["token"]["sub"], &body["token"]["role"]), (&json!("user-7"), &json!("player")));
}

#[tokio::test]
async fn only_a_known_member_is_asked_about_as_one_that_comes_back() {
    let server = GameServer::start(Manner::Says("200 OK", r#"{"allow":true}"#)).await;
    let scratch = Scratch::new();
    let relay = RelayProcess::start_with(scratch.path(), &["--webhook", &server.url]);
    let (mut ann, host) = let_in(&relay, None, create("TEA")).await;
    let (bob, entered) = let_in(&relay, None, Purpose::Join(code("TEA"))).await;
    ann.name(&[host.pass.peer, entered.pass.peer]).await;
    drop(bob);
    let action = |request: String| {
        let body: Value = request.split_once("\r\n\r\n").expect("a head").1.parse().expect("JSON");
        (body["action"].clone(), body["name"].clone())
    };
    let (_eve, _) = let_in(&relay, None, Purpose::Rejoin(code("TEA"), forged_pass())).await;
    assert_eq!(action(server.last()), (json!("join"), Value::Null));
    let (_bob, _) = let_in(&relay, None, Purpose::Rejoin(code("TEA"), entered.pass)).await;
    assert_eq!(action(server.last()).0, json!("rejoin"));
    // About a game that is not there it is not asked.
    let asked = server.asked.lock().expect("whole").len();
    let (_, heard) = enter(&relay, None, Purpose::Join(code("MILK"))).await;
    assert_eq!(heard, [Heard::Control(FromRelay::Refused(Refusal::UnknownGame))]);
    assert_eq!(server.asked.lock().expect("whole").len(), asked);
}

#[tokio::test]
async fn an_address_cannot_keep_the_games_server_from_others() {
    let server = GameServer::start(Manner::Hangs).await;
    let scratch = Scratch::new();
    let relay =
        RelayProcess::start_with(scratch.path(), &["--webhook", &server.url, "--webhook-timeout", "4"]);
    let mut knocks = Vec::new();
    for _ in 0..4 {
        let mut peer = crate::strangers::from(&relay, "203.0.113.8").await;
        peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose: create("TEA") }))
            .await;
        knocks.push(peer);
    }
    let deadline = Instant::now() + Duration::from_secs(3);
    while server.asked.lock().expect("whole").len() < 4 {
        assert!(Instant::now() < deadline, "four are asked about");
        sleep(Duration::from_millis(20)).await;
    }
    let mut fifth = crate::strangers::from(&relay, "203.0.113.8").await;
    fifth
        .tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose: create("MILK") }))
        .await;
    let Heard::Control(FromRelay::Told(why)) = fifth.hear().await else { panic!("it is told why") };
    assert!(why.contains("your network"), "{why}");
    let mut other = crate::strangers::from(&relay, "203.0.113.9").await;
    other
        .tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose: create("MILK") }))
        .await;
    while server.asked.lock().expect("whole").len() < 5 {
        assert!(Instant::now() < deadline, "the fifth question is about another address");
        sleep(Duration::from_millis(20)).await;
    }
}
