//! The resources of a dump as text with `<names>` in it: a name stands for a value of the caller's,
//! else for another template.

use std::collections::BTreeMap;
use std::io::{self, Write};

pub(crate) struct Templates(BTreeMap<&'static str, &'static str>);

/// What names stand for. A value may hold names itself.
pub(crate) type Values<'a> = [(&'a str, &'a str)];

impl Templates {
    pub(crate) fn load() -> Self {
        let file = include_str!("templates.txt");
        let sections = file
            .split("\n# ")
            .filter_map(|section| section.split_once('\n'));
        Self(
            sections
                .map(|(name, text)| (name, text.trim_end()))
                .collect(),
        )
    }

    /// Writes the template `name`.
    pub(crate) fn write(
        &self,
        out: &mut impl Write,
        name: &str,
        values: &Values,
    ) -> io::Result<()> {
        self.fill(out, self.0[name], values)
    }

    /// The template `name` as text, to be a value in another one.
    pub(crate) fn text(&self, name: &str, values: &Values) -> String {
        let mut out = Vec::new();
        self.write(&mut out, name, values)
            .expect("a vector takes every write");
        String::from_utf8(out).expect("templates and values are text")
    }

    fn fill(&self, out: &mut impl Write, text: &str, values: &Values) -> io::Result<()> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            let (name, behind) = after.split_once('>').expect("a name ends with `>`");
            out.write_all(before.as_bytes())?;
            let value = values
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value);
            self.fill(out, value.unwrap_or_else(|| self.0[name]), values)?;
            rest = behind;
        }
        out.write_all(rest.as_bytes())
    }
}

/// Writes `items` with commas between them.
pub(crate) fn list<W: Write, T>(
    out: &mut W,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut W, T) -> io::Result<()>,
) -> io::Result<()> {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        write(out, item)?;
    }
    Ok(())
}
