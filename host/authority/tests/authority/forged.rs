//! Certificates with valid signatures by the right keys that violate the profile.

use std::str::FromStr;
use std::time::Duration;

use super::certificates::{NOW, WINDOW, key, made, trust, verify};
use ed25519_dalek::{Signature, Signer, SigningKey};
use portcullis_evidence::certificate::{CertificateError, CertificatePosition, TrustStore, verify_chain};
use x509_cert::Certificate;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder, CertificateBuilder};
use x509_cert::certificate::TbsCertificate;
use x509_cert::der::asn1::{Any, BitString, OctetString};
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{DateTime, DecodePem, EncodePem};
use x509_cert::ext::Extension;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{SubjectPublicKeyInfoOwned, SubjectPublicKeyInfoRef};
use x509_cert::time::{Time, Validity};

/// A decoded certificate, to be changed and signed again.
struct Forged {
    issuer: Name,
    subject: Name,
    spki: SubjectPublicKeyInfoOwned,
    extensions: Vec<Extension>,
}

type Change<'a> = &'a dyn Fn(&mut Forged);

impl Forged {
    fn of(pem: &str) -> Self {
        let certificate = Certificate::from_pem(pem).unwrap();
        let tbs = certificate.tbs_certificate();
        Self {
            issuer: tbs.issuer().clone(),
            subject: tbs.subject().clone(),
            spki: tbs.subject_public_key_info().clone(),
            extensions: tbs.extensions().unwrap().clone(),
        }
    }

    fn extension(&mut self, oid: &str) -> &mut Extension {
        self.extensions.iter_mut().find(|found| found.extn_id.to_string() == oid).unwrap()
    }

    fn remove(&mut self, oid: &str) {
        self.extensions.retain(|found| found.extn_id.to_string() != oid);
    }

    fn set(&mut self, oid: &str, value: &[u8]) {
        self.extension(oid).extn_value = OctetString::new(value).unwrap();
    }

    fn sign(self, key: &SigningKey) -> String {
        let time =
            |second| Time::GeneralTime(DateTime::from_unix_duration(Duration::from_secs(second)).unwrap().into());
        let validity = Validity::new(time(WINDOW.not_before), time(WINDOW.not_after));
        let spki = self.spki.clone();
        let builder = CertificateBuilder::new(self, SerialNumber::from(1_u8), validity, spki).unwrap();
        builder.build::<_, Signature>(key).unwrap().to_pem(LineEnding::LF).unwrap()
    }
}

impl BuilderProfile for Forged {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> x509_cert::builder::Result<Vec<Extension>> {
        Ok(self.extensions.clone())
    }
}

const BASIC: &str = "2.5.29.19";
const USAGE: &str = "2.5.29.15";
const DESIGN: &str = "1.3.6.1.4.1.32473.1.1";
const KIND: &str = "1.3.6.1.4.1.32473.1.2";
const WATCHED: &str = "1.3.6.1.4.1.32473.1.3";

/// The signatures are valid, and by the right keys, but the profile is violated.
#[test]
fn certificates_that_no_honest_authority_makes() {
    let made = made();
    let store = trust(&[&made.root]);
    let leaf = |change: Change| {
        let mut forged = Forged::of(&made.leaf);
        change(&mut forged);
        let leaf = forged.sign(&key(2));
        verify_chain(leaf.as_bytes(), made.chain.as_bytes(), &store, Some(NOW))
    };
    assert!(leaf(&|_| ()).is_ok());
    let null = || Some(Any::null());
    let other = |pem: &str| Forged::of(pem).spki;
    let wrong: [(&str, Change); 21] = [
        ("has an unknown critical extension", &|f| f.extension("2.5.29.14").critical = true),
        ("has an unknown critical extension", &|f| f.extension(DESIGN).critical = true),
        ("has an extension twice", &|f| f.extensions.push(f.extensions[0].clone())),
        ("has a subject key with parameters", &|f| f.spki.algorithm.parameters = null()),
        ("has a subject key that is not SLH-DSA-SHA2-128f", &|f| f.spki = other(&made.chain)),
        ("has a subject key that is not SLH-DSA-SHA2-128f", &|f| {
            f.spki.algorithm.oid = "2.16.840.1.101.3.4.3.20".parse().unwrap();
        }),
        ("has a subject key that is not 32 bytes long", &|f| {
            f.spki.subject_public_key = BitString::from_bytes(&[1; 33]).unwrap();
        }),
        ("has a subject key of broken bytes", &|f| f.spki.subject_public_key = BitString::new(3, [8; 32]).unwrap()),
        ("is an authority", &|f| f.set(BASIC, &[0x30, 3, 1, 1, 0xff])),
        ("has a broken extension", &|f| f.set(BASIC, &[0x30, 1])),
        // DER does not allow an explicit FALSE here, nor zero bits at the end of a key usage.
        ("has a broken extension", &|f| f.set(BASIC, &[0x30, 3, 1, 1, 0])),
        ("has a broken extension", &|f| f.set(USAGE, &[3, 2, 0, 0x80])),
        ("is not for signatures alone", &|f| f.remove(USAGE)),
        ("is not for signatures alone", &|f| f.set(USAGE, &[3, 2, 2, 4])),
        ("is not for signatures alone", &|f| f.set(USAGE, &[3, 2, 2, 0x84])),
        ("has no design id", &|f| f.remove(DESIGN)),
        ("has a design id that is not 16 bytes long", &|f| f.set(DESIGN, &[4, 2, 0, 0])),
        ("has no class", &|f| f.remove(KIND)),
        ("has an unknown class", &|f| f.set(KIND, &[0x0a, 1, 3])),
        ("has a design id of another class", &|f| f.set(KIND, &[0x0a, 1, 0])),
        ("has a supervision mark that is not TRUE", &|f| f.set(WATCHED, &[1, 1, 0])),
    ];
    for (reason, change) in wrong {
        assert_eq!(leaf(change), Err(CertificateError::Profile(CertificatePosition::Device, reason)));
    }
    // The names must chain too, not only the keys.
    let renamed = leaf(&|f| f.issuer = Name::from_str("CN=Gate issuing 2,O=Example").unwrap());
    assert_eq!(renamed, Err(CertificateError::Signature(CertificatePosition::Device)));
    // Unknown extensions that are not critical are ignored (RFC 5280, 4.2). A leaf may omit basic constraints.
    assert!(leaf(&|f| f.extension("2.5.29.14").extn_id = "1.2.3.4".parse().unwrap()).is_ok());
    assert!(leaf(&|f| f.remove(BASIC)).is_ok());
    assert!(!leaf(&|f| f.remove(WATCHED)).unwrap().supervised);

    let authority = |change: Change| {
        let mut forged = Forged::of(&made.chain);
        change(&mut forged);
        let chain = forged.sign(&key(1));
        verify_chain(made.leaf.as_bytes(), chain.as_bytes(), &store, Some(NOW)).map(|_| ())
    };
    assert_eq!(authority(&|_| ()), Ok(()));
    let wrong: [(&str, Change); 7] = [
        ("is not an authority", &|f| f.remove(BASIC)),
        ("is not an authority", &|f| f.set(BASIC, &[0x30, 0])),
        ("is not an authority", &|f| f.extension(BASIC).critical = false),
        ("may not sign certificates", &|f| f.remove(USAGE)),
        ("may not sign certificates", &|f| f.set(USAGE, &[3, 2, 7, 0x80])),
        ("has a subject key that is not Ed25519", &|f| f.spki = other(&made.leaf)),
        ("has an unknown critical extension", &|f| {
            let constraints = f.extension("2.5.29.14");
            (constraints.extn_id, constraints.critical) = ("2.5.29.30".parse().unwrap(), true);
        }),
    ];
    for (reason, change) in wrong {
        assert_eq!(authority(change), Err(CertificateError::Profile(CertificatePosition::Chain(0), reason)));
    }
    let renamed = authority(&|f| f.issuer = Name::from_str("CN=Another root,O=Example").unwrap());
    assert_eq!(renamed, Err(CertificateError::UnknownRoot));

    // The rules of the profile apply to roots too, which sign themselves.
    let root = |change: Change| {
        let mut forged = Forged::of(&made.root);
        change(&mut forged);
        TrustStore::default().add_root(forged.sign(&key(1)).as_bytes())
    };
    assert_eq!(root(&|_| ()), Ok(()));
    assert!(matches!(root(&|f| f.remove(BASIC)), Err(CertificateError::Profile(CertificatePosition::Root, _))));
    assert!(matches!(root(&|f| f.remove(USAGE)), Err(CertificateError::Profile(CertificatePosition::Root, _))));
    let mut narrow = Forged::of(&made.root);
    narrow.set(BASIC, &[0x30, 6, 1, 1, 0xff, 2, 1, 0]);
    let narrow = narrow.sign(&key(1));
    let reason = "does not permit a path of this length";
    assert_eq!(verify(&made, &trust(&[&narrow])), Err(CertificateError::Profile(CertificatePosition::Root, reason)));
    assert_eq!(
        root(&|f| f.issuer = Name::from_str("CN=x").unwrap()),
        Err(CertificateError::Signature(CertificatePosition::Root))
    );
    assert_eq!(
        TrustStore::default().add_root(made.chain.as_bytes()),
        Err(CertificateError::Signature(CertificatePosition::Root))
    );
}

/// Tag and content of a DER element.
type Element = (u8, Vec<u8>);

/// A DER element.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    match length.to_be_bytes() {
        [0, low @ 0..=0x7f] => [&[tag, low][..], content].concat(),
        [0, low] => [&[tag, 0x81, low][..], content].concat(),
        [high, low] => [&[tag, 0x82, high, low][..], content].concat(),
    }
}

fn elements(mut der: &[u8]) -> Vec<Element> {
    let mut found = Vec::new();
    while !der.is_empty() {
        let (head, length) = match der[1] {
            short @ 0..=0x7f => (2, usize::from(short)),
            0x81 => (3, usize::from(der[2])),
            _ => (4, usize::from(u16::from_be_bytes([der[2], der[3]]))),
        };
        found.push((der[0], der[head..head + length].to_vec()));
        der = &der[head + length..];
    }
    found
}

/// Faults that the certificate builder cannot make. The test changes the encoding, and signs it again.
#[test]
fn encodings_that_no_honest_authority_makes() {
    let made = made();
    let (_, der) = x509_cert::der::pem::decode_vec(made.leaf.as_bytes()).unwrap();
    let signed = |change: &dyn Fn(&mut Vec<Element>)| {
        let mut fields = elements(&elements(&elements(&der)[0].1)[0].1);
        change(&mut fields);
        let tbs = element(0x30, &fields.iter().flat_map(|(tag, content)| element(*tag, content)).collect::<Vec<_>>());
        let signature = element(3, &[&[0][..], &key(2).sign(&tbs).to_bytes()].concat());
        let whole = element(0x30, &[&tbs[..], &[0x30, 5, 6, 3, 0x2b, 0x65, 0x70], &signature].concat());
        let pem = x509_cert::der::pem::encode_string("CERTIFICATE", LineEnding::LF, &whole).unwrap();
        verify_chain(pem.as_bytes(), made.chain.as_bytes(), &trust(&[&made.root]), Some(NOW)).map(|_| ())
    };
    assert_eq!(signed(&|_| ()), Ok(()));
    let wrong = |reason| Err(CertificateError::Profile(CertificatePosition::Device, reason));
    assert_eq!(signed(&|fields| fields[0].1[2] = 1), wrong("is not of version 3"));
    assert_eq!(signed(&|fields| fields[2].1[4] = 0x71), wrong("is not signed with Ed25519"));
    assert_eq!(signed(&|fields| fields[2].1.extend([5, 0])), wrong("is not signed with Ed25519"));
    // A time in a form that RFC 5280, 4.1.2.5 does not allow; a serial with a needless zero; an extra field.
    let general = element(0x18, b"20250615150000Z");
    let der = Err(CertificateError::Der(CertificatePosition::Device));
    assert_eq!(signed(&|fields| fields[4].1 = [&general[..], &general].concat()), der);
    assert_eq!(signed(&|fields| fields[1].1.insert(0, 0)), der);
    assert_eq!(signed(&|fields| fields.push((5, Vec::new()))), der);
    assert_eq!(signed(&|fields| fields.push(fields[7].clone())), der);
}
