//! A list as it is written, page by page: in memory while it is small, then in a temporary file.

use std::io::{self, Seek, SeekFrom, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::source_file::{Body, HOLD};
use crate::store::Slice;

const START: &str = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [";
const END: &str = "],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n";

/// See the module. What it writes is what `kubectl get -o json` prints.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    text: Vec<u8>,
    file: Option<std::fs::File>,
    /// How much of the file is written.
    written: u64,
    count: usize,
}

/// A place in a list to go back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    len: u64,
    count: usize,
}

impl Spool {
    /// How many items there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where it is now.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            len: self.written + self.text.len() as u64,
            count: self.count,
        }
    }

    /// Takes back what was added since.
    ///
    /// # Errors
    /// When the temporary file cannot be changed.
    pub(crate) fn rewind(&mut self, mark: Mark) -> io::Result<()> {
        self.count = mark.count;
        if let Some(file) = self.file.as_mut().filter(|_| mark.len < self.written) {
            file.set_len(mark.len)?;
            file.seek(SeekFrom::Start(mark.len))?;
            self.written = mark.len;
        }
        self.text
            .truncate(usize::try_from(mark.len - self.written).unwrap_or(usize::MAX));
        Ok(())
    }

    /// Adds an item.
    ///
    /// # Errors
    /// When there is no space for the temporary file.
    pub(crate) fn push(&mut self, item: &Value) -> io::Result<()> {
        let mut text = Vec::new();
        item.serialize(&mut Serializer::with_formatter(
            &mut text,
            PrettyFormatter::with_indent(b"    "),
        ))?;
        self.text.extend_from_slice(if self.count == 0 {
            START.as_bytes()
        } else {
            b","
        });
        for line in text.split(|&b| b == b'\n') {
            self.text.extend_from_slice(b"\n        ");
            self.text.extend_from_slice(line);
        }
        self.count += 1;
        if self.text.len() as u64 > HOLD {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.text)?;
        self.written += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }

    /// The whole list.
    ///
    /// # Errors
    /// When there is no space for the temporary file.
    pub(crate) fn finish(mut self) -> io::Result<Body> {
        self.text.extend_from_slice(if self.count == 0 {
            START.as_bytes()
        } else {
            b"\n    "
        });
        self.text.extend_from_slice(END.as_bytes());
        if self.file.is_none() {
            return Ok(Body::Held(self.text));
        }
        self.flush()?;
        self.file.map_or_else(
            || Ok(Body::Held(Vec::new())),
            |file| Slice::of(file).map(Body::Slice),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_since_a_mark_can_be_taken_back() {
        let noise = usize::try_from(HOLD / 3).expect("it fits into memory");
        let item = |name: &str| serde_json::json!({"name": name, "noise": "x".repeat(noise)});
        for (before, after) in [(0, 1), (1, 1), (2, 5), (5, 2), (4, 0)] {
            let mut spool = Spool::default();
            (0..before).for_each(|_| spool.push(&item("kept")).expect("space"));
            let mark = spool.mark();
            (0..after).for_each(|_| spool.push(&item("gone")).expect("space"));
            spool.rewind(mark).expect("space");
            spool.push(&item("last")).expect("space");
            let text = match spool.finish().expect("space") {
                Body::Held(text) => text,
                Body::Slice(slice) => slice.read(u64::MAX).expect("a file of ours"),
                Body::OnDisk(_) => panic!("it has no name"),
            };
            let list: Value = serde_json::from_slice(&text).expect("JSON");
            let names: Vec<_> = list["items"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|item| &item["name"])
                .collect();
            let expected: Vec<&str> = std::iter::repeat_n("kept", before)
                .chain(["last"])
                .collect();
            assert_eq!(names, expected, "{before} {after}");
        }
    }

    #[test]
    fn a_list_is_what_kubectl_prints() {
        let mut spool = Spool::default();
        spool
            .push(
                &serde_json::json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}),
            )
            .expect("memory");
        let Body::Held(text) = spool.finish().expect("memory") else {
            panic!("a small list is held")
        };
        let expected = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"apiVersion\": \"v1\",\n            \"kind\": \"Pod\",\n            \"metadata\": {\n                \"name\": \"a\"\n            }\n        }\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        let Body::Held(empty) = Spool::default().finish().expect("memory") else {
            panic!("it is held")
        };
        assert!(
            serde_json::from_slice::<Value>(&empty).expect("JSON")["items"]
                .as_array()
                .is_some_and(Vec::is_empty)
        );
    }
}
