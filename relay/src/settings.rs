//! The settings of a relay: by flags, by the environment, by a file, in this order of precedence.
//!
//! One struct serves all three, so that a flag `--game-packets`, a variable `SAMOVAR_GAME_PACKETS` and a key
//! `game-packets` are the same setting with the same text about allowed values.

mod error;
mod limits;

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
pub use error::SettingsError;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use crate::endpoint::UdpConfig;
pub use crate::frames::{Frame, FrameAncestors};
use crate::gate::{GateConfig, TokenKeys, WebhookConfig};
use crate::limits::LimitWords;
pub use crate::network::{Network, PublicAddress};
use crate::processors;
use crate::referee::RefereeConfig;
use crate::server::ServeConfig;
use crate::tls::{AcmeNames, LETS_ENCRYPT, TlsConfig, TlsFiles};
pub use crate::value::{Code, DomainName, HttpUrl, Origin, Whole};

/// The least rate of bytes: somewhat more than the largest message.
const BYTE_RATE_MIN: u64 = 20_000;

/// A number per second: of packets, bytes, or connections; 0 means no limit.
type PerSecond = Whole<0, 1_000_000_000_000>;

/// Everything that can be set; `None` is what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Settings {
    /// Address to listen at; port 0 takes a free one, which is printed [default: 127.0.0.1:8080].
    #[arg(long, env = "SAMOVAR_LISTEN", value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Address to take members' data channels at, by UDP, and to tell browsers theirs; port 0 takes a free one, which
    /// is printed. Without it members have WebSockets alone.
    #[arg(long, env = "SAMOVAR_UDP", value_name = "ADDRESS:PORT")]
    udp: Option<SocketAddr>,
    /// Threads for the data channels of --udp: one less than the machine has processors, unless told. On Linux only;
    /// other systems have one.
    #[arg(long, env = "SAMOVAR_UDP_THREADS", value_name = "NUMBER")]
    udp_threads: Option<Whole<1, 64>>,
    /// Address that members shall reach --udp at, with a port when a router or Docker gives it another, and again for
    /// one of the other family; that of --udp unless told, which must be told when that is 0.0.0.0 or [::].
    #[arg(long, env = "SAMOVAR_PUBLIC_ADDRESS", value_name = "ADDRESS[:PORT]", value_delimiter = ',')]
    public_address: Option<Vec<PublicAddress>>,
    /// Name of the relay, like tea.example, and again for each further one: the relay then gets certificates by itself and
    /// renews them (ACME). It listens at port 443 unless --listen says otherwise, and sends browsers there from port 80. The authority's terms of service are accepted by it.
    #[arg(long, env = "SAMOVAR_DOMAIN", value_name = "NAME", value_delimiter = ',')]
    domain: Option<Vec<DomainName>>,
    /// Address to which the authority of --domain may write, like ann@tea.example.
    #[arg(long, env = "SAMOVAR_ACME_CONTACT", value_name = "URL")]
    acme_contact: Option<String>,
    /// Directory of the authority that certifies --domain [default: that of Let's Encrypt].
    #[arg(long, env = "SAMOVAR_ACME_DIRECTORY", value_name = "URL")]
    acme_directory: Option<String>,
    /// Certificates, in PEM, that the authority's own server may be of, beside those that this machine trusts.
    #[arg(long, env = "SAMOVAR_ACME_CA", value_name = "FILE")]
    acme_ca: Option<PathBuf>,
    /// Address at which browsers that come by HTTP are sent to HTTPS; port 80 with --domain and without --listen.
    #[arg(long, env = "SAMOVAR_REDIRECT", value_name = "ADDRESS:PORT")]
    redirect: Option<SocketAddr>,
    /// Certificate of the relay's name with its chain, in PEM: the relay then speaks HTTPS at --listen. It is read again when
    /// the file changes, and at SIGHUP. Goes with --tls-key.
    #[arg(long, env = "SAMOVAR_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert, in PEM.
    #[arg(long, env = "SAMOVAR_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Directory of the relay's key and of the terms it has granted; created when it is not there. Has no default.
    #[arg(long, env = "SAMOVAR_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Directory of the built page, read at the start; without it the page that was built in, if any.
    #[arg(long, env = "SAMOVAR_WEB", value_name = "DIR")]
    web: Option<PathBuf>,
    /// Hosts games itself: one, under this code (REFEREE unless told), and a further one whenever all are full. When
    /// the relay dies their players go on by themselves.
    #[arg(long, env = "SAMOVAR_REFEREE", value_name = "CODE", num_args = 0..=1, default_missing_value = "REFEREE")]
    referee: Option<Code>,
    /// Client-server at the referee's tables: players have paths with the referee and its backup only, which carry what
    /// players say to each other.
    #[arg(long, env = "SAMOVAR_BY_HOST", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    by_host: Option<bool>,
    /// The former name of `--by-host`.
    #[arg(long, hide = true, env = "SAMOVAR_STAR", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    star: Option<bool>,
    /// Answers /metrics, /healthz and /readyz at this address too, and /metrics nowhere else.
    #[arg(long, env = "SAMOVAR_METRICS", value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// A page whose peers are let in, like `https://tea.example`, and again for each further one; any page unless told.
    /// Peers that are no browsers name none and are let in. These pages may read /api/ as well.
    #[arg(long, env = "SAMOVAR_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    origin: Option<Vec<Origin>>,
    /// A page that may show the relay's in a frame, like `https://tea.example`, and again for each further one; or
    /// `self`, the relay's own pages; or `none`, or `any` [default: self].
    #[arg(long, env = "SAMOVAR_FRAME_ANCESTORS", value_name = "ORIGIN", value_delimiter = ',')]
    frame_ancestors: Option<Vec<Frame>>,
    /// Address or network (`10.0.0.0/8`) of proxies whose X-Forwarded-For is believed, and again for each further one;
    /// a limit of an address is not one of the proxy's own [default: 127.0.0.1,::1].
    #[arg(long, env = "SAMOVAR_TRUSTED_PROXY", value_name = "NETWORK", value_delimiter = ',')]
    trusted_proxy: Option<Vec<Network>>,
    /// How long games may go on after SIGTERM, in seconds; 0 stops at once [default: 30].
    #[arg(long, env = "SAMOVAR_DRAIN", value_name = "SECONDS")]
    drain: Option<Whole<0, 65_535>>,
    /// The filter of the log, in the words of tracing's EnvFilter [default: info].
    #[arg(long, env = "RUST_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// How it is logged [default: text].
    #[arg(long, env = "SAMOVAR_LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Logs addresses of peers; they are left out otherwise.
    #[arg(long, env = "SAMOVAR_LOG_ADDRESSES", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    log_addresses: Option<bool>,
    /// Public key of Ed25519, in PEM, of the game's own server, and again for each further one: players need a join token that
    /// one of them verifies (a JSON Web Token with EdDSA). Read again at SIGHUP.
    #[arg(long, env = "SAMOVAR_TOKEN_KEY", value_name = "FILE", value_delimiter = ',')]
    token_key: Option<Vec<PathBuf>>,
    /// File of the secret that the relay shares with the game's own server: players need a join token that it verifies
    /// (a JSON Web Token with HS256). Read again at SIGHUP.
    #[arg(long, env = "SAMOVAR_TOKEN_SECRET", value_name = "FILE")]
    token_secret: Option<PathBuf>,
    /// Audience that join tokens must name (their claim `aud`).
    #[arg(long, env = "SAMOVAR_TOKEN_AUDIENCE", value_name = "TEXT")]
    token_audience: Option<String>,
    /// Address of the game's own server, which the relay asks by a POST about each player that wants to enter.
    #[arg(long, env = "SAMOVAR_WEBHOOK", value_name = "URL")]
    webhook: Option<HttpUrl>,
    /// File of the secret that the relay shows to the server of --webhook (Authorization: Bearer).
    #[arg(long, env = "SAMOVAR_WEBHOOK_SECRET", value_name = "FILE")]
    webhook_secret: Option<PathBuf>,
    /// Certificates, in PEM, that the server of --webhook may be of, beside those that this machine trusts.
    #[arg(long, env = "SAMOVAR_WEBHOOK_CA", value_name = "FILE")]
    webhook_ca: Option<PathBuf>,
    /// How long the server of --webhook may take to answer, in seconds; players are refused after it [default: 3].
    #[arg(long, env = "SAMOVAR_WEBHOOK_TIMEOUT", value_name = "SECONDS")]
    webhook_timeout: Option<Whole<1, 4>>,
    /// How long a connection may take for its request, and to take what it asked for, in seconds [default: 10].
    #[arg(long, env = "SAMOVAR_HANDSHAKE", value_name = "SECONDS")]
    handshake: Option<Whole<1, 600>>,
    /// Connections at once, those that only fetch the page included [default: 16384].
    #[arg(long, env = "SAMOVAR_CONNECTIONS", value_name = "N")]
    connections: Option<Whole<1, 16_384>>,
    /// Games at once [default: 10000].
    #[arg(long, env = "SAMOVAR_GAMES", value_name = "N")]
    games: Option<Whole<0, 10_000>>,
    /// Connections of one game [default: 64].
    #[arg(long, env = "SAMOVAR_GAME_CONNECTIONS", value_name = "N")]
    game_connections: Option<Whole<1, 64>>,
    /// Packets a second from all members of one game; 0 is without limit, as of all rates [default: 32000].
    #[arg(long, env = "SAMOVAR_GAME_PACKETS", value_name = "N")]
    game_packets: Option<PerSecond>,
    /// Bytes a second from all members of one game [default: 16000000].
    #[arg(long, env = "SAMOVAR_GAME_BYTES", value_name = "N")]
    game_bytes: Option<PerSecond>,
    /// Bytes that wait for all members together [default: 268435456].
    #[arg(long, env = "SAMOVAR_QUEUE_BYTES", value_name = "N")]
    queue_bytes: Option<Whole<1_048_576, 1_099_511_627_776>>,
    /// Packets a second from one member [default: 4000].
    #[arg(long, env = "SAMOVAR_MEMBER_PACKETS", value_name = "N")]
    member_packets: Option<PerSecond>,
    /// Bytes a second from one member [default: 2000000].
    #[arg(long, env = "SAMOVAR_MEMBER_BYTES", value_name = "N")]
    member_bytes: Option<PerSecond>,
    /// New connections a second of all addresses together, beyond which each gets fewer [default: 2000].
    #[arg(long, env = "SAMOVAR_OPENS", value_name = "N")]
    opens: Option<PerSecond>,
    /// Connections at once from one address, or one /64 network of IPv6 [default: 256].
    #[arg(long, env = "SAMOVAR_ADDRESS_CONNECTIONS", value_name = "N")]
    address_connections: Option<Whole<1, 16_384>>,
    /// New connections a second from one address [default: 200].
    #[arg(long, env = "SAMOVAR_ADDRESS_OPENS", value_name = "N")]
    address_opens: Option<PerSecond>,
    /// Packets a second from one address [default: 32000].
    #[arg(long, env = "SAMOVAR_ADDRESS_PACKETS", value_name = "N")]
    address_packets: Option<PerSecond>,
    /// Bytes a second from one address [default: 16000000].
    #[arg(long, env = "SAMOVAR_ADDRESS_BYTES", value_name = "N")]
    address_bytes: Option<PerSecond>,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

impl Settings {
    /// Reads the settings in a file.
    ///
    /// # Errors
    /// The file cannot be read, or is invalid; the text names the line and the key.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = fs::read_to_string(path).map_err(|error| SettingsError::File(path.to_owned(), error))?;
        toml::from_str(&text).map_err(|error| SettingsError::Toml(path.to_owned(), Box::new(error)))
    }

    /// The data directory, if it is set.
    #[must_use]
    pub fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// These settings, and those of `below` where these have none.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            listen: self.listen.or(below.listen),
            udp: self.udp.or(below.udp),
            udp_threads: self.udp_threads.or(below.udp_threads),
            domain: self.domain.or(below.domain),
            acme_contact: self.acme_contact.or(below.acme_contact),
            acme_directory: self.acme_directory.or(below.acme_directory),
            acme_ca: self.acme_ca.or(below.acme_ca),
            redirect: self.redirect.or(below.redirect),
            tls_cert: self.tls_cert.or(below.tls_cert),
            tls_key: self.tls_key.or(below.tls_key),
            public_address: self.public_address.or(below.public_address),
            data: self.data.or(below.data),
            web: self.web.or(below.web),
            referee: self.referee.or(below.referee),
            by_host: self.by_host.or(below.by_host),
            star: self.star.or(below.star),
            metrics: self.metrics.or(below.metrics),
            origin: self.origin.or(below.origin),
            frame_ancestors: self.frame_ancestors.or(below.frame_ancestors),
            trusted_proxy: self.trusted_proxy.or(below.trusted_proxy),
            drain: self.drain.or(below.drain),
            log: self.log.or(below.log),
            log_format: self.log_format.or(below.log_format),
            log_addresses: self.log_addresses.or(below.log_addresses),
            token_key: self.token_key.or(below.token_key),
            token_secret: self.token_secret.or(below.token_secret),
            token_audience: self.token_audience.or(below.token_audience),
            webhook: self.webhook.or(below.webhook),
            webhook_secret: self.webhook_secret.or(below.webhook_secret),
            webhook_ca: self.webhook_ca.or(below.webhook_ca),
            webhook_timeout: self.webhook_timeout.or(below.webhook_timeout),
            handshake: self.handshake.or(below.handshake),
            connections: self.connections.or(below.connections),
            games: self.games.or(below.games),
            game_connections: self.game_connections.or(below.game_connections),
            game_packets: self.game_packets.or(below.game_packets),
            game_bytes: self.game_bytes.or(below.game_bytes),
            queue_bytes: self.queue_bytes.or(below.queue_bytes),
            member_packets: self.member_packets.or(below.member_packets),
            member_bytes: self.member_bytes.or(below.member_bytes),
            address_connections: self.address_connections.or(below.address_connections),
            opens: self.opens.or(below.opens),
            address_opens: self.address_opens.or(below.address_opens),
            address_packets: self.address_packets.or(below.address_packets),
            address_bytes: self.address_bytes.or(below.address_bytes),
        }
    }

    /// Whether a setting uses an old name.
    #[must_use]
    pub const fn has_old_names(&self) -> bool {
        self.star.is_some()
    }

    /// The defaults.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            listen: Some((Ipv4Addr::LOCALHOST, 8080).into()),
            udp: None,
            udp_threads: None,
            domain: None,
            acme_contact: None,
            acme_directory: None,
            acme_ca: None,
            redirect: None,
            tls_cert: None,
            tls_key: None,
            public_address: Some(Vec::new()),
            data: None,
            web: None,
            referee: None,
            by_host: Some(false),
            star: None,
            metrics: None,
            origin: Some(Vec::new()),
            frame_ancestors: Some(vec![Frame::Own]),
            trusted_proxy: Some(vec![
                Network::of(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                Network::of(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            ]),
            drain: Some(Whole::new(30)),
            log: Some("info".to_owned()),
            log_format: Some(LogFormat::Text),
            log_addresses: Some(false),
            token_key: Some(Vec::new()),
            token_secret: None,
            token_audience: None,
            webhook: None,
            webhook_secret: None,
            webhook_ca: None,
            webhook_timeout: Some(Whole::new(3)),
            handshake: Some(Whole::new(10)),
            connections: Some(Whole::new(16_384)),
            games: Some(Whole::new(10_000)),
            game_connections: Some(Whole::new(64)),
            game_packets: Some(Whole::new(32_000)),
            game_bytes: Some(Whole::new(16_000_000)),
            queue_bytes: Some(Whole::new(268_435_456)),
            member_packets: Some(Whole::new(4_000)),
            member_bytes: Some(Whole::new(2_000_000)),
            address_connections: Some(Whole::new(256)),
            opens: Some(Whole::new(2_000)),
            address_opens: Some(Whole::new(200)),
            address_packets: Some(Whole::new(32_000)),
            address_bytes: Some(Whole::new(16_000_000)),
        }
    }

    /// These settings, and the defaults where these have none. A relay with a name listens at the ports of the web, unless it
    /// is told another.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        if self.listen.is_none() && self.domain.as_ref().is_some_and(|names| !names.is_empty()) {
            let of_all = |port| Some((Ipv6Addr::UNSPECIFIED, port).into());
            (self.listen, self.redirect) = (of_all(443), self.redirect.or(of_all(80)));
        }
        self.or(Self::defaults())
    }

    /// The settings as the text of a file that [`Settings::read`] takes.
    ///
    /// # Panics
    /// Never: every value has a form in TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers, texts, flags and lists of texts are TOML")
    }

    /// The resulting configuration, with the defaults.
    ///
    /// # Errors
    /// The settings contradict each other, one of them is invalid, or none gives the data directory.
    pub fn resolve(self) -> Result<(ServeConfig, LogConfig), SettingsError> {
        let all = self.with_defaults();
        let by_host = set(all.by_host) || all.star == Some(true);
        if by_host && all.referee.is_none() {
            return Err(SettingsError::ByHostWithoutReferee);
        }
        all.check_byte_rates()?;
        let referee = all.referee.clone().map(|code| RefereeConfig { code: code.0, by_host });
        let filter = set(all.log.clone());
        let filter = EnvFilter::try_new(&filter).map_err(|error| SettingsError::Filter(filter, error))?;
        let log = LogConfig { filter, format: set(all.log_format) };
        let tls = all.tls()?;
        let redirect = all.redirect;
        if redirect.is_some() && tls.is_none() {
            return Err(SettingsError::RedirectWithoutTls);
        }
        let serve = ServeConfig {
            listen: set(all.listen),
            tls,
            redirect,
            udp: all.udp()?,
            data: all.data.clone().ok_or(SettingsError::NoData)?,
            web: all.web.clone(),
            frames: FrameAncestors::new(set(all.frame_ancestors.clone())).ok_or(SettingsError::Frames)?,
            referee,
            metrics: all.metrics,
            logs_addresses: set(all.log_addresses),
            drain: Duration::from_secs(set(all.drain).get()),
            log: None,
            gate: all.gate()?,
            limit_words: LimitWords { text: Self::limits_text, change: Self::changed_limits },
            limits: all.limits(),
        };
        Ok((serve, log))
    }

    fn tls(&self) -> Result<Option<TlsConfig>, SettingsError> {
        let files = match (self.tls_cert.clone(), self.tls_key.clone()) {
            (Some(certificate), Some(key)) => Some(TlsConfig::Files(TlsFiles { certificate, key })),
            (None, None) => None,
            _ => return Err(SettingsError::HalfOfTls),
        };
        let domains = self.domain.clone().unwrap_or_default();
        let has_authority =
            self.acme_contact.is_some() || self.acme_directory.is_some() || self.acme_ca.is_some();
        if domains.is_empty() {
            return if has_authority { Err(SettingsError::TwoCertificates) } else { Ok(files) };
        }
        if files.is_some() {
            return Err(SettingsError::TwoCertificates);
        }
        Ok(Some(TlsConfig::Acme(AcmeNames {
            domains: domains.into_iter().map(|domain| domain.0).collect(),
            contact: self.acme_contact.clone(),
            directory: self.acme_directory.clone().unwrap_or_else(|| LETS_ENCRYPT.to_owned()),
            authority: self.acme_ca.clone(),
        })))
    }

    fn gate(&self) -> Result<GateConfig, SettingsError> {
        let public = set(self.token_key.clone());
        let keys =
            TokenKeys { public, secret: self.token_secret.clone(), audience: self.token_audience.clone() };
        let has_audience_alone = keys.audience.is_some() && keys.public.is_empty() && keys.secret.is_none();
        if has_audience_alone
            || self.webhook.is_none() && (self.webhook_secret.is_some() || self.webhook_ca.is_some())
        {
            return Err(SettingsError::HalfOfGate);
        }
        let webhook = self.webhook.clone().map(|url| WebhookConfig {
            url,
            secret: self.webhook_secret.clone(),
            authority: self.webhook_ca.clone(),
            within: Duration::from_secs(set(self.webhook_timeout).get()),
        });
        Ok(GateConfig { keys, webhook })
    }

    fn udp(&self) -> Result<Option<UdpConfig>, SettingsError> {
        let public = set(self.public_address.clone());
        let Some(listen) = self.udp else {
            return if public.is_empty() { Ok(None) } else { Err(SettingsError::PublicAddress) };
        };
        let count = |is_v4| public.iter().filter(|public| public.ip.is_ipv4() == is_v4).count();
        let is_known = !public.is_empty() || !listen.ip().is_unspecified();
        if !is_known
            || count(true) > 1
            || count(false) > 1
            || public.iter().any(|public| public.ip.is_unspecified())
        {
            return Err(SettingsError::PublicAddress);
        }
        let threads = self.udp_threads.map_or_else(processors::threads, |threads| threads.count());
        Ok(Some(UdpConfig { listen, public, threads }))
    }

    /// Refuses rates of bytes that are too low. The relay does not read a member over its limit until the member may
    /// send again, and that must not take so long that the member seems dead.
    fn check_byte_rates(&self) -> Result<(), SettingsError> {
        let rates = [
            ("game-bytes", self.game_bytes),
            ("member-bytes", self.member_bytes),
            ("address-bytes", self.address_bytes),
        ];
        for (key, rate) in rates {
            let rate = set(rate).get();
            if (1..BYTE_RATE_MIN).contains(&rate) {
                return Err(SettingsError::ByteRate(key, rate));
            }
        }
        Ok(())
    }
}

impl FromStr for Settings {
    type Err = toml::de::Error;

    /// Reads the text of a file of settings.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        toml::from_str(text)
    }
}

/// The filter and the format of the log.
#[derive(Debug)]
pub struct LogConfig {
    /// The events that are logged.
    pub filter: EnvFilter,
    /// The format.
    pub format: LogFormat,
}

fn set<T>(value: Option<T>) -> T {
    value.expect("whatever is asked for like this has a default")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())
    }

    #[test]
    fn printed_settings_are_read_as_the_same() {
        let text = "data = \"d\"\nreferee = \"tea\"\norigin = [\"https://Tea.example\"]\ngame-packets = 0\n";
        let settings = parse(text).expect("settings").or(Settings::defaults());
        assert_eq!(parse(&settings.to_toml()), Ok(settings));
    }

    #[test]
    fn the_first_source_of_a_setting_wins() {
        let above = parse("drain = 1\nlisten = \"127.0.0.1:1\"").expect("settings");
        let below = parse("drain = 2\ngames = 3\ndata = \"d\"").expect("settings");
        let (serve, _) = above.or(below).resolve().expect("complete");
        assert_eq!((serve.drain, serve.limits.games), (Duration::from_secs(1), 3));
        assert_eq!(serve.limits.game_connections, 64);
    }

    #[test]
    fn mistakes_in_a_file_name_the_line_and_what_is_allowed() {
        for (text, words) in [
            ("\nlsten = \"x\"", ["line 2", "unknown field `lsten`", "`listen`"]),
            ("drain = 1\ndrain = 70000", ["line 2", "duplicate key", "drain"]),
            ("drain = 70000", ["line 1", "70000", "a whole number from 0 to 65535"]),
            ("handshake = -1", ["line 1", "-1", "a whole number from 1 to 600"]),
            ("games = \"many\"", ["line 1", "many", "a whole number from 0 to 10000"]),
            ("origin = [\n\"tea.example\"\n]", ["line 1", "tea.example", "https://"]),
            ("trusted-proxy = [\"10.0.0.0/33\"]", ["line 1", "10.0.0.0/33", "10.0.0.0/8"]),
            ("referee = \"a b\"", ["line 1", "referee", "3 to 12 letters"]),
            ("log-format = \"xml\"", ["line 1", "`text`", "`json`"]),
            ("listen = \"here\"", ["line 1", "here", "address"]),
        ] {
            let error = parse(text).expect_err(text);
            assert!(words.iter().all(|word| error.contains(word)), "{words:?} are not in {error}");
        }
    }

    #[test]
    fn errors_about_settings_name_the_setting_to_change() {
        for (text, word) in [
            ("", "--data"),
            ("data = \"d\"\nby-host = true", "--referee"),
            ("data = \"d\"\nstar = true", "--referee"),
            ("data = \"d\"\ngame-bytes = 5", "game-bytes"),
            ("data = \"d\"\nframe-ancestors = [\"none\", \"self\"]", "--frame-ancestors"),
        ] {
            let error = parse(text).expect("it parses").resolve().expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
        let filter = parse("data = \"d\"\nlog = \"samovar=loud\"").expect("it parses");
        assert!(filter.resolve().expect_err("no level").to_string().contains("samovar=loud"));
    }
}
