//! Markdown: the one place that escapes it, and our own as HTML (headings, paragraphs, lists,
//! tables, code, links; not more, since nobody else's is read).

use std::fmt::Write;

use crate::html;

/// A page as one self-contained HTML file; its first heading is the title.
pub fn to_html(markdown: &str) -> String {
    let title = markdown
        .lines()
        .find_map(|line| line.strip_prefix("# "))
        .unwrap_or("Meshladder");
    let rest = markdown
        .split_once('\n')
        .filter(|(first, _)| first.starts_with("# "))
        .map_or(markdown, |(_, rest)| rest);
    html::page(title, &body(rest))
}

/// A block whose fence is longer than any in the text.
pub(crate) fn code_block(
    out: &mut String,
    language: &str,
    indent: &str,
    text: &str,
) -> std::fmt::Result {
    if text.is_empty() {
        return Ok(());
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "\n{indent}{fence}{language}")?;
    text.lines()
        .try_for_each(|line| writeln!(out, "{indent}{line}"))?;
    writeln!(out, "{indent}{fence}")
}

/// Text of ours with names from elsewhere in it: what stands between backticks stays code, all else
/// is neither markup nor a link, an image, a mention or the end of a cell.
pub(crate) fn prose(text: &str) -> String {
    let has_runs = text.contains("``");
    let last = text.matches('`').count() / 2 * 2;
    let mut out = String::with_capacity(text.len() + 16);
    for (at, part) in text.split('`').enumerate() {
        let is_code = at % 2 == 1 && at < last && !has_runs;
        if at > 0 {
            out.push_str(if has_runs || at > last { "\\`" } else { "`" });
        }
        if is_code {
            out.push_str(&part.replace('|', "\\|").replace(['\n', '\r'], " "));
        } else {
            plain(&mut out, part);
        }
    }
    out
}

fn plain(out: &mut String, text: &str) {
    for (at, c) in text.char_indices() {
        match c {
            '\\' | '|' | '*' | '[' | ']' | '~' => out.extend(['\\', c]),
            '_' if !is_inside_word(text, at) => out.push_str("\\_"),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            // Code hosts make links of these by themselves.
            ':' if text[at..].starts_with("://") => out.push_str("&#58;"),
            '.' if ends_in_www(&text[..at]) => out.push_str("&#46;"),
            '@' => out.push_str("&#64;"),
            '#' if at == 0 => out.push_str("\\#"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
}

fn is_inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    let is_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    is_of_word(before) && is_of_word(after)
}

fn ends_in_www(text: &str) -> bool {
    text.len() >= 3 && text.as_bytes()[text.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// Text that neither ends a cell nor becomes markup.
pub(crate) fn cell(text: &str) -> String {
    prose(text)
}

/// Text in a code span, also inside a cell.
pub(crate) fn code(text: &str) -> String {
    let text = text.replace('|', "\\|").replace('`', "'");
    format!("`{}`", text.replace(['\n', '\r'], " "))
}

/// The anchor of a heading, as code hosts make it.
pub fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_');
    kept.map(|c| {
        if c == ' ' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    })
    .collect()
}

/// What the lines so far are part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkdownBlock {
    None,
    Paragraph,
    List(&'static str),
    Table,
    Code,
}

fn body(markdown: &str) -> String {
    let mut out = String::new();
    let mut block = MarkdownBlock::None;
    for line in markdown.lines() {
        block = step(&mut out, block, line).unwrap_or(MarkdownBlock::None);
    }
    // A String takes all text.
    let _ = open(&mut out, block, MarkdownBlock::None);
    out
}

fn step(
    out: &mut String,
    block: MarkdownBlock,
    line: &str,
) -> Result<MarkdownBlock, std::fmt::Error> {
    if line.starts_with("```") {
        let next = if block == MarkdownBlock::Code {
            MarkdownBlock::None
        } else {
            MarkdownBlock::Code
        };
        return open(out, block, next);
    }
    if block == MarkdownBlock::Code {
        writeln!(out, "{}", html::escape(line))?;
        return Ok(block);
    }
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && line[level..].starts_with(' ') {
        let block = open(out, block, MarkdownBlock::None)?;
        let text = line[level..].trim();
        writeln!(
            out,
            "<h{level} id=\"{}\">{}</h{level}>",
            anchor(text),
            inline(text)
        )?;
        return Ok(block);
    }
    let numbered = line
        .split_once(". ")
        .filter(|(number, _)| number.parse::<u8>().is_ok());
    if let Some(item) = line
        .strip_prefix("- ")
        .map(|item| ("ul", item))
        .or(numbered.map(|(_, item)| ("ol", item)))
    {
        let block = open(out, block, MarkdownBlock::List(item.0))?;
        writeln!(out, "<li>{}</li>", inline(item.1))?;
        return Ok(block);
    }
    if line.starts_with('|') {
        return row(out, block, line);
    }
    if line.trim().is_empty() {
        return open(out, block, MarkdownBlock::None);
    }
    let block = open(out, block, MarkdownBlock::Paragraph)?;
    writeln!(out, "{}", inline(line))?;
    Ok(block)
}

fn row(
    out: &mut String,
    block: MarkdownBlock,
    line: &str,
) -> Result<MarkdownBlock, std::fmt::Error> {
    if line
        .bytes()
        .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '))
        && line.contains('-')
    {
        return Ok(block);
    }
    let cell = if block == MarkdownBlock::Table {
        "td"
    } else {
        "th"
    };
    let block = open(out, block, MarkdownBlock::Table)?;
    let line = line.replace("\\|", "\u{0}");
    let cells = line
        .trim()
        .trim_matches('|')
        .split('|')
        .map(|cell| inline(&cell.trim().replace('\u{0}', "|")));
    let between = format!("</{cell}><{cell}>");
    writeln!(
        out,
        "<tr><{cell}>{}</{cell}></tr>",
        cells.collect::<Vec<_>>().join(&between)
    )?;
    Ok(block)
}

/// Closes what is open and opens the next, unless it is the same.
fn open(
    out: &mut String,
    block: MarkdownBlock,
    next: MarkdownBlock,
) -> Result<MarkdownBlock, std::fmt::Error> {
    if block == next {
        return Ok(next);
    }
    match block {
        MarkdownBlock::None => {}
        MarkdownBlock::Paragraph => writeln!(out, "</p>")?,
        MarkdownBlock::List(tag) => writeln!(out, "</{tag}>")?,
        MarkdownBlock::Table => writeln!(out, "</table>")?,
        MarkdownBlock::Code => writeln!(out, "</code></pre>")?,
    }
    match next {
        MarkdownBlock::None => {}
        MarkdownBlock::Paragraph => write!(out, "<p>")?,
        MarkdownBlock::List(tag) => writeln!(out, "<{tag}>")?,
        MarkdownBlock::Table => writeln!(out, "<table>")?,
        MarkdownBlock::Code => write!(out, "<pre><code>")?,
    }
    Ok(next)
}

/// `code`, **bold** and [links](…).
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            out.extend(["<code>", &html::escape(part), "</code>"]);
            continue;
        }
        for (at, part) in part.split("**").enumerate() {
            let part = links(&html::escape(part));
            let (open, close) = if at % 2 == 1 {
                ("<strong>", "</strong>")
            } else {
                ("", "")
            };
            out.extend([open, &part, close]);
        }
    }
    out
}

/// Our own links lead to a heading or a page; what is written like another link is somebody's text.
fn links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((label, target)) = after.split_once("](") else {
            break;
        };
        let Some((target, after)) = target.split_once(')') else {
            break;
        };
        if target.contains(':') {
            break;
        }
        out.extend([before, "<a href=\"", target, "\">", label, "</a>"]);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_markdown_we_write_becomes_html() {
        for (markdown, html) in [
            ("## A b, c?", "<h2 id=\"a-b-c\">A b, c?</h2>\n"),
            ("a\nb", "<p>a\nb\n</p>\n"),
            (
                "- x `a<b`\n- y",
                "<ul>\n<li>x <code>a&lt;b</code></li>\n<li>y</li>\n</ul>\n",
            ),
            ("1. x\n2. y", "<ol>\n<li>x</li>\n<li>y</li>\n</ol>\n"),
            (
                "| a | b |\n|---|---|\n| c | d |",
                "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>c</td><td>d</td></tr>\n</table>\n",
            ),
            ("```sh\na > b\n```", "<pre><code>a &gt; b\n</code></pre>\n"),
            (
                "**b** [l](#x) & c",
                "<p><strong>b</strong> <a href=\"#x\">l</a> &amp; c\n</p>\n",
            ),
            ("a [b", "<p>a [b\n</p>\n"),
            ("[b](javascript:x)", "<p>[b](javascript:x)\n</p>\n"),
        ] {
            assert_eq!(body(markdown), html);
        }
    }

    #[test]
    fn the_first_heading_is_the_title() {
        let page = to_html("# The <title>\n\ntext");
        assert!(
            page.contains("<title>The &lt;title&gt;</title>") && page.contains("<p>text"),
            "{page}"
        );
    }
}
