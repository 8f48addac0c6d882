//! Secrets that are part of an address or of a command: URLs to which whoever knows them may post,
//! and curl's logins.

use std::ops::Range;

use super::name;
use super::token::{is_base64url, run};

/// Services whose webhooks have the secret in their path. It is found in a URL as well as in an
/// access log, which has the path alone.
#[derive(Clone, Copy, Debug)]
pub(super) enum SecretHook {
    /// `/services/T…/B…/secret`
    Slack,
    /// `/api/webhooks/number/secret`
    Discord,
    /// `/webhookb2/ids/IncomingWebhook/secret/id`
    Office,
}

/// Hosts with the start of the path before the secret; of others the path says enough.
const HOSTS: [(&str, &str); 3] = [
    ("hooks.zapier.com", "/hooks/catch/"),
    ("api.telegram.org", "/bot"),
    ("events.pagerduty.com", "/integration/"),
];

/// How long a path may be: what is looked at for each must not grow with the text.
const PATH: usize = 512;

/// How much of a command is looked at for a login.
const COMMAND: usize = 1 << 10;

impl SecretHook {
    /// The secret behind the start of a path, of which `at` is the part that was found.
    pub(super) fn secret(self, text: &[u8], at: Range<usize>) -> Option<Range<usize>> {
        let near = &text[..text.len().min(at.end + PATH)];
        let end = run(near, at.end, |b| is_base64url(b) || b"/@.=%".contains(&b));
        let parts: Vec<&[u8]> = text[at.end..end].split(|&b| b == b'/').collect();
        let skipped = match (self, parts.as_slice()) {
            (Self::Slack, [team, bot, ..]) if is_id(team) && is_id(bot) => 2,
            (Self::Discord, [number, ..]) if is_id(number) => 1,
            (Self::Office, _) => 2,
            _ => return None,
        };
        let secret = parts.get(skipped)?;
        if secret.len() < 16 {
            return None;
        }
        let mut start = at.end;
        for part in &parts[..skipped] {
            start += part.len() + 1;
        }
        Some(start..start + secret.len())
    }
}

/// `T0123ABC`, or a number.
fn is_id(part: &[u8]) -> bool {
    let is_of_id = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    part.len() >= 6 && part.iter().all(is_of_id)
}

/// The secret in the path of a URL; `at` is where `://` stands.
pub(super) fn of_url(text: &[u8], at: usize) -> Option<Range<usize>> {
    let url = &text[at + 3..];
    for (host, folder) in HOSTS {
        let Some(path) = url.strip_prefix(host.as_bytes()) else {
            continue;
        };
        let secret = path.strip_prefix(folder.as_bytes())?;
        let start = text.len() - secret.len();
        // Zapier's secret is two parts of the path.
        let has_parts = folder.ends_with("catch/");
        let end = run(text, start, |b| {
            is_base64url(b) || b":%".contains(&b) || has_parts && b == b'/'
        });
        return (end - start >= 8).then_some(start..end);
    }
    None
}

/// The password in what follows `curl`: `-u user:password`, written as one string or as a list of
/// arguments.
pub(super) fn curl_login(text: &[u8], start: usize) -> Option<Range<usize>> {
    if !text.get(start).is_some_and(|&b| is_between(b)) {
        return None;
    }
    let end = text.len().min(start + COMMAND);
    let end = start + memchr::memchr2(b'}', b';', &text[start..end]).unwrap_or(end - start);
    let mut at = start;
    let mut is_next = false;
    while at < end {
        let word = at..run(&text[..end], at, |b| !is_between(b));
        let arg = &text[word.clone()];
        at = word.end + 1;
        let login = match arg {
            [] | b"-" | b"n" => continue,
            // It will be found itself.
            b"curl" => return None,
            b"-u" | b"--user" => {
                is_next = true;
                continue;
            }
            _ if is_next => word.clone(),
            _ if arg.starts_with(b"--user=") => word.start + 7..word.end,
            [b'-', b'u', _, ..] => word.start + 2..word.end,
            _ => continue,
        };
        is_next = false;
        // Without a password curl asks for it.
        let Some(colon) = memchr::memchr(b':', &text[login.clone()]) else {
            continue;
        };
        let password = login.start + colon + 1..login.end;
        if !name::is_placeholder(&text[password.clone()]) {
            return (!password.is_empty()).then_some(password);
        }
    }
    None
}

/// The password in what follows the name of a program: `mysql -pPASSWORD`, `sshpass -p PASSWORD`,
/// `docker login -p PASSWORD`, `redis-cli -a PASSWORD`.
pub(super) fn program_password(text: &[u8], start: usize) -> Option<Range<usize>> {
    if !text.get(start).is_some_and(|&b| is_between(b)) {
        return None;
    }
    let end = text.len().min(start + COMMAND);
    let line = &text[start..end];
    let end = start + memchr::memchr3(b'}', b';', b'\n', line).unwrap_or(line.len());
    let mut at = start;
    let mut is_next = false;
    while at < end {
        let word = at..run(&text[..end], at, |b| !is_between(b));
        let arg = &text[word.clone()];
        at = word.end + 1;
        let password = match arg {
            [] => continue,
            b"-p" | b"-a" | b"--pass" => {
                is_next = true;
                continue;
            }
            _ if is_next => word.clone(),
            [b'-', b'p', first, ..] if *first != b'r' => word.start + 2..word.end,
            _ => continue,
        };
        is_next = false;
        if is_argument_secret(&text[password.clone()]) {
            return Some(password);
        }
    }
    None
}

/// The password of `-u user:password`.
pub(super) fn flag_login(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = next_argument(text, at)?;
    let login = &text[word.clone()];
    let colon = memchr::memchr(b':', login)?;
    let is_login = colon > 0 && !login[colon..].starts_with(b"://");
    let password = word.start + colon + 1..word.end;
    let is_number = text[password.clone()].iter().all(u8::is_ascii_digit);
    let is_secret = is_login && !is_number && !name::is_placeholder(&text[password.clone()]);
    is_secret.then_some(password)
}

/// What follows `-p` in a list of arguments.
pub(super) fn flag_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = next_argument(text, at)?;
    is_argument_secret(&text[word.clone()]).then_some(word)
}

/// The argument after the one that ends at a place: behind blanks, quotes, a comma or the dash of a
/// list.
fn next_argument(text: &[u8], at: usize) -> Option<Range<usize>> {
    let near = &text[..text.len().min(at + PATH)];
    let start = run(near, at, is_between);
    let start = match near.get(start..start + 2) {
        Some(b"- ") => run(near, start + 1, is_between),
        _ => start,
    };
    let end = run(near, start, |b| !is_between(b));
    (end > start).then_some(start..end)
}

/// Whether an argument may be a password: no port, path, flag or plain word.
fn is_argument_secret(value: &[u8]) -> bool {
    let is_of_port = |b: &u8| b.is_ascii_digit() || b".:-".contains(b);
    value.len() >= 4
        && value.iter().any(u8::is_ascii_alphanumeric)
        && !value.starts_with(b"-")
        && !value.starts_with(b"{{")
        && !value.contains(&b'/')
        && !value.iter().all(is_of_port)
        && !value.iter().all(u8::is_ascii_lowercase)
        && !name::is_placeholder(value)
}

/// The last part of a line of `.pgpass`, of which `found` is the port, or with it any database.
pub(super) fn pgpass(text: &[u8], found: Range<usize>) -> Option<Range<usize>> {
    let is_any = text[found.clone()].ends_with(b"*:");
    let at = found.end - if is_any { 2 } else { 0 };
    let near = &text[..text.len().min(at + PATH)];
    let end = run(near, at, |b| b > b' ' && !b"\"'\\".contains(&b));
    let mut parts = text[at..end].splitn(3, |&b| b == b':');
    let [database, user, password] = [parts.next()?, parts.next()?, parts.next()?];
    let fits = !database.is_empty() && !user.is_empty() && !password.is_empty();
    fits.then_some(end - password.len()..end)
}

fn is_between(b: u8) -> bool {
    b <= b' ' || b"\"',\\[]".contains(&b)
}
