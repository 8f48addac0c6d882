use super::*;

const ROOT: &[u8] = include_bytes!("../../tests/data/x509/root-rsa.pem");
const WORKLOAD: &[u8] = include_bytes!("../../tests/data/x509/workload-ec.pem");
const NAMES: &[u8] = include_bytes!("../../tests/data/x509/names-ec384.pem");
const INTERMEDIATE: &[u8] = include_bytes!("../../tests/data/x509/intermediate-ed25519.pem");
const VERSION_1: &[u8] = include_bytes!("../../tests/data/x509/v1-negative.pem");
const EXPLICIT_CURVE: &[u8] = include_bytes!("../../tests/data/x509/explicit-curve.pem");

fn one(pem: &[u8]) -> Certificate {
    let [certificate] = <[_; 1]>::try_from(from_pem(pem)).expect("the file has one block");
    certificate.expect("it is a certificate")
}

fn at(text: &str) -> Time {
    Time::parse(text).expect("the test's time is one")
}

#[test]
fn a_root_of_rsa_is_read_as_openssl_reads_it() {
    let expected = Certificate {
        subject: "O=mesh.example".to_owned(),
        issuer: "O=mesh.example".to_owned(),
        serial: "103c5a045d83f411a650798c328bac9c".to_owned(),
        not_before: at("2026-11-15T08:13:04Z"),
        not_after: at("2036-11-12T08:13:04Z"),
        is_ca: true,
        sans: Vec::new(),
        key: PublicKey {
            algorithm: "RSA".to_owned(),
            curve: None,
            bits: Some(2048),
        },
        key_sha256: "b887f996256cd803e8aa66fd88a15a6d0a23e0f6b83730bee740fd03625ef082".to_owned(),
        sha256: "8ed3c3c0b4bcd681162d2283a7a2f4db4c3e22e38c1b883083c880066537d6b2".to_owned(),
    };
    assert_eq!(one(ROOT), expected);
}

#[test]
fn a_workload_has_no_subject_but_a_spiffe_identity() {
    let workload = one(WORKLOAD);
    assert_eq!(
        (workload.subject.as_str(), workload.issuer.as_str()),
        ("", "O=mesh.example")
    );
    assert_eq!(workload.serial, "000000000000000000000000000001ff");
    assert_eq!(workload.sans, ["URI:spiffe://mesh.example/ns/shop/sa/cart"]);
    assert_eq!(workload.trust_domain(), Some("mesh.example"));
    assert_eq!(workload.not_after, at("2026-11-16T08:13:04Z"));
    assert_eq!(
        (workload.is_ca, workload.key.to_string().as_str()),
        (false, "ECDSA P-256")
    );
}

#[test]
fn names_are_escaped_and_their_types_known_or_in_hex() {
    let names = one(NAMES);
    let subject = r#"POSTALCODE=\#1,STREET=\ Weg\ ,SERIALNUMBER=7,2.5.4.12=#0c024472,emailAddress=ops@shop.example.com,CN=web+UID=u1,OU=a\;b\"\<c\>\\d,O=Bücher\, Söhne \+ Co,L=München,ST=Bayern,C=DE,DC=example,DC=com"#;
    assert_eq!(names.subject, subject);
    assert_eq!(names.key.to_string(), "ECDSA P-384");
}

#[test]
fn every_kind_of_alternative_name_is_told() {
    let expected = [
        "DNS:shop.example.com",
        "DNS:*.shop.example.com",
        "IP:192.0.2.7",
        "IP:2001:db8::7",
        "email:ops@shop.example.com",
        "URI:https://shop.example.com/a?b=c",
        "RID:1.2.3.4",
        "DirName:CN=directory,C=DE",
        "otherName:1.3.6.1.4.1.311.20.2.3",
    ];
    assert_eq!(one(NAMES).sans, expected);
    assert_eq!(one(NAMES).trust_domain(), None);
}

#[test]
fn a_serial_number_of_twenty_bytes_is_not_padded_and_a_negative_one_keeps_its_sign() {
    assert_eq!(
        one(NAMES).serial,
        "f6ee1e8bb7cf05f312f8a8b7b9532ab6441d4fee"
    );
    assert_eq!(one(INTERMEDIATE).serial, "0".repeat(32));
    assert_eq!(one(VERSION_1).serial, format!("-{}5", "0".repeat(30)));
}

#[test]
fn dates_after_2050_are_read() {
    let intermediate = one(INTERMEDIATE);
    assert_eq!(intermediate.not_after, at("2126-10-22T08:13:04Z"));
    assert_eq!(
        (intermediate.is_ca, intermediate.key.to_string().as_str()),
        (true, "Ed25519")
    );
}

#[test]
fn version_1_has_no_extensions_and_is_no_ca() {
    let old = one(VERSION_1);
    assert_eq!(
        (old.subject.as_str(), old.is_ca, old.sans.len()),
        ("CN=old", false, 0)
    );
}

#[test]
fn a_key_nobody_can_name_does_not_spoil_the_certificate() {
    let explicit = one(EXPLICIT_CURVE);
    assert_eq!(
        (explicit.subject.as_str(), explicit.key.to_string().as_str()),
        ("CN=explicit", "ECDSA")
    );
}

#[test]
fn every_block_of_a_chain_is_read_in_order_whatever_is_around_it() {
    let text = |pem: &[u8]| String::from_utf8(pem.to_vec()).expect("PEM is text");
    let chain = format!(
        "subject=\n{}issuer O=mesh.example\r\n{}{}-----BEGIN CERTIFICATE-----\nMIIB",
        text(WORKLOAD).replace('\n', "\r\n"),
        text(INTERMEDIATE).trim_end(),
        text(ROOT).trim_end(),
    );
    let subjects: Vec<_> = from_pem(chain.as_bytes())
        .into_iter()
        .map(|c| c.map(|c| c.subject))
        .collect();
    let expected = [
        Ok(String::new()),
        Ok("CN=intermediate,O=mesh.example".to_owned()),
        Ok("O=mesh.example".to_owned()),
        Err("no END CERTIFICATE line".to_owned()),
    ];
    assert_eq!(subjects, expected);
    assert!(from_pem(b"").is_empty() && from_pem(b"[redacted]").is_empty());
}

#[test]
fn a_block_that_is_no_certificate_says_why() {
    let block = |inside: &[u8]| {
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----",
            STANDARD.encode(inside)
        );
        from_pem(pem.as_bytes())
            .remove(0)
            .map(|c| c.subject)
            .expect_err("it is no certificate")
    };
    assert_eq!(block(b""), "certificate: cut short");
    assert_eq!(
        block(&[0x30, 0x80, 0, 0]),
        "certificate: an indefinite length"
    );
    assert_eq!(
        block(&[0x30, 0x81, 0x02, 0x30, 0]),
        "certificate: a length that is not in its shortest form"
    );
    assert_eq!(
        block(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
        "certificate: cut short"
    );
    assert_eq!(
        block(&[0x30, 0x88, 1, 0, 0, 0, 0, 0, 0, 0]),
        "certificate: a length out of range"
    );
    assert_eq!(block(&[0x30, 0x02, 0x30, 0x00]), "version: cut short");
    assert_eq!(
        block(&[0x30, 0x00, 0x00]),
        "bytes after the end of the certificate"
    );
    let pem = b"-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----";
    assert_eq!(from_pem(pem), [Err("not base64".to_owned())]);
}

/// A name of one attribute of that type, DER written by hand.
fn common_name(tag: u8, value: &[u8]) -> Result<String, DerFlaw> {
    let wrap = |tag: u8, inside: Vec<u8>| {
        [
            vec![tag, u8::try_from(inside.len()).expect("short")],
            inside,
        ]
        .concat()
    };
    let attribute = [vec![6, 3, 0x55, 4, 3], wrap(tag, value.to_vec())].concat();
    let set = wrap(der::SET, wrap(der::SEQUENCE, attribute));
    name::name(&mut DerReader::new(&wrap(der::SEQUENCE, set)))
}

#[test]
fn every_string_type_of_a_name_is_read_and_what_is_no_string_stays_hex() {
    for (tag, value, expected) in [
        (0x0c, "ü".as_bytes(), "CN=ü"),
        (0x0c, &[0xff], "CN=#0c01ff"),
        (0x13, b"web", "CN=web"),
        (0x14, &[0xfc], "CN=ü"),
        (0x16, &[0xfc], "CN=#1601fc"),
        (0x1c, &[0, 1, 0xf6, 0], "CN=😀"),
        (0x1e, &[0, b'a', 0xd8, 0x3d, 0xde, 0], "CN=a😀"),
        (0x1e, &[0xd8, 0x3d], "CN=#1e02d83d"),
        (0x02, &[7], "CN=#020107"),
        (0x0c, b"", "CN="),
        (0x0c, b" ", "CN=\\ "),
        (0x0c, b"a\x1b[2J\n", "CN=a\\1b[2J\\0a"),
        (0x0c, "\u{9b}".as_bytes(), "CN=\\c2\\9b"),
    ] {
        assert_eq!(
            common_name(tag, value).as_deref(),
            Ok(expected),
            "{tag:#x} {value:?}"
        );
    }
}

#[test]
fn object_identifiers_are_dotted_and_bounded() {
    assert_eq!(
        der::dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]).as_deref(),
        Ok("1.2.840.113549")
    );
    assert_eq!(der::dotted(&[0x88, 0x37, 0x03]).as_deref(), Ok("2.999.3"));
    assert!(der::dotted(&[]).is_err() && der::dotted(&[0x2a, 0x86]).is_err());
    assert!(der::dotted(&[[0xff; 12].as_slice(), &[1]].concat()).is_err());
}

#[test]
fn times_have_two_forms_and_nothing_else_is_one() {
    let time = |tag, text: &str| {
        time(der::Element {
            tag,
            content: text.as_bytes(),
            whole: &[],
        })
        .map(|t| t.to_string())
    };
    assert_eq!(
        time(der::UTC_TIME, "491231235959Z").as_deref(),
        Ok("2049-12-31T23:59:59Z")
    );
    assert_eq!(
        time(der::UTC_TIME, "500101000000Z").as_deref(),
        Ok("1950-01-01T00:00:00Z")
    );
    assert_eq!(
        time(der::GENERALIZED_TIME, "99991231235959Z").as_deref(),
        Ok("9999-12-31T23:59:59Z")
    );
    for (tag, text) in [
        (der::UTC_TIME, "4912312359Z"),
        (der::UTC_TIME, "491231235959+0100"),
        (der::UTC_TIME, "20491231235959Z"),
        (der::UTC_TIME, "491331235959Z"),
        (der::GENERALIZED_TIME, "491231235959Z"),
        (der::GENERALIZED_TIME, "2049123123595éZ"),
        (der::GENERALIZED_TIME, "20491231235959.5Z"),
        (der::INTEGER, "491231235959Z"),
    ] {
        assert!(time(tag, text).is_err(), "{text}");
    }
}

#[test]
fn a_trust_domain_is_the_host_of_a_spiffe_uri() {
    assert_eq!(
        trust_domain("spiffe://cluster.local/ns/shop/sa/cart"),
        Some("cluster.local")
    );
    assert_eq!(
        trust_domain("spiffe://cluster.local"),
        Some("cluster.local")
    );
    assert_eq!(trust_domain("spiffe:///ns/shop"), None);
    assert_eq!(trust_domain("https://cluster.local/ns"), None);
}

#[test]
fn damaged_certificates_are_refused_or_read_but_never_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let mut refused = 0;
    for pem in [
        ROOT,
        WORKLOAD,
        NAMES,
        INTERMEDIATE,
        VERSION_1,
        EXPLICIT_CURVE,
    ] {
        let text: Vec<u8> = pem
            .split(|&b| b == b'\n')
            .filter(|line| !line.starts_with(b"-"))
            .flatten()
            .copied()
            .collect();
        let der = STANDARD.decode(text).expect("the fixture is PEM");
        for length in 0..der.len() {
            assert!(
                Certificate::from_der(&der[..length]).is_err(),
                "{length} bytes"
            );
        }
        for _ in 0..3000 {
            let mut damaged = der.clone();
            for _ in 0..=random(4) {
                let at = random(damaged.len());
                damaged[at] = u8::try_from(random(256)).expect("a byte");
            }
            damaged.truncate(damaged.len() - random(2) * random(damaged.len()));
            refused += usize::from(Certificate::from_der(&damaged).is_err());
        }
    }
    assert!((1000..17_000).contains(&refused), "{refused} of 18000");
}
