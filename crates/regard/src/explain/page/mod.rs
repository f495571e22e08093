//! A trace as one page for a browser, which needs no network and no other file.

use super::trace::Trace;

const SHELL: &str = include_str!("shell.html");
/// The style of the page.
pub const STYLE: &str = include_str!("trace.css");
/// The script that draws the trace of the page. It is built, as the style is, from the sources of the page of
/// `regard serve` (`crates/regard-cli/page`).
pub const SCRIPT: &str = include_str!("trace.js");

/// The trace as HTML: its steps with pickers for decoding step, layer and head, heat maps, and drawings on the places of
/// the input. Numbers stand in it as the JSON of the trace.
pub fn page(trace: &Trace) -> String {
    let json = serde_json::to_string(trace).unwrap_or_else(|error| unreachable!("all keys are texts: {error}"));
    // Within a script element, `<` could end it; strings of JSON may say it by its number.
    let data = json.replace('<', "\\u003c");
    let title = escaped(&format!("{}: {}", trace.model, trace.input));
    let parts = [("@TITLE@", title.as_str()), ("@STYLE@", STYLE), ("@SCRIPT@", SCRIPT), ("@DATA@", data.as_str())];
    filled(SHELL, &parts)
}

/// A text with its marks replaced, each once and none within what replaced another.
fn filled(shell: &str, parts: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = shell;
    while let Some((at, mark, part)) =
        parts.iter().filter_map(|(mark, part)| rest.find(mark).map(|at| (at, *mark, *part))).min_by_key(|found| found.0)
    {
        text.push_str(&rest[..at]);
        text.push_str(part);
        rest = &rest[at + mark.len()..];
    }
    text + rest
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::explain::{AttentionInput, attention};

    #[test]
    fn a_page_holds_its_numbers_and_asks_for_nothing() {
        let mut input = AttentionInput::hand_worked();
        input.key_tokens[0] = "</script><b>@STYLE@".to_owned();
        let trace = attention("a <file> & \"name\"", &input, &Device::flex()).unwrap();
        let html = page(&trace);
        assert!(html.contains("<title>attention layer: a &lt;file&gt; &amp; &quot;name&quot;</title>"), "{html}");
        let start = html.find(r#"id="trace-data">"#).unwrap() + r#"id="trace-data">"#.len();
        let data = &html[start..start + html[start..].find("</script>").unwrap()];
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(
            read(data),
            read(&serde_json::to_string(&trace).unwrap()),
            "names cannot end the script or stand for a mark"
        );
        assert!(!html.contains("@TITLE@") && !html.contains("@DATA@") && !html.contains("@SCRIPT@"));
        let foreign = ["http://", "https://", " src=", "@import", "url("];
        let own = html.replace("http://www.w3.org/2000/svg", "");
        assert!(foreign.iter().all(|word| !own.contains(word)), "nothing is fetched");
    }
}
