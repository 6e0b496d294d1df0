//! The few STUN messages (RFC 8489) that the relay itself reads and writes: plain binding requests, by which browsers
//! ask for their address, and its own checks of a source address.

use std::net::{IpAddr, SocketAddr};

use str0m::crypto::Sha1HmacProvider;

const HEADER: usize = 20;
const MAGIC: [u8; 4] = [0x21, 0x12, 0xA4, 0x42];
const BINDING_REQUEST: [u8; 2] = [0x00, 0x01];
const BINDING_SUCCESS: [u8; 2] = [0x01, 0x01];
const USERNAME: u16 = 0x0006;
const MESSAGE_INTEGRITY: u16 = 0x0008;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const FINGERPRINT: u16 = 0x8028;
const PRIORITY: u16 = 0x0024;
const ICE_CONTROLLED: u16 = 0x8029;
/// The priority of a peer-reflexive candidate (RFC 8445 §5.1.2.1). To the machine that the relay checks, the relay is
/// such a candidate.
const PRFLX_PRIORITY: u32 = (110 << 24) + (65_535 << 8) + 255;
const FINGERPRINT_XOR: u32 = 0x5354_554E;

/// The bytes that pair a response with its request.
pub(super) type Transaction = [u8; 12];

/// Whether a datagram may be a STUN message at all.
pub(super) fn is_stun(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && bytes[0] < 2 && bytes[4..8] == MAGIC
}

/// The transaction of a whole binding request.
pub(super) fn request(bytes: &[u8]) -> Option<Transaction> {
    transaction(bytes, BINDING_REQUEST)
}

/// The transaction of a success response to a binding request.
pub(super) fn success(bytes: &[u8]) -> Option<Transaction> {
    transaction(bytes, BINDING_SUCCESS)
}

fn transaction(bytes: &[u8], kind: [u8; 2]) -> Option<Transaction> {
    let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let is_whole = is_stun(bytes) && head[..2] == kind && length == rest.len() && length % 4 == 0;
    is_whole.then(|| *head.last_chunk().expect("the header has twenty bytes"))
}

/// The receiver and the sender of a message: its first USERNAME (RFC 8489 §14.3), with the receiver's fragment before
/// the colon.
pub(super) fn username(bytes: &[u8]) -> Option<&str> {
    let mut rest = bytes.get(HEADER..).filter(|_| is_stun(bytes))?;
    loop {
        let ([kind, kind_low, length, length_low], behind) = rest.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([*length, *length_low]));
        let value = behind.get(..length)?;
        if u16::from_be_bytes([*kind, *kind_low]) == USERNAME {
            return core::str::from_utf8(value).ok();
        }
        rest = behind.get(length.next_multiple_of(4)..)?;
    }
}

/// The answer to a plain binding request, with the address that the request came from.
pub(super) fn answer(transaction: Transaction, from: SocketAddr) -> Vec<u8> {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&MAGIC);
    key[4..].copy_from_slice(&transaction);
    let (family, mut ip) = match from.ip() {
        IpAddr::V4(ip) => (1, ip.octets().to_vec()),
        IpAddr::V6(ip) => (2, ip.octets().to_vec()),
    };
    ip.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
    let port = from.port() ^ u16::from_be_bytes([MAGIC[0], MAGIC[1]]);
    let value = [&[0, family], &port.to_be_bytes()[..], &ip].concat();
    let mut bytes = start(BINDING_SUCCESS, transaction);
    attribute(&mut bytes, XOR_MAPPED_ADDRESS, &value);
    bytes
}

/// A binding request that only the owner of this password can answer, with the attributes that ICE agents require (RFC
/// 8445 §7.1).
pub(super) fn check(
    transaction: Transaction,
    username: &str,
    password: &str,
    hmac: &dyn Sha1HmacProvider,
) -> Vec<u8> {
    let mut bytes = start(BINDING_REQUEST, transaction);
    attribute(&mut bytes, USERNAME, username.as_bytes());
    attribute(&mut bytes, PRIORITY, &PRFLX_PRIORITY.to_be_bytes());
    attribute(&mut bytes, ICE_CONTROLLED, &transaction[..8]);
    // Each of the two checksums is computed as if the message ended with it.
    lengthen(&mut bytes, 4 + 20);
    let sum = hmac.sha1_hmac(password.as_bytes(), &[&bytes]);
    lengthen(&mut bytes, 0);
    attribute(&mut bytes, MESSAGE_INTEGRITY, &sum);
    lengthen(&mut bytes, 4 + 4);
    let sum = crc(&bytes) ^ FINGERPRINT_XOR;
    attribute(&mut bytes, FINGERPRINT, &sum.to_be_bytes());
    bytes
}

fn start(kind: [u8; 2], transaction: Transaction) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.extend_from_slice(&kind);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&transaction);
    bytes
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).expect("what the relay writes is short");
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    lengthen(bytes, 0);
}

/// Writes the length of the message into the header, with `more` bytes still to come.
fn lengthen(bytes: &mut [u8], more: usize) {
    let length = u16::try_from(bytes.len() - HEADER + more).expect("what the relay writes is short");
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
}

/// CRC-32 as in ISO/IEC 8802-3. It is needed too rarely for a table.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use str0m::ice::StunMessage;

    use super::*;

    #[test]
    fn a_plain_request_is_answered_with_the_address_it_came_from() {
        let mut bytes = start(BINDING_REQUEST, [7; 12]);
        assert_eq!(request(&bytes), Some([7; 12]));
        for (address, length) in [("192.0.2.1:50000", 32), ("[2001:db8::1]:5", 44)] {
            let address: SocketAddr = address.parse().expect("an address");
            let answer = answer([7; 12], address);
            assert_eq!(answer.len(), length);
            assert_eq!(success(&answer), Some([7; 12]));
            let port = u16::from_be_bytes([answer[26], answer[27]]) ^ 0x2112;
            assert_eq!(port, address.port());
        }
        bytes.push(0);
        assert_eq!(request(&bytes), None);
        for length in 0..HEADER {
            assert_eq!(request(&bytes[..length]), None);
        }
    }

    #[test]
    fn a_check_is_read_by_another_stun_library() {
        let provider = str0m::crypto::from_feature_flags();
        let bytes = check([9; 12], "them:us", "a password", provider.sha1_hmac_provider);
        let message = StunMessage::parse(&bytes).expect("a message");
        assert_eq!(message.split_username(), Some(("them", "us")));
        assert_eq!(username(&bytes), Some("them:us"));
        let hmac = |key: &[u8], parts: &[&[u8]]| provider.sha1_hmac_provider.sha1_hmac(key, parts);
        assert!(message.verify(b"a password", hmac));
        assert_eq!(request(&bytes), Some([9; 12]));
        assert_eq!(crc(b"123456789"), 0xCBF4_3926, "the check value of CRC-32");
    }

    #[test]
    fn a_username_is_found_only_in_a_whole_attribute() {
        let provider = str0m::crypto::from_feature_flags();
        let whole = check([9; 12], "them:us", "a password", provider.sha1_hmac_provider);
        let end = HEADER + 4 + "them:us".len();
        for length in 0..whole.len() {
            assert_eq!(username(&whole[..length]), (length >= end).then_some("them:us"), "{length}");
        }
        // The cases are another attribute before the user name, an attribute longer than the message, a value that is
        // no text, and an empty message.
        let with = |attributes: &[u8]| [&whole[..HEADER], attributes].concat();
        assert_eq!(
            username(&with(&[0x80, 0x22, 0, 1, 7, 0, 0, 0, 0, 6, 0, 3, b'a', b':', b'b', 0])),
            Some("a:b")
        );
        assert_eq!(username(&with(&[0x80, 0x22, 0xFF, 0xFF, 0, 6, 0, 1, b'a', 0, 0, 0])), None);
        assert_eq!(username(&with(&[0, 6, 0, 2, 0xC3, 0x28, 0, 0])), None);
        assert_eq!(username(&with(&[])), None);
        assert_eq!(username(&[&[0x40], &whole[1..]].concat()), None, "that is no STUN");
    }
}
