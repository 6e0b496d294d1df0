//! The reasons why a relay's WebSocket did not open.

use std::fmt;
use std::io;

use tokio_tungstenite::tungstenite::error::{Error, TlsError, UrlError};
use tokio_tungstenite::tungstenite::http::{Response, header};

/// The most characters of an HTTP answer that are shown.
const SHOWN_MAX: usize = 300;

/// The reason why the relay's WebSocket did not open, for the person who named the relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    url: String,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Address(String),
    Unreachable(String),
    Silent,
    Tls(String),
    Answered { status: u16, said: String },
    Other(String),
}

impl OpenError {
    /// The relay sent nothing within its time.
    pub(super) fn silent(url: &str) -> Self {
        Self { url: url.to_owned(), why: Why::Silent }
    }

    /// This machine cannot speak TLS.
    pub(super) fn without_trust(url: &str, why: String) -> Self {
        Self { url: url.to_owned(), why: Why::Tls(why) }
    }

    pub(super) fn new(url: &str, error: Error) -> Self {
        let why = match error {
            Error::Url(UrlError::UnableToConnect(_)) => Why::Unreachable("nobody listens there".to_owned()),
            Error::Url(error) => Why::Address(error.to_string()),
            Error::HttpFormat(error) => Why::Address(error.to_string()),
            Error::Http(response) => answered(&response),
            Error::Tls(TlsError::InvalidDnsName) => Why::Address("its host is no name".to_owned()),
            Error::Tls(error) => Why::Tls(error.to_string()),
            Error::Io(error) => of_system(&error),
            error => Why::Other(error.to_string()),
        };
        Self { url: url.to_owned(), why }
    }

    /// Whether another attempt would end like this one until somebody changes something: the address is wrong, the
    /// certificate is not trusted, or the server at that address is no relay for this peer.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        match &self.why {
            Why::Address(_) | Why::Tls(_) => true,
            // Status 429 means too many requests: the relay accepts requests again after a while.
            Why::Answered { status, .. } => *status < 500 && *status != 429,
            Why::Unreachable(_) | Why::Silent | Why::Other(_) => false,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot reach {}: ", self.url)?;
        match &self.why {
            Why::Address(why) => write!(f, "it is no address of a relay ({why})"),
            Why::Unreachable(why) => write!(f, "{why}; does the relay run, and is the port right?"),
            Why::Silent => write!(f, "it does not answer; is the port right?"),
            Why::Tls(why) => write!(f, "TLS failed ({why})"),
            Why::Answered { status, said } => {
                write!(f, "{status} at the handshake")?;
                match status {
                    404 => write!(f, "; is the path right?")?,
                    500.. => write!(f, "; does the relay run behind what answers there?")?,
                    _ => {}
                }
                let stop = if matches!(status, 404 | 500..) { "" } else { "." };
                if said.is_empty() { Ok(()) } else { write!(f, "{stop} It says: {said}") }
            }
            Why::Other(why) => write!(f, "what answers is no relay ({why}); are scheme and port right?"),
        }
    }
}

impl std::error::Error for OpenError {}

fn of_system(error: &io::Error) -> Why {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            // A server that does not speak TLS closes the connection in this way, too.
            io::ErrorKind::UnexpectedEof => Why::Other("it hangs up".to_owned()),
            _ => Why::Unreachable(error.to_string()),
        };
    };
    match tls {
        rustls::Error::InvalidMessage(_) => Why::Tls(
            "what answers speaks no TLS; is the scheme http: or ws:, or the port another?".to_owned(),
        ),
        rustls::Error::InvalidCertificate(why) => Why::Tls(format!(
            "its certificate is not accepted: {why}; an authority of its own is named by --ca"
        )),
        other => Why::Tls(other.to_string()),
    }
}

fn answered(response: &Response<Option<Vec<u8>>>) -> Why {
    let place = response.headers().get(header::LOCATION).and_then(|place| place.to_str().ok());
    let said = match place {
        Some(place) => format!("go to {place}"),
        None => String::from_utf8_lossy(response.body().as_deref().unwrap_or_default()).into_owned(),
    };
    // The title of a page is enough for a reader at a terminal.
    let title = || said.split_once("<title>")?.1.split_once("</title>").map(|(title, _)| title);
    let said = if said.trim_start().starts_with('<') { title().unwrap_or_default() } else { &said };
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words.chars().filter(|letter| !letter.is_control()).take(SHOWN_MAX).collect();
    Why::Answered { status: response.status().as_u16(), said }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> OpenError {
        let response = Response::builder().status(status).body(Some(body.as_bytes().to_vec()));
        OpenError::new("ws://tea.example/ws", Error::Http(Box::new(response.expect("a response"))))
    }

    #[test]
    fn an_answer_is_shown_in_one_line_without_markup() {
        let error = of(403, "This relay is\n not for \u{1b}[31mthat page.\n").to_string();
        assert!(error.starts_with("cannot reach ws://tea.example/ws: 403 at the handshake"), "{error}");
        assert!(error.ends_with(". It says: This relay is not for [31mthat page."), "{error}");
        assert!(of(404, "<html>nginx</html>").to_string().ends_with("is the path right?"));
        let page = "<html><title>400 to HTTPS port</title><p>x</html>";
        assert!(of(400, page).to_string().ends_with("It says: 400 to HTTPS port"));
        assert!(of(502, "").to_string().ends_with("does the relay run behind what answers there?"));
        assert!(of(400, &"long ".repeat(1_000)).to_string().len() < 400);
    }

    #[test]
    fn errors_that_may_pass_by_themselves_are_not_final() {
        for (status, is_final) in
            [(302, true), (403, true), (404, true), (429, false), (502, false), (503, false)]
        {
            assert_eq!(of(status, "").is_final(), is_final, "{status}");
        }
        let refused = Error::Io(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert!(!OpenError::new("ws://tea.example/ws", refused).is_final());
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let error = OpenError::new("wss://tea.example/ws", Error::Io(io::Error::other(tls)));
        assert!(error.is_final() && error.to_string().contains("--ca"), "{error}");
    }
}
