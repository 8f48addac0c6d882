//! Which names are those of credentials, and which values are none whatever their name.

/// Whether a byte can be part of a name.
pub(super) fn is_part(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

/// What a name tells of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClass {
    /// A password: even a number.
    Password,
    /// Any other credential.
    Credential,
    /// A header that carries credentials.
    Header,
    /// A credential or the name of one: `secret: shop-cert`.
    Unsure,
    /// A credential only in the query of a URL.
    Query,
}

impl NameClass {
    fn credential(is_certain: bool) -> Self {
        if is_certain {
            Self::Credential
        } else {
            Self::Unsure
        }
    }
}

/// The words before `key` that make it a secret one.
const KEYS: [&str; 22] = [
    "api",
    "app",
    "access",
    "private",
    "secret",
    "signing",
    "encryption",
    "account",
    "master",
    "auth",
    "shared",
    "ssh",
    "subscription",
    "functions",
    "hmac",
    "session",
    "webhook",
    "jwt",
    "deploy",
    "storage",
    "license",
    "licence",
];
/// The words before `secret` that make it a value, not a reference to one.
const SECRETS: [&str; 13] = [
    "client", "app", "consumer", "shared", "webhook", "signing", "hmac", "jwt", "session", "auth",
    "api", "oauth", "cookie",
];
/// The words before `pass` that make it a password.
const USERS: [&str; 8] = [
    "db", "database", "user", "admin", "root", "smtp", "mysql", "postgres",
];
/// Names that were written as one word.
const TAILS: [&str; 7] = [
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
];

/// Words at the end of an environment variable that only tell which one it is: `DB_PASSWORD_PROD`,
/// `SECRET_KEY_BASE`.
const VARIANTS: [&str; 12] = [
    "base",
    "pem",
    "b",
    "prod",
    "dev",
    "staging",
    "test",
    "old",
    "new",
    "primary",
    "secondary",
    "value",
];

/// Judges a name such as `DB_PASSWORD`, `x-api-key`, `clientSecret` or `--token`. It is the last
/// words that count: `TOKEN_AUDIENCES` and `secretName` are no credentials.
pub(super) fn class(name: &[u8]) -> Option<NameClass> {
    let mut rest = name;
    let is_env = !name.iter().any(u8::is_ascii_lowercase);
    let mut last = pop_word(&mut rest);
    if is_env && is_one(last, &VARIANTS) {
        last = pop_word(&mut rest);
    }
    let before = pop_word(&mut rest);
    // Rails' `secret_key_base`.
    if is_one(last, &["base"]) && is_one(before, &["key"]) {
        return is_one(pop_word(&mut rest), &KEYS).then_some(NameClass::Credential);
    }
    if is_password(last, before, is_env) {
        return Some(NameClass::Password);
    }
    if is_one(last, &["authorization"]) || is_one(name, &["cookie", "set-cookie"]) {
        return Some(NameClass::Header);
    }
    if is_one(last, &["key"]) || is_env && is_one(last, &["keys"]) {
        if is_one(before, &KEYS) {
            // `secretKey` is also what operators call a key of a Secret's data.
            let is_certain = is_env || !is_one(before, &["secret", "app"]);
            return Some(NameClass::credential(is_certain));
        }
        return None;
    }
    let is_env_auth = is_one(last, &["auth"]) && is_env;
    if is_env_auth && before.is_empty() {
        return (name == b"AUTH").then_some(NameClass::Unsure);
    }
    if is_env_auth || TAILS.iter().any(|tail| ends_with(last, tail)) {
        return Some(NameClass::Credential);
    }
    if is_one(last, &["token"]) {
        // Tokens that lead to the next page of a list.
        let is_of_list = is_one(before, &["page", "next", "continue", "continuation"]);
        return (!is_of_list).then_some(NameClass::Credential);
    }
    if ends_with(last, "secret") {
        return Some(NameClass::credential(is_env || is_one(before, &SECRETS)));
    }
    if is_one(last, &["credential", "credentials"]) {
        return Some(NameClass::credential(is_env));
    }
    if is_one(last, &["tokens", "secrets"]) {
        return Some(NameClass::Unsure);
    }
    // `client-key-data` of a kubeconfig.
    let is_key_data = is_one(last, &["data"]) && is_one(before, &["key"]);
    if is_key_data && is_one(pop_word(&mut rest), &["client"]) {
        return Some(NameClass::Credential);
    }
    is_one(last, &["sig", "signature"]).then_some(NameClass::Query)
}

fn is_password(last: &[u8], before: &[u8], is_env: bool) -> bool {
    for tail in [
        "password",
        "passwords",
        "passwd",
        "passphrase",
        "bindpw",
        "rootpw",
        "requirepass",
        "masterauth",
    ] {
        if ends_with(last, tail) {
            return true;
        }
    }
    // Shorter words mean other things, too: in an environment variable, or behind a user, they are
    // passwords.
    let has_more = is_env && !before.is_empty();
    if is_one(last, &["pwd"]) {
        return !is_env || has_more;
    }
    if is_one(last, &["pass"]) {
        return has_more || before.is_empty() || is_one(before, &USERS);
    }
    is_one(last, &["pw"]) && has_more
}

/// Whether `inline_string` and `inline_bytes` below a member of that name are secret, as in Envoy's
/// `DataSource`.
pub(super) fn holds_inline(name: &[u8]) -> bool {
    let mut rest = name;
    let [last, before] = [pop_word(&mut rest), pop_word(&mut rest)];
    match class(name) {
        Some(NameClass::Password | NameClass::Credential) => true,
        Some(NameClass::Unsure) => {
            is_one(last, &["secret"]) && is_one(before, &["generic", "token"])
        }
        _ => last.starts_with(b"pkcs") || is_one(last, &["keys"]) && is_one(before, &["ticket"]),
    }
}

/// Whether such a value goes under a name of that class.
pub(super) fn is_secret(class: NameClass, value: &[u8]) -> bool {
    match class {
        NameClass::Unsure => !is_harmless(value) && !is_reference(value),
        NameClass::Query => false,
        NameClass::Password | NameClass::Credential | NameClass::Header => !is_harmless(value),
    }
}

/// Whether a value is no secret under any name.
pub(super) fn is_harmless(value: &[u8]) -> bool {
    const WORDS: [&str; 19] = [
        "*", "true", "false", "yes", "no", "on", "off", "null", "none", "nil", "~", "trace",
        "debug", "info", "warning", "warn", "error", "critical", "optional",
    ];
    value.is_empty() || is_one(value, &WORDS) || is_placeholder(value) || is_path(value)
}

/// Whether it stands for a value that is put in elsewhere: `$(PASSWORD)`, `{{ .password }}`,
/// `%REQ(x)%`, `%s`.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    match value {
        [b'$', b'(', .., b')']
        | [b'$', b'{', .., b'}']
        | [b'{', b'{', .., b'}', b'}']
        | [b'<', .., b'>'] => true,
        [b'%', verb] => verb.is_ascii_alphabetic(),
        [b'%', .., b'%'] => value.len() > 2,
        [b'$', name @ ..] => !name.is_empty() && name.iter().all(|&b| is_of_variable(b)),
        _ => false,
    }
}

fn is_of_variable(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// Whether it is the path of a file that may hold a secret.
fn is_path(value: &[u8]) -> bool {
    let starts = value.starts_with(b"/") || value.starts_with(b"./");
    if !starts || value.len() == 1 {
        return false;
    }
    // Base64 may start with a slash, but has capitals, and no extension.
    let may_have_capitals = [".pem", ".key", ".crt", ".json", ".txt", ".yaml"]
        .iter()
        .any(|end| ends_with(value, end));
    for &byte in value {
        let is_lower =
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._/-".contains(&byte);
        let is_capital = may_have_capitals && byte.is_ascii_uppercase();
        if !is_lower && !is_capital {
            return false;
        }
    }
    true
}

/// Whether it may be the name of something: lower case, mostly letters, no long run in which digits
/// are mixed.
fn is_reference(value: &[u8]) -> bool {
    let is_part = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._:/-".contains(b);
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    if !value.iter().all(is_part) || digits * 3 >= value.len() {
        return false;
    }
    for run in value.split(|b| !b.is_ascii_alphanumeric()) {
        if run.len() >= 20 && run.iter().any(u8::is_ascii_digit) {
            return false;
        }
    }
    true
}

/// Takes the last word off a name: words are parted by punctuation or by camel case. Numbers at the
/// end do not count.
fn pop_word<'a>(name: &mut &'a [u8]) -> &'a [u8] {
    let last_letter = name.iter().rposition(u8::is_ascii_alphabetic);
    let end = last_letter.map_or(0, |last| last + 1);
    let word = &name[..end];
    let mut start = end;
    while start > 0 && word[start - 1].is_ascii_alphanumeric() && !starts_word(word, start) {
        start -= 1;
    }
    *name = &name[..start];
    &word[start..]
}

/// Whether a capital at `at` starts a word: `dbPassword`, `DBPassword`.
fn starts_word(name: &[u8], at: usize) -> bool {
    if !name.get(at).is_some_and(u8::is_ascii_uppercase) {
        return false;
    }
    let is_behind_capital = name[at - 1].is_ascii_uppercase();
    let is_before_lower = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    !is_behind_capital || is_before_lower
}

fn is_one(word: &[u8], list: &[&str]) -> bool {
    list.iter()
        .any(|entry| word.eq_ignore_ascii_case(entry.as_bytes()))
}

fn ends_with(word: &[u8], tail: &str) -> bool {
    word.len() >= tail.len()
        && word[word.len() - tail.len()..].eq_ignore_ascii_case(tail.as_bytes())
}
