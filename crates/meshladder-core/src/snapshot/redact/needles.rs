//! The words that stand near secrets, and the search for all of them at once.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind, packed};

use super::token::Prefix;

/// What a word hints at.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A part of a name that a credential may have.
    Name,
    Pem,
    Base64Pem,
    Jwt,
    Bearer,
    Basic,
    /// The start of a token that tells who issued it.
    Prefix(&'static Prefix),
    /// A data source name: `user:password@tcp(host)/database`.
    Dsn,
}

/// No word is shorter than four bytes and none is frequent in a config dump: with the vector search that is what makes
/// the difference between 5 GB and 1 GB a second. Names lack their first letter where that may be upper or lower case.
const NEEDLES: [(&str, What); 69] = {
    use What::{Base64Pem, Basic, Bearer, Dsn, Jwt, Name, Pem, Prefix as P};
    [
        ("PRIVATE KEY", Pem),
        // `PRIVATE KEY` in base64, starting at the first, second and third byte of a group.
        ("UFJJVkFURSBLRV", Base64Pem),
        ("BSSVZBVEUgS0VZ", Base64Pem),
        ("QUklWQVRFIEtFW", Base64Pem),
        // `{"` in base64: the second part of any JWT, or its first with the members it may start with.
        (".eyJ", Jwt),
        ("eyJh", Jwt),
        ("eyJ0", Jwt),
        ("eyJr", Jwt),
        ("eyJl", Jwt),
        ("eyJj", Jwt),
        ("earer", Bearer),
        ("asic ", Basic),
        ("uthorization", Name),
        ("ookie", Name),
        ("oken", Name),
        ("OKEN", Name),
        ("assw", Name),
        ("ASSW", Name),
        ("_PASS", Name),
        ("_pass", Name),
        ("_PWD", Name),
        ("assphrase", Name),
        ("pwd=", Name),
        ("ecret", Name),
        ("ECRET", Name),
        ("redential", Name),
        ("REDENTIAL", Name),
        ("_key", Name),
        ("-key", Name),
        ("-Key", Name),
        ("Key\"", Name),
        ("Key=", Name),
        ("Key:", Name),
        ("Key\\", Name),
        ("_KEY", Name),
        ("apikey", Name),
        ("APIKEY", Name),
        ("pkcs12", Name),
        ("icketKeys", Name),
        ("kty\"", Name),
        ("kty\\", Name),
        ("sig=", Name),
        ("ignature=", Name),
        ("auths", Name),
        ("ringData", Name),
        ("@tcp(", Dsn),
        ("ghp_", P(&Prefix::GITHUB)),
        ("gho_", P(&Prefix::GITHUB)),
        ("ghs_", P(&Prefix::GITHUB)),
        ("ghu_", P(&Prefix::GITHUB)),
        ("ghr_", P(&Prefix::GITHUB)),
        ("github_pat_", P(&Prefix::LONG)),
        ("glpat-", P(&Prefix::LONG)),
        ("xoxb-", P(&Prefix::LONG)),
        ("xoxp-", P(&Prefix::LONG)),
        ("xoxa-", P(&Prefix::LONG)),
        ("AKIA", P(&Prefix::AWS)),
        ("ASIA", P(&Prefix::AWS)),
        ("AIza", P(&Prefix::GOOGLE)),
        ("ya29.", P(&Prefix::LONG)),
        ("sk_live_", P(&Prefix::LONG)),
        ("rk_live_", P(&Prefix::LONG)),
        ("npm_", P(&Prefix::GITHUB)),
        ("hvs.", P(&Prefix::LONG)),
        ("{SHA}", P(&Prefix::SHA)),
        ("$2a$", P(&Prefix::BCRYPT)),
        ("$2b$", P(&Prefix::BCRYPT)),
        ("$2y$", P(&Prefix::BCRYPT)),
        // A gzipped file in base64, such as a Helm release: nobody looks inside, so it must go.
        ("H4sI", P(&Prefix::GZIP)),
    ]
};

enum Search {
    Packed(packed::Searcher),
    /// For machines without the vector instructions.
    Automaton(AhoCorasick),
}

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let words = NEEDLES.map(|(word, _)| word);
    let mut config = packed::Config::new();
    // The limit is 64 words; measured on dumps, these few more cost nothing.
    let packed = config.heuristic_pattern_limits(false).builder().extend(words).build();
    packed.map_or_else(
        || {
            let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words);
            Search::Automaton(automaton.expect("a few short words fit any automaton"))
        },
        Search::Packed,
    )
});

/// Calls `found` with every needle in the text, from left to right.
pub(super) fn each(text: &[u8], mut found: impl FnMut(What, Range<usize>)) {
    let mut take = |found_at: aho_corasick::Match| found(NEEDLES[found_at.pattern().as_usize()].1, found_at.range());
    match &*SEARCH {
        Search::Packed(searcher) => searcher.find_iter(text).for_each(&mut take),
        Search::Automaton(automaton) => automaton.find_iter(text).for_each(&mut take),
    }
}
