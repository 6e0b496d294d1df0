//! The relay's signed bytes, and the hashes of tickets (PROTOCOL §6).

use samovar_wire::{PeerId, PeerPass, Vouched, Voucher, Warrant, digest};

use crate::file::Vectors;
use crate::{PEER, SESSION, THIRD, ticket};

#[test]
fn signed_bytes_and_hashes_match_their_vectors() {
    let mut vectors = Vectors::parse("signed", include_str!("signed.hex"));
    vectors.check_encoding("warrant", &Warrant::signed_bytes(SESSION, THIRD, PEER));
    vectors.check_encoding("pass", &PeerPass::signed_bytes(SESSION, PeerId(300), false));
    vectors.check_encoding("pass_named", &PeerPass::signed_bytes(SESSION, PeerId(300), true));
    let vouched = Vouched { name: Some("Ann".to_owned()), watches: Some(true) };
    vectors.check_encoding("voucher", &Voucher::signed_bytes(SESSION, PeerId(300), &vouched));
    vectors.check_encoding("digest_of_nothing", &digest(&[]));
    vectors.check_encoding("digest", &digest(&[b"one", b"", b"two"]));
    vectors.check_encoding("ticket", &ticket().secret);
    vectors.check_encoding("ticket_hash", &ticket().hash().0);
    vectors.check_encoding("ticket_hash_of_the_hash", &ticket().hash().again().0);
    vectors.check_encoding("ticket_kept", &ticket().to_bytes());
    vectors.finish();
}
