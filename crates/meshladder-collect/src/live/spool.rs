//! A list as it is written, page by page: in memory while it is small, then in a temporary file.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::found::{Body, HOLD};
use crate::store::Slice;

const START: &str = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [";
const END: &str = "],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n";

/// See the module. What it writes is what `kubectl get -o json` prints.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    text: Vec<u8>,
    file: Option<std::fs::File>,
    count: usize,
}

impl Spool {
    /// How many items there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds an item.
    ///
    /// # Errors
    /// When there is no space for the temporary file.
    pub(crate) fn push(&mut self, item: &Value) -> io::Result<()> {
        let mut text = Vec::new();
        item.serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    ")))?;
        self.text.extend_from_slice(if self.count == 0 { START.as_bytes() } else { b"," });
        for line in text.split(|&b| b == b'\n') {
            self.text.extend_from_slice(b"\n        ");
            self.text.extend_from_slice(line);
        }
        self.count += 1;
        if self.text.len() as u64 > HOLD { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// The whole list.
    ///
    /// # Errors
    /// When there is no space for the temporary file.
    pub(crate) fn finish(mut self) -> io::Result<Body> {
        self.text.extend_from_slice(if self.count == 0 { START.as_bytes() } else { b"\n    " });
        self.text.extend_from_slice(END.as_bytes());
        if self.file.is_none() {
            return Ok(Body::Held(self.text));
        }
        self.flush()?;
        self.file.map_or_else(|| Ok(Body::Held(Vec::new())), |file| Slice::of(file).map(Body::Slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_what_kubectl_prints() {
        let mut spool = Spool::default();
        spool.push(&serde_json::json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}})).expect("memory");
        let Body::Held(text) = spool.finish().expect("memory") else { panic!("a small list is held") };
        let expected = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"apiVersion\": \"v1\",\n            \"kind\": \"Pod\",\n            \"metadata\": {\n                \"name\": \"a\"\n            }\n        }\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        let Body::Held(empty) = Spool::default().finish().expect("memory") else { panic!("it is held") };
        assert!(serde_json::from_slice::<Value>(&empty).expect("JSON")["items"].as_array().is_some_and(Vec::is_empty));
    }
}
