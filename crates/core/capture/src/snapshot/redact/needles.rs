//! The words that stand near secrets, and the search for all of them at once.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind, packed};

use super::hook::SecretHook;
use super::token::Prefix;

/// What a word hints at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hint {
    /// A part of a name that a credential may have. The first letter is left out where it may be
    /// upper or lower case.
    Name,
    /// The first or last line of a private key.
    Pem,
    /// `PRIVATE KEY` in base64, starting at the first, second or third byte of a group.
    Base64Pem,
    /// `{"` in base64: the second part of any JWT, or its first with a member it may start with.
    Jwt,
    Bearer,
    Basic,
    /// The start of a token that tells who issued it, or of something nobody can look into.
    Prefix(&'static Prefix),
    /// A data source name: `user:password@tcp(host)/database`.
    Dsn,
    /// A program that is given a login: `curl -u user:password`.
    Curl,
    /// A program that is given a password: `mysql -pPASSWORD`.
    Program,
    /// `-u`, of any program.
    LoginFlag,
    /// `-p` as an argument of its own.
    PasswordFlag,
    /// The port in a line of a `.pgpass` file: `host:5432:database:user:password`.
    PgPass,
    /// The path of a URL to which whoever knows it may post.
    Hook(SecretHook),
    /// `://` as some write it in JSON.
    EscapedUrl,
}

/// No word is shorter than four bytes, and none is frequent in a config dump. Words sixteen apart
/// share a bucket of the vector search; this order was found by trying and is more than twice as
/// fast as an order that means something.
const NEEDLES: [(&str, Hint); 81] = {
    use Hint::{
        Base64Pem, Basic, Bearer, Curl, Dsn, EscapedUrl, Hook as H, Jwt, Name, Pem, Prefix as P,
    };
    [
        ("PRIVATE KEY", Pem),
        ("Key:", Name),
        ("ringData", Name),
        ("ya29.", P(&Prefix::LONG)),
        ("$2b$", P(&Prefix::BCRYPT)),
        ("kty\\", Name),
        ("$2y$", P(&Prefix::BCRYPT)),
        (":\\/\\/", EscapedUrl),
        ("AKIA", P(&Prefix::AWS)),
        ("eyJj", Jwt),
        ("_key", Name),
        ("asic ", Basic),
        ("uthorization", Name),
        ("rk_live_", P(&Prefix::LONG)),
        ("eyJl", Jwt),
        ("OKEN", Name),
        ("assw", Name),
        ("kty\"", Name),
        ("_PASS", Name),
        ("-Key", Name),
        ("_PWD", Name),
        ("assphrase", Name),
        (".eyJ", Jwt),
        ("ecret", Name),
        ("gho_", P(&Prefix::GITHUB)),
        ("npm_", P(&Prefix::GITHUB)),
        ("@tcp(", Dsn),
        ("github_pat_", P(&Prefix::LONG)),
        ("-key", Name),
        ("sk_live_", P(&Prefix::LONG)),
        ("xoxa-", P(&Prefix::LONG)),
        ("ECRET", Name),
        ("ASIA", P(&Prefix::AWS)),
        ("ghs_", P(&Prefix::GITHUB)),
        ("_KEY", Name),
        ("apikey", Name),
        ("APIKEY", Name),
        ("Key=", Name),
        ("sig=", Name),
        ("oken", Name),
        ("ghu_", P(&Prefix::GITHUB)),
        ("icketKeys", Name),
        ("AIza", P(&Prefix::GOOGLE)),
        ("auths", Name),
        ("glpat-", P(&Prefix::LONG)),
        ("REDENTIAL", Name),
        ("eyJr", Jwt),
        ("{SHA}", P(&Prefix::SHA)),
        ("ghr_", P(&Prefix::GITHUB)),
        ("Key\\", Name),
        ("redential", Name),
        ("eyJ0", Jwt),
        ("UFJJVkFURSBLRV", Base64Pem),
        ("BSSVZBVEUgS0VZ", Base64Pem),
        ("xoxb-", P(&Prefix::LONG)),
        ("earer", Bearer),
        ("Key\"", Name),
        ("$2a$", P(&Prefix::BCRYPT)),
        ("xoxp-", P(&Prefix::LONG)),
        ("ignature=", Name),
        ("eyJh", Jwt),
        ("ASSW", Name),
        ("ookie", Name),
        ("pwd=", Name),
        ("hvs.", P(&Prefix::LONG)),
        ("ghp_", P(&Prefix::GITHUB)),
        ("pkcs12", Name),
        ("_pass", Name),
        ("QUklWQVRFIEtFW", Base64Pem),
        ("H4sI", P(&Prefix::GZIP)),
        ("ASSPHR", Name),
        ("Pwd=", Name),
        ("_AUTH", Name),
        ("_PW\"", Name),
        ("_PW=", Name),
        ("_PW:", Name),
        ("_PW\\", Name),
        ("curl", Curl),
        ("services/T", H(SecretHook::Slack)),
        ("api/webhooks/", H(SecretHook::Discord)),
        ("webhookb2/", H(SecretHook::Office)),
    ]
};

/// Words that are looked for only where they may stand.
const RARE: [(&str, Hint); 35] = {
    use Hint::{LoginFlag, Name, PasswordFlag, PgPass, Prefix as P, Program};
    [
        ("indpw", Name),
        ("INDPW", Name),
        ("ootpw", Name),
        ("equirepass", Name),
        ("asterauth", Name),
        ("pass\"", Name),
        ("pass=", Name),
        ("pass:", Name),
        ("pass =", Name),
        ("pass>", Name),
        ("PASS\"", Name),
        ("PASS=", Name),
        ("PASS:", Name),
        ("AUTH\"", Name),
        ("AUTH=", Name),
        ("AUTH:", Name),
        ("sshpass", Program),
        ("mysql", Program),
        ("mariadb", Program),
        ("mongo", Program),
        ("redis-cli", Program),
        (" login", Program),
        (" -u ", LoginFlag),
        ("\"-u\"", LoginFlag),
        ("- -u\n", LoginFlag),
        ("\"-p\"", PasswordFlag),
        ("- -p\n", PasswordFlag),
        (":5432:", PgPass),
        (":*:*:", PgPass),
        ("hf_", P(&Prefix::GITHUB)),
        ("SG.", P(&Prefix::SENDGRID)),
        ("sk-", P(&Prefix::LONG)),
        ("dckr_pat_", P(&Prefix::LONG)),
        ("whsec_", P(&Prefix::LONG)),
        ("glsa_", P(&Prefix::LONG)),
    ]
};

enum NeedleSearch {
    Packed(packed::Searcher),
    /// For machines without the vector instructions.
    Automaton(AhoCorasick),
}

static SEARCH: LazyLock<NeedleSearch> = LazyLock::new(|| NeedleSearch::of(&NEEDLES));
static RARE_SEARCH: LazyLock<NeedleSearch> = LazyLock::new(|| NeedleSearch::of(&RARE));

impl NeedleSearch {
    fn of(needles: &[(&'static str, Hint)]) -> Self {
        let words = needles.iter().map(|(word, _)| word);
        // The limit is 64 words; measured on dumps, these few more cost nothing.
        let packed = packed::Config::new()
            .heuristic_pattern_limits(false)
            .builder()
            .extend(words.clone())
            .build();
        if let Some(searcher) = packed {
            return Self::Packed(searcher);
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(words);
        Self::Automaton(automaton.expect("a few short words fit any automaton"))
    }
}

/// Calls `found` with every needle in the text, from left to right.
pub(super) fn each(text: &[u8], found: impl FnMut(Hint, Range<usize>)) {
    search(&SEARCH, &NEEDLES, text, found);
}

/// Calls `found` with every rare needle in the text, from left to right.
pub(super) fn each_rare(text: &[u8], found: impl FnMut(Hint, Range<usize>)) {
    search(&RARE_SEARCH, &RARE, text, found);
}

fn search(
    search: &NeedleSearch,
    needles: &[(&str, Hint)],
    text: &[u8],
    mut found: impl FnMut(Hint, Range<usize>),
) {
    match search {
        NeedleSearch::Packed(searcher) => {
            for hit in searcher.find_iter(text) {
                found(needles[hit.pattern().as_usize()].1, hit.range());
            }
        }
        NeedleSearch::Automaton(automaton) => {
            for hit in automaton.find_iter(text) {
                found(needles[hit.pattern().as_usize()].1, hit.range());
            }
        }
    }
}
