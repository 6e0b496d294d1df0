//! Types of settings that check their own bounds. Each has one text about allowed values, for all sources of
//! settings.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use samovar_wire::GameCode;
use serde::{Deserialize, Serialize};

/// A whole number within bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Whole<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// Makes a number. In a constant, a number outside the bounds does not compile; anywhere else it panics.
    pub(crate) const fn new(number: u64) -> Self {
        assert!(MIN <= number && number <= MAX);
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as a count of things in memory.
    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MIN: u64, const MAX: u64> FromStr for Whole<MIN, MAX> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().parse().ok().filter(|number| (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| format!("it takes a whole number from {MIN} to {MAX}"))
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const MIN: u64, const MAX: u64>;

        impl<const MIN: u64, const MAX: u64> serde::de::Visitor<'_> for Visitor<MIN, MAX> {
            type Value = Whole<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
                let within = u64::try_from(number).ok().filter(|number| (MIN..=MAX).contains(number));
                let wrong = || E::invalid_value(serde::de::Unexpected::Signed(number), &self);
                within.map(Whole).ok_or_else(wrong)
            }
        }

        deserializer.deserialize_i64(Visitor::<MIN, MAX>)
    }
}

/// The name of a machine on the internet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DomainName(pub String);

impl FromStr for DomainName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        // An address of four numbers is no name.
        let is_name = name.bytes().any(|byte| byte.is_ascii_alphabetic());
        if is_name && name.len() <= 253 && name.split('.').all(is_label) {
            return Ok(Self(name));
        }
        Err("a name is like tea.example: letters, digits, hyphens and dots, without a scheme or a port"
            .to_owned())
    }
}

impl TryFrom<String> for DomainName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<DomainName> for String {
    fn from(name: DomainName) -> Self {
        name.0
    }
}

/// The address of a server that speaks HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpUrl(Uri);

impl HttpUrl {
    /// Whether it is by TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// The host, without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        self.0.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_secure() { 443 } else { 80 })
    }

    /// Host and port, as a request names them.
    pub(crate) fn authority(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }

    /// The path with the query.
    pub(crate) fn path(&self) -> &str {
        self.0.path_and_query().map_or("/", |path| path.as_str())
    }
}

impl FromStr for HttpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("“{text}” is no address of a server: it takes one like https://api.tea.example/enter");
        let uri: Uri = text.trim().parse().map_err(|_| wrong())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        if is_http && has_host && !has_user { Ok(Self(uri)) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<HttpUrl> for String {
    fn from(url: HttpUrl) -> Self {
        url.0.to_string()
    }
}

/// A game's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Code(pub GameCode);

impl FromStr for Code {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        GameCode::parse(text)
            .map(Self)
            .ok_or_else(|| "a code is 3 to 12 letters, digits or hyphens".to_owned())
    }
}

impl TryFrom<String> for Code {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.0.to_string()
    }
}

/// The origin of a page, as a browser sends it in the header `Origin` (RFC 6454 §6.1): the scheme, the host, and the
/// port unless it is the scheme's own, in small letters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(String);

impl Origin {
    /// The text, in small letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_host = |host: &&str| {
            !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
        };
        if host.filter(is_host).is_none() {
            return Err(format!(
                "“{text}” is no origin: it takes http:// or https:// with host and port and nothing behind, like \
                 https://tea.example"
            ));
        }
        Ok(Self(text))
    }
}

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_parsed_as_browsers_write_them() {
        for good in ["https://tea.example", "HTTP://Tea.Example:8080", "https://[::1]:1"] {
            assert_eq!(good.parse::<Origin>().map(String::from), Ok(good.to_ascii_lowercase()));
        }
        for bad in ["", "tea.example", "https://", "https://tea.example/", "ftp://tea", "https://tea example"]
        {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_of_servers_are_taken_apart() {
        let parts = |text: &str| {
            let url: HttpUrl = text.parse().expect(text);
            (url.is_secure(), url.host().to_owned(), url.port(), url.path().to_owned())
        };
        let of = |secure, host: &str, port, path: &str| (secure, host.to_owned(), port, path.to_owned());
        assert_eq!(
            parts("https://api.tea.example/enter?a=b"),
            of(true, "api.tea.example", 443, "/enter?a=b")
        );
        assert_eq!(parts("http://[::1]:8080"), of(false, "::1", 8080, "/"));
        for bad in [
            "",
            "tea",
            "/enter",
            "ftp://tea.example/",
            "https://",
            "http://ann:pot@tea.example/",
            "http://a b/",
        ] {
            assert!(bad.parse::<HttpUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_keep_their_bounds() {
        type Small = Whole<1, 9>;
        assert_eq!("9".parse::<Small>().map(Whole::get), Ok(9));
        for bad in ["0", "10", "-1", "1.5", "one", ""] {
            assert_eq!(bad.parse::<Small>(), Err("it takes a whole number from 1 to 9".to_owned()), "{bad}");
        }
    }
}
