//! What a hostile document repeats costs no more than its length.

use super::redact;
use crate::snapshot::DocId;

/// Half a megabyte of one word, in plain text, in a JSON string and as YAML. Each took from seconds
/// to minutes when every hit went through the text before it again; the whole test takes a second
/// now, and would be noticed if it did not.
#[test]
fn a_word_that_is_repeated_is_gone_through_once() {
    const SIZE: usize = 500_000;
    let words = [
        "BEGIN PRIVATE KEY ",
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t",
        "password=",
        "password: ",
        "eyJhbGci",
        "@tcp(",
        "Bearer ",
        "://a:",
        " kind: Secret\n",
        "- kind: Secret\n",
        "a: *a\n",
        "a: &a b\n",
        "{\"kind\":\"Secret\",",
        "[{",
        "name: PASSWORD\n",
        "curl ",
        "services/T/",
        "://hooks.zapier.com/hooks/catch/",
    ];
    for word in words {
        let text = word.repeat(SIZE / word.len());
        let quoted = format!("{{\"a\":{}}}", meshladder_text::json::escape(&text));
        for (id, text) in [
            ("logs/a/b/c.log", &text),
            ("k8s/a.yaml", &text),
            ("k8s/a.json", &quoted),
            ("proxies/a/b/config_dump.json", &quoted),
        ] {
            let mut bytes = text.clone().into_bytes();
            redact(&DocId::new(id), &mut bytes);
            assert!(bytes.len() <= text.len(), "{word:?} in {id}");
        }
    }
}
