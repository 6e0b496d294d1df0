//! The faults of settings, and what to do.

use std::fmt;
use std::path::PathBuf;

use super::BYTE_RATE_MIN;

/// The reason why settings are invalid.
#[derive(Debug)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    File(PathBuf, std::io::Error),
    /// The file is no TOML, has an unknown key, or a value that is not allowed; the text names the line.
    Toml(PathBuf, Box<toml::de::Error>),
    /// No setting gives the data directory.
    NoData,
    /// A certificate without its key, or a key without its certificate.
    HalfOfTls,
    /// Certificates from an authority beside one in files, or settings of an authority without a name.
    TwoCertificates,
    /// A way from HTTP to an HTTPS that there is not.
    RedirectWithoutTls,
    /// An audience of tokens without a key, or a secret or authority of a webhook without one.
    HalfOfGate,
    /// Client-server without a referee.
    ByHostWithoutReferee,
    /// The public address of `udp` is missing or unspecified, is given more than once for a family, or is given
    /// without `udp`.
    PublicAddress,
    /// The list of pages for frames is empty, or has `none` or `any` beside other entries.
    Frames,
    /// The setting of this key has a rate in bytes a second at which the largest message would take too long.
    ByteRate(&'static str, u64),
    /// The filter of the log cannot be read.
    Filter(String, tracing_subscriber::filter::ParseError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => {
                write!(f, "{} cannot be read ({error}): check --config", path.display())
            }
            Self::Toml(path, error) => write!(f, "{}: {}", path.display(), error.to_string().trim_end()),
            Self::NoData => write!(
                f,
                "the relay's data have no place: name a directory with --data, SAMOVAR_DATA, or the key `data`"
            ),
            Self::HalfOfTls => write!(f, "--tls-cert and --tls-key go together: set both, or neither"),
            Self::TwoCertificates => write!(
                f,
                "--acme-contact, --acme-directory and --acme-ca go with --domain, and --tls-cert goes without it: the \
                 certificate is an authority's or in files"
            ),
            Self::RedirectWithoutTls => {
                write!(f, "--redirect leads to HTTPS: set --domain, or --tls-cert and --tls-key, beside it")
            }
            Self::HalfOfGate => write!(
                f,
                "--token-audience goes with --token-key or --token-secret, and --webhook-secret and --webhook-ca go with \
                 --webhook"
            ),
            Self::ByHostWithoutReferee => {
                write!(f, "--by-host is for the referee's tables: set --referee beside it")
            }
            Self::PublicAddress => write!(
                f,
                "others must know where --udp is reached: set --public-address to this machine's address on the internet, \
                 one of IPv4, one of IPv6 or both, with a port if that is another there; and --udp beside it"
            ),
            Self::Frames => {
                write!(
                    f,
                    "--frame-ancestors takes `none` or `any` alone, or `self` and pages like https://tea.example"
                )
            }
            Self::ByteRate(key, rate) => write!(
                f,
                "`{key}` does not take {rate}, which is less than a message: give {BYTE_RATE_MIN} or more, or 0 for no limit"
            ),
            Self::Filter(text, error) => {
                write!(
                    f,
                    "--log does not take “{text}” ({error}): give a level like info, or directives like warn,samovar_relay=debug"
                )
            }
        }
    }
}

impl std::error::Error for SettingsError {}
