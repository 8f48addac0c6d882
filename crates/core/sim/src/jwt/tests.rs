use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

use super::*;
use crate::request::{Claims, Connection};
use crate::state::MetadataLookup;

/// The example of RFC 7515, appendix A.2: RS256, issuer `joe`, expired 2011-03-22.
const RFC_7515_A2: &str = "eyJhbGciOiJSUzI1NiJ9.\
    eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
    cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZ\
    cAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-e\
    OkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
const RFC_7515_A2_KEY: &str = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;
/// Just before that token expires.
const THEN: Time = Time {
    seconds: 1_300_819_380,
    nanos: 0,
};

fn request(headers: &[(&str, &str)], claims: Claims) -> Request {
    Request {
        connection: Connection {
            destination: ([127, 0, 0, 1].into(), 80),
            source: None,
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: "shop.test".to_owned(),
        path: "/".to_owned(),
        headers: headers
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        claims,
        unknown_headers: Vec::new(),
    }
}

fn bearer(token: &str) -> Request {
    request(
        &[("authorization", &format!("Bearer {token}"))],
        Claims::None,
    )
}

/// A filter with the provider `p`, whose keys are `keys`, and one rule for all paths.
fn filter(provider: &str, keys: &str, requires: &str) -> JwtAuthn {
    let keys = meshladder_text::json::escape(&format!(r#"{{"keys":[{keys}]}}"#));
    let doc = format!(
        r#"{{"providers":{{"p":{{{provider}"payload_in_metadata":"payload","local_jwks":{{"inline_string":{keys}}}}}}},
        "rules":[{{"match":{{"prefix":"/"}},"requires":{requires}}}]}}"#
    );
    JwtAuthn::compile(Raw::of(&doc).expect("the test's document is JSON"))
}

fn verdict(filter: &JwtAuthn, request: &Request, now: Time) -> JwtVerdict {
    filter.evaluate(
        None,
        &mut RequestState::new(request),
        now,
        &mut DecisionRecord::dropping(),
    )
}

fn details(verdict: JwtVerdict) -> String {
    match verdict {
        JwtVerdict::Passed(_) => "passed".to_owned(),
        JwtVerdict::Refused(answer) => format!("{} {}", answer.code, answer.details),
        JwtVerdict::Undecided(fact) => format!("undecided: {fact}"),
    }
}

const NEEDS_P: &str = r#"{"provider_name":"p"}"#;

#[test]
fn the_signature_of_the_rfcs_example_is_good_and_a_changed_one_is_not() {
    let filter = filter(r#""issuer":"joe","#, RFC_7515_A2_KEY, NEEDS_P);
    assert_eq!(
        details(verdict(&filter, &bearer(RFC_7515_A2), THEN)),
        "passed"
    );
    let forged = RFC_7515_A2.replace(".cC4h", ".cC4i");
    let refused = "401 jwt_authn_access_denied{Jwt_verification_fails}";
    assert_eq!(details(verdict(&filter, &bearer(&forged), THEN)), refused);
}

#[test]
fn a_token_expires_a_minute_late() {
    let filter = filter(r#""issuer":"joe","#, RFC_7515_A2_KEY, NEEDS_P);
    let at = |seconds| Time::from_seconds(THEN.seconds + seconds);
    assert_eq!(
        details(verdict(&filter, &bearer(RFC_7515_A2), at(60))),
        "passed"
    );
    let expired = "401 jwt_authn_access_denied{Jwt_is_expired}";
    assert_eq!(
        details(verdict(&filter, &bearer(RFC_7515_A2), at(61))),
        expired
    );
}

#[test]
fn each_way_to_be_wrong_has_its_own_details() {
    let filter = filter(
        r#""issuer":"joe","audiences":["a"],"#,
        RFC_7515_A2_KEY,
        NEEDS_P,
    );
    let b64 = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let token = |header: &str, payload: &str| format!("{}.{}.c2ln", b64(header), b64(payload));
    let rs = r#"{"alg":"RS256"}"#;
    for (token, expected) in [
        (
            "a.b".to_owned(),
            "Jwt_is_not_in_the_form_of_Header.Payload.Signature_with_two_dots_and_3_sections",
        ),
        (
            "!.e30.e30".to_owned(),
            "Jwt_is_not_in_the_form_of_Header.Payload.Signature_with_two_dots_and_3_sections",
        ),
        (
            "a.e30.e30".to_owned(),
            "Jwt_header_is_an_invalid_Base64url_encoded",
        ),
        (token("[]", "{}"), "Jwt_header_is_an_invalid_JSON"),
        (
            token("{}", "{}"),
            "Jwt_header_[alg]_field_is_required_and_must_be_a_string",
        ),
        (
            token(r#"{"alg":"none"}"#, "{}"),
            "Jwt_header_[alg]_is_not_supported",
        ),
        (
            token(r#"{"alg":"RS256","kid":1}"#, "{}"),
            "Jwt_header_[kid]_field_is_not_a_string",
        ),
        (token(rs, "x"), "Jwt_payload_is_an_invalid_JSON"),
        (
            token(rs, r#"{"iss":1}"#),
            "Jwt_payload_[iss]_field_is_not_a_string",
        ),
        (
            token(rs, r#"{"exp":"1"}"#),
            "Jwt_payload_[exp]_field_is_not_an_integer",
        ),
        (
            token(rs, r#"{"nbf":-1}"#),
            "Jwt_payload_[nbf]_field_is_not_a_positive_64_bit_integer",
        ),
        (
            token(rs, r#"{"aud":[1]}"#),
            "Jwt_payload_[aud]_field_is_not_a_string_or_string_list",
        ),
        (token(rs, r#"{"iss":"x"}"#), "Jwt_issuer_is_not_configured"),
        (
            token(rs, r#"{"iss":"joe","nbf":1300819441}"#),
            "Jwt_not_yet_valid",
        ),
        (
            token(rs, r#"{"iss":"joe","aud":"https://a/"}"#),
            "Jwt_verification_fails",
        ),
    ] {
        let expected = format!("401 jwt_authn_access_denied{{{expected}}}");
        // The second token has no legal character before its first dot, so Envoy skips to the dot.
        assert_eq!(
            details(verdict(&filter, &bearer(&token), THEN)),
            expected,
            "{token}"
        );
    }
    let other = verdict(
        &filter,
        &bearer(&token(rs, r#"{"iss":"joe","aud":["b"]}"#)),
        THEN,
    );
    assert_eq!(
        details(other),
        "403 jwt_authn_access_denied{Audiences_in_Jwt_are_not_allowed}"
    );
    let none = verdict(&filter, &request(&[], Claims::None), THEN);
    assert_eq!(details(none), "401 jwt_authn_access_denied{Jwt_is_missing}");
}

#[test]
fn claims_of_an_elliptic_token_reach_the_metadata() {
    let random = SystemRandom::new();
    let pkcs8 =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random)
        .expect("a key");
    let b64 = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!(
        "{}.{}",
        b64(br#"{"alg":"ES256"}"#),
        b64(br#"{"iss":"joe","sub":"alice","scope":"read write","realm":{"roles":["a"]}}"#)
    );
    let signature = pair.sign(&random, signed.as_bytes()).expect("a signature");
    let point = pair.public_key().as_ref();
    let key = format!(
        r#"{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}"#,
        b64(&point[1..33]),
        b64(&point[33..])
    );
    let normalize =
        r#""issuer":"joe","normalize_payload_in_metadata":{"space_delimited_claims":["scope"]},"#;
    let filter = filter(normalize, &key, NEEDS_P);
    let request = bearer(&format!("{signed}.{}", b64(signature.as_ref())));
    let mut state = RequestState::new(&request);
    let verdict = filter.evaluate(None, &mut state, THEN, &mut DecisionRecord::dropping());
    assert_eq!(details(verdict), "passed");
    let find = |path: &[&str]| {
        let path: Vec<Box<str>> = path.iter().map(|key| (*key).into()).collect();
        match state.metadata.find(NAMESPACE, &path) {
            MetadataLookup::Value(value) => format!("{value:?}"),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(find(&["payload", "sub"]), r#"String("alice")"#);
    assert!(
        find(&["payload", "scope"]).starts_with("Array"),
        "{}",
        find(&["payload", "scope"])
    );
    assert!(find(&["payload", "realm", "roles"]).starts_with("Array"));
    assert!(
        state.request.header("authorization").is_empty(),
        "a token is not forwarded unless asked for"
    );
}

#[test]
fn allow_missing_lets_a_request_without_token_pass_but_not_one_with_a_bad_token() {
    let requires =
        r#"{"requires_any":{"requirements":[{"provider_name":"p"},{"allow_missing":{}}]}}"#;
    let filter = filter(r#""issuer":"joe","#, RFC_7515_A2_KEY, requires);
    assert_eq!(
        details(verdict(&filter, &request(&[], Claims::None), THEN)),
        "passed"
    );
    let late = Time::from_seconds(THEN.seconds + 3600);
    let expired = "401 jwt_authn_access_denied{Jwt_is_expired}";
    assert_eq!(
        details(verdict(&filter, &bearer(RFC_7515_A2), late)),
        expired
    );
}

#[test]
fn what_nobody_said_of_a_token_is_named() {
    let filter = filter(
        r#""issuer":"joe","audiences":["a"],"#,
        RFC_7515_A2_KEY,
        NEEDS_P,
    );
    let given = |claims: &[(&str, &str)]| {
        Claims::Given(
            claims
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        )
    };
    for (claims, expected) in [
        (
            Claims::Unknown,
            "undecided: whether the request carries a token",
        ),
        (
            given(&[("sub", "alice")]),
            "undecided: the claim aud of the token",
        ),
        (given(&[("aud", "a")]), "passed"),
        (
            given(&[("aud", "b")]),
            "403 jwt_authn_access_denied{Audiences_in_Jwt_are_not_allowed}",
        ),
        (
            given(&[("iss", "x")]),
            "401 jwt_authn_access_denied{Jwt_issuer_is_not_configured}",
        ),
    ] {
        assert_eq!(
            details(verdict(&filter, &request(&[], claims), THEN)),
            expected
        );
    }
}

#[test]
fn keys_that_are_elsewhere_leave_only_the_signature_open() {
    let doc = r#"{"providers":{"p":{"issuer":"joe","remote_jwks":{"http_uri":{"uri":"https://joe.test/keys"}}}},
        "rules":[{"match":{"prefix":"/"},"requires":{"provider_name":"p"}}]}"#;
    let filter = JwtAuthn::compile(Raw::of(doc).expect("a value"));
    assert_eq!(
        details(verdict(&filter, &bearer(RFC_7515_A2), THEN)),
        "undecided: the keys at https://joe.test/keys"
    );
    let late = Time::from_seconds(THEN.seconds + 3600);
    let expired = "401 jwt_authn_access_denied{Jwt_is_expired}";
    assert_eq!(
        details(verdict(&filter, &bearer(RFC_7515_A2), late)),
        expired
    );
}
