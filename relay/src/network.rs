//! An operator's notation of addresses: networks, and public addresses with a port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An address, or all addresses with the same first bits, as in `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    /// The address without the bits after the prefix; an IPv4 address mapped into IPv6 is stored as IPv4.
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of this one address.
    pub(crate) const fn of(address: IpAddr) -> Self {
        Self { address, prefix: width(address) }
    }

    /// The network of this address with a prefix of this length.
    pub(crate) fn with_prefix(address: IpAddr, prefix: u8) -> Self {
        Self { address: masked(address, prefix), prefix }
    }

    /// The network that counts as one address: in IPv6 a network of 64 bits, because one customer has at least that.
    pub(crate) fn of_household(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if address.is_ipv4() { Self::of(address) } else { Self::with_prefix(address, 64) }
    }

    /// Reads a network, or an address that stands for its household.
    ///
    /// # Errors
    /// The text is neither.
    pub fn household(text: &str) -> Result<Self, String> {
        text.trim().parse().map(Self::of_household).or_else(|_| text.parse())
    }

    /// Whether the network is of IPv4.
    pub(crate) const fn is_v4(self) -> bool {
        self.address.is_ipv4()
    }

    /// The number of bits that its addresses have in common.
    pub(crate) const fn prefix(self) -> u8 {
        self.prefix
    }

    /// Whether two networks have an address in common.
    pub(crate) fn overlaps(&self, other: Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }

    /// Whether the network contains an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "“{text}” is no address and no network: it takes one like 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32"
            )
        };
        let (address, prefix) = text.trim().split_once('/').unzip();
        let address: IpAddr = address.unwrap_or(text.trim()).parse().map_err(|_| wrong())?;
        let prefix = match prefix {
            Some(prefix) => {
                prefix.parse().ok().filter(|prefix| *prefix <= width(address)).ok_or_else(wrong)?
            }
            None => width(address),
        };
        let canonical = address.to_canonical();
        // An address mapped into IPv6 has 96 bits in front of those of IPv4.
        let more = width(address) - width(canonical);
        let prefix = prefix.checked_sub(more).ok_or_else(wrong)?;
        Ok(Self { address: masked(canonical, prefix), prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, prefix } = *self;
        if prefix == width(address) { write!(f, "{address}") } else { write!(f, "{address}/{prefix}") }
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

/// The address at which members reach the UDP port, and a port if it differs from the relay's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicAddress {
    /// The address.
    pub ip: IpAddr,
    /// The port, if it is not the one that the relay listens at.
    pub port: Option<u16>,
}

impl FromStr for PublicAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let with_port = text.parse().map(|at: SocketAddr| Self { ip: at.ip(), port: Some(at.port()) });
        let parsed = with_port.or_else(|_| text.parse().map(|ip| Self { ip, port: None }));
        parsed.ok().filter(|public: &Self| public.port != Some(0)).ok_or_else(|| {
            format!("“{text}” is no address: it takes one like 203.0.113.5, 203.0.113.5:3478 or [2001:db8::5]:3478")
        })
    }
}

impl fmt::Display for PublicAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}", SocketAddr::new(self.ip, port)),
            None => write!(f, "{}", self.ip),
        }
    }
}

impl TryFrom<String> for PublicAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<PublicAddress> for String {
    fn from(address: PublicAddress) -> Self {
        address.to_string()
    }
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with only its first `prefix` bits.
pub(crate) fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let drop = u32::from(width(address) - prefix);
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(drop).unwrap_or(0);
            Ipv4Addr::from_bits(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(drop).unwrap_or(0);
            Ipv6Addr::from_bits(ip.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_for_its_household() {
        for (text, network) in [
            ("10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
            ("2001:db8::4/128", "2001:db8::4"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("10.0.0.0/8", "10.0.0.0/8"),
        ] {
            assert_eq!(Network::household(text).expect("one").to_string(), network, "{text}");
        }
        assert!(Network::household("tea").is_err());
    }

    #[test]
    fn networks_contain_addresses_with_their_prefix() {
        for (network, inside, outside) in [
            ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3/8", "::ffff:10.255.0.1", "::10.255.0.1"),
            ("::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.1"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("0.0.0.0/0", "192.0.2.1", "2001:db8::1"),
            ("::/0", "2001:db8::1", "192.0.2.1"),
        ] {
            let parsed: Network = network.parse().expect(network);
            assert!(parsed.contains(inside.parse().expect("an address")), "{network} {inside}");
            assert!(!parsed.contains(outside.parse().expect("an address")), "{network} {outside}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed));
        }
        for bad in
            ["", "10.0.0.0/33", "10.0.0/8", "::/129", "::ffff:10.0.0.0/95", "10.0.0.0/", "10.0.0.0/-1", "tea"]
        {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        assert_eq!("10.1.2.3/8".parse::<Network>().map(String::from), Ok("10.0.0.0/8".to_owned()));
    }

    #[test]
    fn a_public_address_may_have_a_port() {
        for (text, port) in
            [("203.0.113.5", None), ("203.0.113.5:3478", Some(3_478)), ("[2001:db8::5]:1", Some(1))]
        {
            let parsed: PublicAddress = text.parse().expect(text);
            assert_eq!((parsed.port, parsed.to_string().as_str()), (port, text));
        }
        for bad in ["", "tea.example", "203.0.113.5:0", "203.0.113.5:70000", "2001:db8::5:x"] {
            assert!(bad.parse::<PublicAddress>().is_err(), "{bad}");
        }
    }
}
