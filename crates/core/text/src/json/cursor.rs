//! One pass over a document: each byte is looked at once, however deep the values that are wanted
//! lie.

use std::borrow::Cow;

use super::{ItemWalk, Raw, TextFault, skip_space, skip_value};

/// A place in a document where a value starts. Reading the value moves the cursor behind it.
#[derive(Debug)]
pub struct Cursor<'a> {
    doc: &'a str,
    at: usize,
    fault: Option<TextFault>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(doc: &'a str, at: usize) -> Self {
        Self {
            doc,
            at,
            fault: None,
        }
    }

    /// Byte offset in the document.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// What ended the pass early.
    pub fn fault(self) -> Option<TextFault> {
        self.fault
    }

    /// Calls `each` with the name of every member of an object and a cursor at its value. A value
    /// that `each` does not read is skipped, and so is a value that is no object.
    pub fn members(&mut self, mut each: impl FnMut(&str, &mut Cursor<'a>)) {
        let mut walk = ItemWalk::at(self.doc, self.at, b'{', b'}');
        if walk.done {
            return self.skip();
        }
        while let Some(name) = walk.name() {
            walk.read(|value| each(&name, value));
        }
        self.resume(walk);
    }

    /// Calls `each` with a cursor at every element of an array; see [`Self::members`].
    pub fn elements(&mut self, mut each: impl FnMut(&mut Cursor<'a>)) {
        let mut walk = ItemWalk::at(self.doc, self.at, b'[', b']');
        if walk.done {
            return self.skip();
        }
        while walk.advance() {
            walk.read(&mut each);
        }
        self.resume(walk);
    }

    /// The value here without moving. Its end is not known yet: it can be walked, but its text goes
    /// on behind it.
    pub fn peek(&self) -> Raw<'a> {
        Raw {
            doc: self.doc,
            start: self.at,
            end: self.doc.len(),
        }
    }

    /// What was read since `start`, which [`Self::peek`] gave.
    pub fn since(&self, start: Raw<'a>) -> Raw<'a> {
        Raw {
            end: self.at,
            ..start
        }
    }

    /// Reads past the value and gives it as a slice.
    pub fn raw(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        self.skip();
        self.fault.is_none().then_some(Raw {
            doc: self.doc,
            start,
            end: self.at,
        })
    }

    /// Reads past the value and gives its text when it is a string.
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        self.raw()?.string()
    }

    /// Reads past the value.
    pub fn skip(&mut self) {
        match skip_value(self.doc.as_bytes(), self.at) {
            Some(end) if end > self.at => self.at = end,
            Some(_) => self.stop(TextFault::new(self.at, "expected a value")),
            None => self.stop(TextFault::new(self.doc.len(), "the document is cut short")),
        }
    }

    fn stop(&mut self, fault: TextFault) {
        self.at = self.doc.len();
        self.fault.get_or_insert(fault);
    }

    fn resume(&mut self, walk: ItemWalk<'a>) {
        self.at = walk.at;
        if let Some(fault) = walk.fault {
            self.stop(fault);
        }
    }
}

impl<'a> ItemWalk<'a> {
    /// Lets `each` read the value here, skipping what it leaves.
    fn read(&mut self, each: impl FnOnce(&mut Cursor<'a>)) {
        let start = skip_space(self.doc.as_bytes(), self.at);
        let mut value = Cursor::new(self.doc, start);
        each(&mut value);
        if value.at == start && value.fault.is_none() {
            value.skip();
        }
        self.at = value.at;
        if let Some(fault) = value.fault {
            self.done = true;
            self.fault = Some(fault);
        }
    }
}
