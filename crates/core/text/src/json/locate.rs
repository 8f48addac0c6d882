//! From a place in a document to the pointer that names it.

use super::{Raw, ValueKind};

/// The RFC 6901 pointer of the innermost value that covers a byte offset; none when no value does.
pub fn pointer_to(doc: &str, offset: usize) -> Option<String> {
    let mut value = Raw::of(doc).ok()?;
    if offset < value.offset() {
        return None;
    }
    let mut pointer = String::new();
    while value.offset() < offset {
        let Some((token, inner)) = inner_value(value, offset) else {
            break;
        };
        pointer.push('/');
        pointer.push_str(&token);
        value = inner;
    }
    Some(pointer)
}

/// The part of a value that covers the offset, and the token that leads to it.
fn inner_value(value: Raw<'_>, offset: usize) -> Option<(String, Raw<'_>)> {
    match value.kind() {
        ValueKind::Object => {
            let (key, inner) = value.members().find(|(_, v)| covers(*v, offset))?;
            Some((token(&key), inner))
        }
        ValueKind::Array => {
            let mut elements = value.elements().enumerate();
            let (index, inner) = elements.find(|(_, v)| covers(*v, offset))?;
            Some((index.to_string(), inner))
        }
        ValueKind::String | ValueKind::Scalar => None,
    }
}

fn covers(value: Raw<'_>, offset: usize) -> bool {
    (value.offset()..value.end()).contains(&offset)
}

/// RFC 6901, 3: `~` and `/` in a name are written `~0` and `~1`.
fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_leads_back_to_the_value() {
        let doc = r#" {"a": [1, {"b/c": "x", "d": [true]}], "e": 7}"#;
        for (text, pointer) in [
            ("\"x\"", "/a/1/b~1c"),
            ("true", "/a/1/d/0"),
            ("[1", "/a"),
            ("7", "/e"),
            ("{\"a\"", ""),
        ] {
            let at = doc.find(text).expect("it is there");
            assert_eq!(pointer_to(doc, at).as_deref(), Some(pointer), "{text}");
        }
        // A place between values belongs to the value around it.
        assert_eq!(
            pointer_to(doc, doc.find("\"d\"").expect("it is there")).as_deref(),
            Some("/a/1")
        );
        assert_eq!(pointer_to("", 0), None);
    }
}
