use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use proptest::prelude::*;

use super::*;
use ed25519_dalek::{Signer, SigningKey};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn ticket() -> SessionTicket {
    SessionTicket {
        serial: 7,
        nonce: [1; 16],
        key: [2; 32],
        policy: [3; 32],
        contexts: [[4; 32], [5; 32]].into(),
        heartbeat_records: 1000,
        heartbeat_ticks: 70_000,
        previous_close: [6; 32],
        not_before: 1_700_000_000,
        not_after: 1_800_000_000,
        issuer: "registrar.example".to_owned(),
        seat: 3,
        profiles: [[7; 32], [8; 32]].into(),
        text_lane: true,
    }
}

fn digests(count: usize) -> BTreeSet<[u8; 32]> {
    let digest = |i: usize| {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&i.to_be_bytes());
        digest
    };
    (0..count).map(digest).collect()
}

fn any_ticket() -> impl Strategy<Value = SessionTicket> {
    (
        (1_u64.., any::<[u8; 16]>(), any::<[u8; 32]>(), any::<[u8; 32]>()),
        (
            prop::collection::btree_set(any::<[u8; 32]>(), 0..40),
            any::<u16>(),
            prop::collection::btree_set(any::<[u8; 32]>(), 0..4),
            any::<bool>(),
        ),
        (any::<u32>(), any::<u32>(), any::<[u8; 32]>()),
        (any::<u64>(), any::<u64>(), "[!-~]{1,64}"),
    )
        .prop_map(|((serial, nonce, key, policy), permitted, (records, ticks, previous), (a, b, issuer))| {
            let own = issuer == SELF_ISSUER;
            let (contexts, seat, profiles, text_lane) = permitted;
            SessionTicket {
                serial,
                nonce,
                key,
                policy,
                contexts,
                heartbeat_records: if own { 0 } else { records },
                heartbeat_ticks: if own { 0 } else { ticks },
                previous_close: if serial == 1 { [0; 32] } else { previous },
                not_before: a.min(b),
                not_after: a.max(b),
                issuer,
                seat,
                profiles,
                text_lane,
            }
        })
}

proptest! {
    #[test]
    fn what_is_signed_is_read_back_and_verifies(ticket in any_ticket(), seed: u8) {
        let cose = ticket.sign(&key(seed)).unwrap();
        let signed = SessionTicket::parse(&cose).unwrap();
        prop_assert_eq!(&signed.content, &ticket);
        prop_assert_eq!(signed.digest, <[u8; 32]>::from(Sha256::digest(&cose)));
        if ticket.issuer != SELF_ISSUER {
            let public = key(seed).verifying_key();
            prop_assert_eq!(
                signed.verify(&[key(seed.wrapping_add(1)).verifying_key(), public]),
                Ok(TicketIssuer::Issuer { name: ticket.issuer, key: public.to_bytes() })
            );
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_what_parses_is_canonical(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(signed) = SessionTicket::parse(&bytes) {
            prop_assert_eq!(SessionTicket::read(&signed.content.payload()), Ok(signed.content));
        }
    }

    #[test]
    fn a_changed_payload_that_still_reads_is_canonical(at: prop::sample::Index, byte: u8) {
        let mut payload = ticket().payload();
        let at = at.index(payload.len());
        payload[at] = byte;
        if let Ok(read) = SessionTicket::read(&payload) {
            prop_assert_eq!(read.payload(), payload);
        }
    }
}

/// Every single-bit change, insertion and deletion of a signed ticket is refused.
#[test]
fn every_change_is_refused() {
    let cose = ticket().sign(&key(1)).unwrap();
    let issuers = [key(1).verifying_key()];
    let accepted = |bytes: &[u8]| SessionTicket::parse(bytes).and_then(|signed| signed.verify(&issuers)).is_ok();
    assert!(accepted(&cose));
    for at in 0..cose.len() {
        for bit in 0..8 {
            let mut changed = cose.clone();
            changed[at] ^= 1 << bit;
            assert!(!accepted(&changed), "bit {bit} of byte {at}");
        }
        let mut shorter = cose.clone();
        shorter.remove(at);
        assert!(!accepted(&shorter), "without byte {at}");
        let mut longer = cose.clone();
        longer.insert(at, 0);
        assert!(!accepted(&longer), "a zero before byte {at}");
        assert!(!accepted(&cose[..at]), "cut at {at}");
    }
    assert!(!accepted(&[cose.as_slice(), &[0]].concat()));
    assert!(!accepted(&[cose.as_slice(), cose.as_slice()].concat()));
}

/// The message is assembled by hand from the layout in the module's documentation.
#[test]
fn the_layout_is_the_documented_one() {
    let mut small = ticket();
    (small.contexts, small.serial) = (BTreeSet::new(), 1);
    (small.heartbeat_records, small.heartbeat_ticks, small.previous_close) = (5, 0x1_0000, [0; 32]);
    small.issuer = "a".to_owned();
    (small.seat, small.profiles, small.text_lane) = (300, [[7; 32]].into(), false);
    let mut payload = vec![0xae, 0x00, 0x02, 0x01, 0x01, 0x02, 0x50];
    payload.extend([1; 16]);
    payload.extend([0x03, 0x58, 0x20]);
    payload.extend([2; 32]);
    payload.extend([0x04, 0x58, 0x20]);
    payload.extend([3; 32]);
    payload.extend([0x05, 0x80, 0x06, 0x05, 0x07, 0x1a, 0, 1, 0, 0, 0x08, 0x58, 0x20]);
    payload.extend([0; 32]);
    payload.extend([0x09, 0x82, 0x1a, 0x65, 0x53, 0xf1, 0x00, 0x1a, 0x6b, 0x49, 0xd2, 0x00, 0x0a, 0x61, b'a']);
    payload.extend([0x0b, 0x19, 0x01, 0x2c, 0x0c, 0x81, 0x58, 0x20]);
    payload.extend([7; 32]);
    payload.extend([0x0d, 0x00]);
    let mut signed = b"\x84\x6aSignature1\x43\xa1\x01\x27\x40\x58".to_vec();
    signed.push(u8::try_from(payload.len()).unwrap());
    signed.extend(&payload);
    let mut message = b"\xd2\x84\x43\xa1\x01\x27\xa1\x04\x48".to_vec();
    message.extend(&Sha256::digest(key(1).verifying_key().as_bytes())[..8]);
    message.extend([0x58, u8::try_from(payload.len()).unwrap()]);
    message.extend(&payload);
    message.extend([0x58, 0x40]);
    message.extend(key(1).sign(&signed).to_bytes());
    assert_eq!(small.sign(&key(1)).unwrap(), message);
}

#[test]
fn other_encodings_of_the_same_ticket_are_refused() {
    let payload = ticket().payload();
    let read = |payload: &[u8]| SessionTicket::read(payload).map(|_| ());
    assert_eq!(read(&payload), Ok(()));

    let replaced = |from: &[u8], to: &[u8]| {
        let at = payload.windows(from.len()).position(|window| window == from).unwrap();
        [&payload[..at], to, &payload[at + from.len()..]].concat()
    };
    let longer_serial = replaced(&[0x01, 0x07, 0x02], &[0x01, 0x18, 0x07, 0x02]);
    assert!(matches!(read(&longer_serial), Err(TicketError::Encoding(CborError::Longer(_)))));
    let longer_nonce = replaced(&[0x02, 0x50], &[0x02, 0x58, 0x10]);
    assert!(matches!(read(&longer_nonce), Err(TicketError::Encoding(CborError::Longer(_)))));
    let indefinite_map = [&[0xbf], &payload[1..], &[0xff]].concat();
    assert!(matches!(read(&indefinite_map), Err(TicketError::Encoding(CborError::Type(0)))));
    let keys = Err(TicketError::Field("keys are not those of its version"));
    assert_eq!(read(&[&[0xaf], &payload[1..], &[0x0e, 0x00]].concat()), keys);
    assert_eq!(read(&[&[0xad], &payload[1..payload.len() - 2]].concat()), keys);
    assert_eq!(read(&payload[..payload.len() - 2]), Err(TicketError::Encoding(CborError::Ends)));
    let lane = [&payload[..payload.len() - 1], &[0x02]].concat();
    assert_eq!(read(&lane), Err(TicketError::Field("text lane is neither required nor not")));
    let repeated_key = replaced(&[0x06, 0x19], &[0x05, 0x19]);
    assert!(matches!(read(&repeated_key), Err(TicketError::Encoding(CborError::Range(_)))));
    let trailing = [payload.as_slice(), &[0]].concat();
    assert_eq!(read(&trailing), Err(TicketError::Encoding(CborError::Trailing)));

    let mut four = vec![0x58, 0x20];
    four.extend([4; 32]);
    let mut five = vec![0x58, 0x20];
    five.extend([5; 32]);
    let (ascending, descending) = ([four.as_slice(), &five].concat(), [five.as_slice(), &four].concat());
    let order = Err(TicketError::Field("contexts are not in ascending order"));
    assert_eq!(read(&replaced(&ascending, &descending)), order);
    assert_eq!(read(&replaced(&ascending, &[four.as_slice(), &four].concat())), order);
}

/// The previous format had ten keys, from 1, and no version.
#[test]
fn other_versions_are_refused_by_name() {
    let payload = ticket().payload();
    assert_eq!(payload[..3], [0xae, 0x00, 0x02]);
    for version in [0, 1, 3, 23] {
        let other = [&[0xae, 0x00, version], &payload[3..]].concat();
        assert_eq!(SessionTicket::read(&other), Err(TicketError::Version));
    }
    assert_eq!(SessionTicket::read(&[&[0xaa], &payload[3..]].concat()), Err(TicketError::Version));
}

#[test]
fn fields_out_of_range_are_neither_signed_nor_read() {
    type Change = fn(&mut SessionTicket);
    let changes: [(&str, Change); 10] = [
        ("serial is 0", |t| t.serial = 0),
        ("previous close is set, but nothing precedes serial 1", |t| t.serial = 1),
        ("validity ends before it begins", |t| t.not_after = t.not_before - 1),
        ("issuer is empty or too long", |t| t.issuer.clear()),
        ("issuer is empty or too long", |t| t.issuer = "x".repeat(MAX_ISSUER + 1)),
        ("issuer is not visible ASCII", |t| t.issuer = "a b".to_owned()),
        ("issuer is not visible ASCII", |t| t.issuer = "\u{e9}".to_owned()),
        ("heartbeats are on, but no one issued it", |t| t.issuer = SELF_ISSUER.to_owned()),
        ("contexts are too many", |t| t.contexts = digests(MAX_CONTEXTS + 1)),
        ("profiles are too many", |t| t.profiles = digests(MAX_PROFILES + 1)),
    ];
    for (message, change) in changes {
        let mut wrong = ticket();
        change(&mut wrong);
        assert_eq!(wrong.sign(&key(1)), Err(TicketError::Field(message)));
        // `wrong`, signed without a check of its fields. The parser must refuse it.
        let payload = wrong.payload();
        let mut cose = b"\xd2\x84\x43\xa1\x01\x27\xa1\x04\x48".to_vec();
        cose.extend(kid(&key(1).verifying_key()));
        put_bytes(&mut cose, &payload);
        put_bytes(&mut cose, &key(1).sign(&to_be_signed(&payload)).to_bytes());
        assert_eq!(SessionTicket::parse(&cose), Err(TicketError::Field(message)));
    }
    assert_eq!(SessionTicket::parse(&vec![0; MAX_BYTES + 1]), Err(TicketError::Oversize));
}

#[test]
fn the_largest_ticket_fits() {
    let mut large = ticket();
    (large.contexts, large.profiles) = (digests(MAX_CONTEXTS), digests(MAX_PROFILES));
    let cose = large.sign(&key(1)).unwrap();
    assert!(cose.len() < MAX_BYTES);
    assert_eq!(SessionTicket::parse(&cose).unwrap().content, large);
}

#[test]
fn only_a_trusted_issuer_counts() {
    let signed = SessionTicket::parse(&ticket().sign(&key(1)).unwrap()).unwrap();
    let name = ticket().issuer;
    assert_eq!(signed.verify(&[]), Err(TicketError::UnknownIssuer(name.clone())));
    assert_eq!(signed.verify(&[key(2).verifying_key()]), Err(TicketError::UnknownIssuer(name)));

    // The right key id, but a signature by another key.
    let mut forged = signed.clone();
    forged.signature = key(2).sign(&forged.to_be_signed).to_bytes();
    assert_eq!(forged.verify(&[key(1).verifying_key()]), Err(TicketError::Signature));
}

#[test]
fn a_ticket_of_ones_own_has_nobody_behind_it() {
    let mut own = ticket();
    (own.heartbeat_records, own.heartbeat_ticks, own.issuer) = (0, 0, SELF_ISSUER.to_owned());
    let signed = SessionTicket::parse(&own.sign(&key(9)).unwrap()).unwrap();
    assert_eq!(signed.verify(&[key(1).verifying_key()]), Ok(TicketIssuer::SelfIssued));
    // A trusted issuer must not sign as `self`.
    assert_eq!(signed.verify(&[key(9).verifying_key()]), Err(TicketError::Signature));
}

#[test]
fn issuer_keys_are_ed25519_in_pem() {
    let public = key(1).verifying_key();
    let pem = public.to_public_key_pem(LineEnding::LF).unwrap();
    assert_eq!(issuer_key(&pem), Ok(public));
    for wrong in ["", "hello", &pem[..60], &pem.replace("PUBLIC", "PRIVATE"), &format!("{pem}{pem}")] {
        assert_eq!(issuer_key(wrong), Err(TicketError::Key), "{wrong}");
    }
}
