//! HTML: the one place that escapes it, and the frame of every page.

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff;overflow-wrap:anywhere}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}th{text-align:left}\
td,th{padding:.2rem .6rem .2rem 0;border-bottom:1px solid #ddd;vertical-align:top}a{color:#0550ae}\
pre{background:#f4f5f7;padding:.6rem;white-space:pre-wrap}.place{color:#59636e;font-family:monospace;font-size:.85rem}.failed td{font-weight:600}\
@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16191d}a{color:#79b8ff}pre{background:#22262c}td,th{border-color:#3a4049}.place{color:#a0a8b2}}";

/// Text inside HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// One file without anything from elsewhere; the title is text, the body HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}
