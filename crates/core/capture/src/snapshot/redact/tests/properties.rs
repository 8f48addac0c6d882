//! What holds for any bytes.

use super::{DocId, redact};

/// Pieces that mean something to the search, to be put together in ways that mean nothing.
const PIECES: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "\\\"",
    "\\n",
    ":",
    ": ",
    ",",
    "=",
    "\n",
    "  ",
    "- ",
    "|",
    "*a",
    "&a ",
    "kind",
    "Secret",
    "data",
    "stringData",
    "password",
    "DB_TOKEN",
    "name",
    "value",
    "--password",
    "Bearer ",
    "Basic ",
    "dTpwYXNz",
    "eyJhbGciOiJSUzI1NiJ9",
    ".eyJpc3MiOiJhIn0",
    "://",
    "u:p@",
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG",
    "-----END PRIVATE KEY-----",
    "kty",
    "apiVersion",
    "\u{e9}",
    "authorization",
    "hunter2",
    "auths",
];

#[test]
fn any_bytes_are_survived_and_never_grow() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    for id in [
        "k8s/a.yaml",
        "k8s/a.json",
        "logs/a/b/c.log",
        "proxies/a/b/config_dump.json",
    ]
    .map(DocId::new)
    {
        for _ in 0..1500 {
            let mut bytes: Vec<u8> = (0..random(60))
                .flat_map(|_| PIECES[random(PIECES.len())].bytes())
                .collect();
            if random(4) == 0 && !bytes.is_empty() {
                let at = random(bytes.len());
                bytes[at] = 0xff;
            }
            let before = bytes.clone();
            redact(&id, &mut bytes);
            assert!(
                bytes.len() <= before.len(),
                "{}",
                String::from_utf8_lossy(&before)
            );
        }
    }
}

#[test]
fn bytes_that_are_not_utf_8_hide_nothing() {
    let mut bytes =
        b"{\"a\":\"\xff\xfe\",\"kind\":\"Secret\",\"data\":{\"k\":\"\xffPLANTED\xff\"}}".to_vec();
    assert_eq!(redact(&DocId::new("k8s/a.json"), &mut bytes), 1);
    assert_eq!(
        bytes,
        b"{\"a\":\"\xff\xfe\",\"kind\":\"Secret\",\"data\":{\"k\":\"*********\"}}"
    );
}

#[test]
fn many_secrets_in_one_place_are_found_in_linear_time() {
    let pairs = "\"kind\":\"Secret\",\"name\":\"A_TOKEN\",".repeat(20_000);
    let mut json = format!("{{{pairs}\"data\":{{\"a\":\"PLANTED\"}}}}").into_bytes();
    assert_eq!(redact(&DocId::new("k8s/a.json"), &mut json), 1);
    let mut yaml = "a_token: PLANTED\n".repeat(20_000).into_bytes();
    assert_eq!(redact(&DocId::new("k8s/a.yaml"), &mut yaml), 20_000);
    let mut yaml = "name: A_TOKEN\n".repeat(20_000).into_bytes();
    assert_eq!(redact(&DocId::new("k8s/a.yaml"), &mut yaml), 0);
    let mut deep = format!(
        "{}{}",
        "[{\"password\":".repeat(50_000),
        "\"kind\":\"Secret\""
    )
    .into_bytes();
    redact(&DocId::new("k8s/a.json"), &mut deep);
}
