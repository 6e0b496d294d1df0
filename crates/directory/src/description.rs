//! Session descriptions of peers that open data channels to the relay (PROTOCOL §5.7): the values read from an offer,
//! and the answer.
//!
//! An offer is untrusted text of some kilobytes. Only the few values below are used, each checked against a list;
//! other lines are skipped. Candidates are counted and never used: the relay is an ICE-lite agent (RFC 8445 §2.5),
//! which waits to be contacted. So no offer makes the relay send to an address of the sender's choice.

use core::fmt::Write as _;
use std::net::SocketAddr;

use samovar_wire::limits::DESCRIPTION_MAX;

/// The most candidates of one offer.
pub const CANDIDATES_MAX: usize = 32;
/// The most lines of one offer.
pub const LINES_MAX: usize = 256;
/// The most characters of an ICE user name fragment or password (RFC 8839 §5.4 has 256; browsers use 32 at most).
const CREDENTIAL_MAX: usize = 64;
const UFRAG_MIN: usize = 4;
const PASSWORD_MIN: usize = 22;
/// The most characters of a media section's name.
const MID_MAX: usize = 32;
/// The largest message that the relay takes: more than a chunk with its header.
const MESSAGE_MAX: usize = 64 * 1_024;

/// Whether a peer's offer or answer is no larger than those that browsers make. A driver hands no larger one to a
/// browser.
#[must_use]
pub fn is_bounded(text: &str) -> bool {
    let candidates = text.lines().filter(|line| is_candidate(line)).count();
    text.len() <= DESCRIPTION_MAX && text.lines().count() <= LINES_MAX && candidates <= CANDIDATES_MAX
}

/// A description with its first [`CANDIDATES_MAX`] candidates only: a machine with many networks may have more.
#[must_use]
pub fn with_fewer_candidates(text: String) -> String {
    if text.lines().filter(|line| is_candidate(line)).count() <= CANDIDATES_MAX {
        return text;
    }
    let mut seen = 0;
    let keeps = |line: &&str| {
        seen += usize::from(is_candidate(line));
        !is_candidate(line) || seen <= CANDIDATES_MAX
    };
    text.split_inclusive('\n').filter(keeps).collect()
}

fn is_candidate(line: &str) -> bool {
    line.starts_with("a=candidate:")
}

/// The values of an offer that the relay needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Offer {
    /// ICE user name fragment.
    pub ufrag: String,
    /// ICE password.
    pub password: String,
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
    /// Name of the media section.
    mid: String,
}

/// The relay's half of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a> {
    /// Number of the session description (RFC 8866 §5.2).
    pub session: u64,
    /// ICE user name fragment.
    pub ufrag: &'a str,
    /// ICE password.
    pub password: &'a str,
    /// SHA-256 of the certificate.
    pub fingerprint: &'a [u8],
    /// The addresses at which the relay is reached.
    pub addresses: &'a [SocketAddr],
}

/// The reason for not answering an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unfit {
    /// More bytes or lines than an offer may have.
    TooLarge,
    /// More candidates than an offer may have.
    Candidates,
    /// A line does not have the form of a session description's lines.
    Line,
    /// Other media than one section of data channels.
    Media,
    /// A needed value is missing or not allowed; its name.
    Value(&'static str),
}

#[derive(Default)]
struct Values<'a> {
    ufrag: Option<&'a str>,
    password: Option<&'a str>,
    fingerprint: Option<&'a str>,
    setup: Option<&'a str>,
    mid: Option<&'a str>,
    sections: usize,
    candidates: usize,
}

impl Offer {
    /// Reads an offer.
    ///
    /// # Errors
    /// The offer is too large, or does not offer data channels over DTLS.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        if text.len() > DESCRIPTION_MAX || text.lines().count() > LINES_MAX {
            return Err(Unfit::TooLarge);
        }
        let mut values = Values::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            values.read(line)?;
        }
        values.check()
    }

    /// The answer: a passive, ICE-lite end at these addresses.
    #[must_use]
    pub fn answer(&self, local: Local<'_>) -> String {
        let Local { session, ufrag, password, fingerprint, addresses } = local;
        let mid = &self.mid;
        let mut text = format!(
            "v=0\r\no=- {session} 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-lite\r\na=group:BUNDLE {mid}\r\n\
             m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\n\
             a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}\r\na=setup:passive\r\na=sctp-port:5000\r\n\
             a=max-message-size:{MESSAGE_MAX}\r\na=fingerprint:sha-256 "
        );
        let mut line = |words: core::fmt::Arguments<'_>| text.write_fmt(words).expect("a string takes all");
        for (index, byte) in fingerprint.iter().enumerate() {
            line(format_args!("{}{byte:02X}", if index == 0 { "" } else { ":" }));
        }
        line(format_args!("\r\n"));
        for (index, address) in addresses.iter().enumerate() {
            // The priority of host candidates (RFC 8445 §5.1.2.1), falling from the first on.
            let priority = (126_u32 << 24) + ((65_535 - index.min(255) as u32) << 8) + 255;
            let (ip, port) = (address.ip(), address.port());
            line(format_args!("a=candidate:{} 1 udp {priority} {ip} {port} typ host\r\n", index + 1));
        }
        line(format_args!("a=end-of-candidates\r\n"));
        text
    }
}

impl<'a> Values<'a> {
    fn read(&mut self, line: &'a str) -> Result<(), Unfit> {
        let (kind, value) = line.split_once('=').filter(|(kind, _)| kind.len() == 1).ok_or(Unfit::Line)?;
        match kind {
            "m" => self.read_media(value),
            "a" => self.read_attribute(value),
            _ => Ok(()),
        }
    }

    fn read_media(&mut self, value: &str) -> Result<(), Unfit> {
        self.sections += 1;
        let mut words = value.split(' ');
        let (media, _port, transport, format) = (words.next(), words.next(), words.next(), words.next());
        let is_secure = matches!(transport, Some("UDP/DTLS/SCTP" | "TCP/DTLS/SCTP"));
        let is_ours = media == Some("application") && is_secure && format == Some("webrtc-datachannel");
        if is_ours && self.sections == 1 { Ok(()) } else { Err(Unfit::Media) }
    }

    fn read_attribute(&mut self, value: &'a str) -> Result<(), Unfit> {
        let (name, value) = value.split_once(':').unwrap_or((value, ""));
        match name {
            "ice-ufrag" => self.ufrag = Some(value),
            "ice-pwd" => self.password = Some(value),
            "setup" => self.setup = Some(value),
            "mid" => self.mid = Some(value),
            "fingerprint" => {
                let digest = value.split_once(' ').filter(|(hash, _)| hash.eq_ignore_ascii_case("sha-256"));
                self.fingerprint = digest.map(|(_, digest)| digest).or(self.fingerprint);
            }
            "candidate" => {
                self.candidates += 1;
                if self.candidates > CANDIDATES_MAX {
                    return Err(Unfit::Candidates);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check(self) -> Result<Offer, Unfit> {
        if self.sections != 1 {
            return Err(Unfit::Media);
        }
        let is_credential =
            |text: &&str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
        let credential = |text: Option<&str>, min| {
            text.filter(|text| (min..=CREDENTIAL_MAX).contains(&text.len()))
                .filter(is_credential)
                .map(str::to_owned)
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.{}".contains(&byte);
        let is_mid = |mid: &&str| (1..=MID_MAX).contains(&mid.len()) && mid.bytes().all(is_name);
        if !matches!(self.setup, Some("actpass" | "active")) {
            return Err(Unfit::Value("setup"));
        }
        Ok(Offer {
            ufrag: credential(self.ufrag, UFRAG_MIN).ok_or(Unfit::Value("ice-ufrag"))?,
            password: credential(self.password, PASSWORD_MIN).ok_or(Unfit::Value("ice-pwd"))?,
            fingerprint: self.fingerprint.and_then(digest).ok_or(Unfit::Value("fingerprint"))?,
            mid: self.mid.filter(is_mid).ok_or(Unfit::Value("mid"))?.to_owned(),
        })
    }
}

/// Thirty-two pairs of hexadecimal digits with colons between them.
fn digest(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut pairs = text.split(':');
    for byte in &mut bytes {
        let pair =
            pairs.next().filter(|pair| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    pairs.next().is_none().then_some(bytes)
}

/// The STUN servers in a relay's answer: its candidates' ports also serve STUN (PROTOCOL §5.7). The result holds
/// their URIs, in the form that browsers take (RFC 7064). A relay may be hostile, so the result leaves out anything
/// that is not an address.
pub fn stun_servers(answer: &str) -> impl Iterator<Item = String> {
    let candidates = answer.lines().filter_map(|line| line.strip_prefix("a=candidate:"));
    candidates.take(2).filter_map(|candidate| {
        let mut words = candidate.split(' ').skip(4);
        let (ip, port) = (words.next()?, words.next()?.parse::<u16>().ok()?);
        let is_address = ip.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.' || byte == b':');
        let (open, close) = if ip.contains(':') { ("[", "]") } else { ("", "") };
        is_address.then(|| format!("stun:{open}{ip}{close}:{port}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// An offer as Chromium 156 writes it.
    fn chromium() -> String {
        let digest = (0..32).map(|n| format!("{n:02X}")).collect::<Vec<_>>().join(":");
        format!(
            "v=0\r\no=- 4611731400430051336 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
             a=extmap-allow-mixed\r\na=msid-semantic: WMS\r\nm=application 51372 UDP/DTLS/SCTP webrtc-datachannel\r\n\
             c=IN IP4 192.0.2.1\r\na=candidate:1 1 udp 2113937151 9c1b.local 51372 typ host generation 0\r\n\
             a=ice-ufrag:Ab+/\r\na=ice-pwd:0123456789abcdefghijklmn\r\na=ice-options:trickle\r\n\
             a=fingerprint:sha-256 {digest}\r\na=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\n\
             a=max-message-size:262144\r\n"
        )
    }

    #[test]
    fn a_browsers_offer_is_read_and_answered() {
        let offer = Offer::parse(&chromium()).unwrap();
        assert_eq!((offer.ufrag.as_str(), offer.password.as_str()), ("Ab+/", "0123456789abcdefghijklmn"));
        assert_eq!(offer.fingerprint.first_chunk(), Some(&[0, 1, 2, 3]));
        let addresses = ["192.0.2.7:8080".parse().unwrap(), "[2001:db8::1]:8080".parse().unwrap()];
        let local = Local {
            session: 7,
            ufrag: "relay",
            password: "secret",
            fingerprint: &[0xAB; 32],
            addresses: &addresses,
        };
        let answer = offer.answer(local);
        for line in [
            "a=ice-lite",
            "a=setup:passive",
            "a=mid:0",
            "a=candidate:1 1 udp 2130706431 192.0.2.7 8080 typ host",
            "a=candidate:2 1 udp 2130706175 2001:db8::1 8080 typ host",
        ] {
            assert!(answer.lines().any(|found| found == line), "{line} is not in\n{answer}");
        }
        assert!(
            answer.contains("a=fingerprint:sha-256 AB:AB:") && answer.ends_with("a=end-of-candidates\r\n")
        );
        let servers: Vec<_> = stun_servers(&answer).collect();
        assert_eq!(servers, ["stun:192.0.2.7:8080", "stun:[2001:db8::1]:8080"]);
        for bad in ["evil.example 80", "192.0.2.7 65536", "192.0.2.7", "1?x=y 80"] {
            assert_eq!(stun_servers(&format!("a=candidate:1 1 udp 1 {bad} typ host")).next(), None, "{bad}");
        }
    }

    #[test]
    fn bad_values_are_refused_and_unknown_lines_are_skipped() {
        let good = chromium();
        let with = |from: &str, to: &str| Offer::parse(&good.replace(from, to)).err();
        assert_eq!(with("a=setup:actpass", "a=setup:passive"), Some(Unfit::Value("setup")));
        assert_eq!(with("a=mid:0", "a=mid:0 0"), Some(Unfit::Value("mid")));
        assert_eq!(with("ice-ufrag:Ab+/", "ice-ufrag:Ab:/"), Some(Unfit::Value("ice-ufrag")));
        assert_eq!(with("ice-pwd:0123456789abcd", "ice-pwd:0"), Some(Unfit::Value("ice-pwd")));
        assert_eq!(with("sha-256", "sha-1"), Some(Unfit::Value("fingerprint")));
        assert_eq!(with(":1F\r\n", ":1F:20\r\n"), Some(Unfit::Value("fingerprint")));
        assert_eq!(with("m=application", "m=audio"), Some(Unfit::Media));
        assert_eq!(with("m=application 51372 UDP/DTLS/SCTP webrtc-datachannel\r\n", ""), Some(Unfit::Media));
        assert_eq!(with("s=-", "no line"), Some(Unfit::Line));
        assert_eq!(with("a=msid-semantic: WMS", "a=unheard-of:x"), None);
        assert_eq!(Offer::parse(&"a=x\n".repeat(LINES_MAX + 1)), Err(Unfit::TooLarge));
        let crowd = good.clone() + &"a=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n".repeat(CANDIDATES_MAX);
        assert_eq!(Offer::parse(&crowd), Err(Unfit::Candidates));
        assert_eq!(
            Offer::parse(&(good.clone() + "a=x:" + &"x".repeat(DESCRIPTION_MAX))),
            Err(Unfit::TooLarge)
        );
        assert_eq!(Offer::parse(&(good + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n")), Err(Unfit::Media));
    }
}
