use super::*;
use crate::tree::Span;

const SAMPLES: [&str; 5] = [
    "apiVersion: v1\nkind: List\nitems:\n- kind: Service\n  metadata: {name: a, labels: {app: \"é\"}}\n  spec:\n    ports:\n    - port: 80\n      name: http # web\n      targetPort: 0x50\n",
    "---\n# one\nkind: ConfigMap\ndata:\n  a.conf: |\n    x = 1\n\n    y = \"ü\"\n  b: >-\n    folded\n    text\n---\nkind: Secret\nstringData: {p: 'it''s'}\n...\n",
    "base: &base\n  a: 1\n  b: [x, *q]\nuse:\n  <<: *base\n  a: &q 2\nlist:\n  - *base\n  - ? k\n    : v\n  -\n",
    "{\"kind\": \"VirtualService\", \"spec\": {\"http\": [{\"route\": [{\"weight\": 1e2}]}, null, true]}}\n---\n{\"a\": \"\\u00e9\"}\n",
    "%YAML 1.1\n---\nx: !!str 5\ny: !!binary aGk=\nz: \"a\\\n  b\"\n\u{1f600}: [a: b, {c}, ? d]\n- : -\n",
];

/// What the quick reader reads by itself.
const QUICK: [&str; 4] = [
    "# c\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a-b.c # é\n  annotations:\n    x.io/y: \"1\"\n    'q': 'it''s'\n    \"z\": \"a\\n\\\"b\"\n  empty:\nspec:\n  ports:\n  - port: 80\n    name: http\n\n  - port: 0x50\n    name: on\n",
    "data:\n  a.conf: |\n\n    x = 1\n      y: 2\n\n    # z\n  b: |-\n    - 1\n\n  c: |+\n    t\n\n# c\n  d: x\n",
    "spec:\n  args: [\"-c\", a/b, 1.5, {k: v, l: []}]\n  sel: {app: x, \"y\": 'z'} # c\n  none: {}\n  list:\n    - - 1\n      - x:\n          y: ~\n    -\n      z: -1\n    - http://a:80/#b ç\n    - --flag=x:y\n",
    "- a\n- b: 1\n  c:\n  - d\n  -\n  - e: .inf\n    e: 2\n- |\n  text\n-\n  - 080\n",
];

const PIECES: [&str; 39] = [
    "\n", "\r\n", " ", "  ", "\t", ":", ": ", "- ", "? ", "---\n", "...\n", "[", "]", "{", "}",
    ",", "&a ", "*a", "!!int ", "!", "|\n", ">-\n", "'", "\"", "\\", "#", " #", "%", "<<: ", "é",
    "😀", "\u{feff}", "\u{2028}", "\u{a0}", "\u{85}", "0x", "\u{0}", "@", "~",
];

const ROUNDS: usize = 6000;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("it is below a usize")
    }

    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at)
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .expect("the start is one")
    }

    fn range(&mut self, text: &str) -> std::ops::Range<usize> {
        let start = self.place(text);
        let length: usize = text[start..]
            .chars()
            .take(self.below(12))
            .map(char::len_utf8)
            .sum();
        start..start + length
    }

    fn mutate(&mut self, text: &mut String) {
        let range = self.range(text);
        let other = self.range(text);
        let new = match self.below(4) {
            0 => String::new(),
            1 => text[other].to_owned(),
            _ => PIECES[self.below(PIECES.len())].to_owned(),
        };
        let range = if self.below(2) == 0 {
            range.start..range.start
        } else {
            range
        };
        text.replace_range(range, &new);
    }
}

fn check_spans(text: &str, node: &Node) {
    assert!(
        text.get(node.span.range()).is_some(),
        "{:?} is no place in {text:?}",
        node.span
    );
    node.items().iter().for_each(|item| check_spans(text, item));
    for member in node.members() {
        assert!(
            text.get(member.key_span.range()).is_some(),
            "{:?} is no place in {text:?}",
            member.key_span
        );
        check_spans(text, &member.value);
    }
}

/// Without aliases and merge keys every value stands inside the one it belongs to, behind its key
/// and its elder siblings.
fn check_order(text: &str, node: &Node) {
    let mut at = node.span.start();
    let mut behind = |span: Span| {
        assert!(
            at <= span.start() && span.end() <= node.span.end(),
            "{span:?} in {:?} of {text:?}",
            node.span
        );
        at = span.end();
    };
    for item in node.items() {
        behind(item.span);
        check_order(text, item);
    }
    for member in node.members() {
        behind(member.key_span);
        behind(member.value.span);
        check_order(text, &member.value);
    }
}

#[test]
fn no_text_makes_it_panic_and_all_spans_are_places() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut documents = 0;
    for round in 0..ROUNDS {
        let mut text = SAMPLES[round % SAMPLES.len()].to_owned();
        for _ in 0..=random.below(6) {
            random.mutate(&mut text);
        }
        let loaded = load(&text);
        documents += loaded.documents.len();
        for problem in &loaded.problems {
            assert!(
                text.get(problem.at..).is_some(),
                "{problem:?} is no place in {text:?}"
            );
        }
        for root in &loaded.documents {
            check_spans(&text, root);
            if !text.contains('*') && !text.contains("<<") {
                check_order(&text, root);
            }
        }
    }
    assert!(
        documents > 2000,
        "most mutants should still be YAML, or this tests little: {documents}"
    );
}

#[test]
fn the_quick_reader_reads_nothing_differently() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut read, mut scalars) = (0, Scalars::default());
    for round in 0..ROUNDS {
        let mut text = QUICK[round % QUICK.len()].to_owned();
        assert!(
            round >= QUICK.len()
                || quick::read(&split(&text)[0], YamlLimits::default(), &mut scalars).is_some(),
            "{text}"
        );
        for _ in 0..random.below(5) {
            random.mutate(&mut text);
        }
        for part in split(&text) {
            if let Some(quick) = quick::read(&part, YamlLimits::default(), &mut scalars) {
                assert_eq!(
                    quick,
                    EventReader::new(&part, YamlLimits::default()).run(),
                    "{text:?}"
                );
                read += 1;
            }
        }
    }
    assert!(
        read > ROUNDS / 4,
        "the quick reader should be able to read more than {read} mutants"
    );
}
