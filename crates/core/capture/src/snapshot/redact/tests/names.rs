//! Which names are those of credentials.

use super::super::name::{NameClass, class};
use super::clean;
use meshladder_text::tree::Value;
use meshladder_text::yaml;

#[test]
fn the_last_words_of_a_name_tell_whether_it_is_a_credential() {
    for (names, expected) in [
        (
            "PASSWORD DB_PASSWORD PGPASSWORD dbPassword DBPassword spring.datasource.password X_PASSWD",
            Some(NameClass::Password),
        ),
        (
            "SMTP_PW REDIS_PASS db_pass pwd PASSWORD1 DB_PASSWORD_PROD --db-password ssl.key.passphrase",
            Some(NameClass::Password),
        ),
        (
            "TOKEN token GITHUB_TOKEN TOKEN_2 accessToken x-auth-token X-Amz-Security-Token",
            Some(NameClass::Credential),
        ),
        (
            "API_KEY apiKey x-api-key X-Api-Key apikey APIKEY API_KEYS secret_access_key privateKey",
            Some(NameClass::Credential),
        ),
        ("REDIS_AUTH BASIC_AUTH", Some(NameClass::Credential)),
        (
            "SECRET CLIENT_SECRET client_secret clientSecret SECRET_KEY_BASE AWS_CREDENTIALS",
            Some(NameClass::Credential),
        ),
        (
            "authorization Authorization Proxy-Authorization cookie Set-Cookie",
            Some(NameClass::Header),
        ),
        (
            "secret caSecret secretKey credentials tokens",
            Some(NameClass::Unsure),
        ),
        ("sig X-Amz-Signature", Some(NameClass::Query)),
        (
            "JWT_POLICY PILOT_CERT_PROVIDER CA_ADDR TOKEN_AUDIENCES USE_TOKEN_FOR_CSR SECRET_TTL DB_PASSWORD_FILE PW",
            None,
        ),
        (
            "secretName credentialName secretKeyRef tokenRequests AWS_ACCESS_KEY_ID public_key token_bucket",
            None,
        ),
        (
            "tls_certificate_sds_secret_configs private_key_provider next_page_token key data kind PWD first_pass",
            None,
        ),
    ] {
        for name in names.split(' ') {
            assert_eq!(class(name.as_bytes()), expected, "{name}");
        }
    }
}

#[test]
fn a_secret_too_short_for_quotes_stays_text() {
    for (yaml, clean_yaml) in [
        ("password: ab\n", "password: _\n"),
        ("password: abc\n", "password: '*'\n"),
    ] {
        let clean = clean("k8s/a.yaml", yaml);
        assert_eq!(clean, clean_yaml);
        let trees = yaml::load(&clean).documents;
        assert!(
            matches!(trees[0].members()[0].value.value, Value::String(_)),
            "{clean}"
        );
    }
}
