//! `rush --html`: one self-contained page, drawn with the console's chart code. Script, style and figures are in
//! the file, and its policy allows nothing else, so it can be mailed.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rules::time::Moment;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::report;
use super::timeline::RushTimeline;

/// What `make web` builds of `web/src/report`.
const SCRIPT: &str = include_str!("../../../../web/dist/report/report.js");
const STYLE: &str = include_str!("../../../../web/dist/report/report.css");

/// What the page shows beside its figures.
pub struct RushSetting<'a> {
    pub target: String,
    pub event: i64,
    pub seats: u64,
    pub ended: Moment,
    /// For a reader without JavaScript.
    pub sentence: &'a str,
    pub table: &'a str,
}

/// `figures` is what `--json` prints.
pub fn page(setting: &RushSetting<'_>, figures: &Value, timeline: &RushTimeline) -> String {
    let people = figures["crowd"]["people"].as_u64().unwrap_or_default();
    let title = format!("{} buyers for {} seats", report::grouped(people), report::grouped(setting.seats));
    let data = json!({
        "target": setting.target, "eventId": setting.event, "seats": setting.seats, "at": setting.ended.0,
        "report": figures, "timeline": timeline.machine(),
    });
    // No `</script>` can end the element early.
    let data = data.to_string().replace('<', "\\u003c");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title} · Tickettock</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript><h1>{title}</h1><p>{}</p><pre>{}</pre></noscript>\n\
         <script type=\"application/json\" id=\"rush\">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        hash(SCRIPT),
        hash(STYLE),
        escaped(setting.sentence),
        escaped(setting.table),
    )
}

/// As a policy names an inline script or style.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_names_no_other_file_and_ends_no_script_early() {
        let setting = RushSetting {
            target: "http://127.0.0.1:1/</script>".into(),
            event: 1,
            seats: 9,
            ended: Moment(0),
            sentence: "<9> sold",
            table: "",
        };
        let page = page(&setting, &json!({ "crowd": { "people": 1_000 } }), &RushTimeline::of(&[]));
        assert_eq!(page.matches("</script>").count(), 2, "that of the figures, and the program's");
        assert!(page.contains("<p>&lt;9&gt; sold</p>") && page.contains("<title>1,000 buyers for 9 seats"));
        let own = page.replace(SCRIPT, "").replace(STYLE, "").replace("<link rel=\"icon\" href=\"data:,\">", "");
        for load in [" src=", " href=", "url(", "@import", "<link", "<img", "<iframe"] {
            assert!(!own.contains(load) && !STYLE.contains("url(") && !STYLE.contains("@import"), "{load}");
        }
    }
}
