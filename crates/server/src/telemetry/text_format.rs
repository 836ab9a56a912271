//! What a scrape gets: OpenMetrics, or the older text format of Prometheus for those who ask for that only.

use salvo::http::HeaderMap;
use salvo::http::header::ACCEPT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    OpenMetrics,
    /// 0.0.4: without exemplars and units.
    Plain,
}

impl TextFormat {
    /// Who says nothing gets OpenMetrics.
    pub fn asked(headers: &HeaderMap) -> TextFormat {
        let names = |kind: &str| {
            let all = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            all.flat_map(|value| value.split(',')).any(|one| {
                let (name, terms) = one.split_once(';').unwrap_or((one, ""));
                let refused =
                    terms.split(';').any(|term| matches!(term.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
                name.trim().eq_ignore_ascii_case(kind) && !refused
            })
        };
        let plain_only = names("text/plain") && !names("application/openmetrics-text");
        if plain_only { TextFormat::Plain } else { TextFormat::OpenMetrics }
    }

    pub fn kind(self) -> &'static str {
        match self {
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            TextFormat::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// `text` is OpenMetrics.
    pub fn write(self, text: String) -> String {
        match self {
            TextFormat::OpenMetrics => text,
            TextFormat::Plain => plain(&text),
        }
    }
}

/// In the older format a counter is described under the name of its samples, and there are no `info`, `unknown`, units,
/// exemplars and end.
fn plain(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut line = |parts: &[&str]| {
        parts.iter().for_each(|part| written.push_str(part));
        written.push('\n');
    };
    let mut help = ("", "");
    for one in text.lines() {
        if let Some(rest) = one.strip_prefix("# HELP ") {
            help = rest.split_once(' ').unwrap_or((rest, ""));
        } else if let Some((name, kind)) = one.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                other => ("", other),
            };
            if help.0 == name {
                line(&["# HELP ", name, suffix, " ", help.1]);
            }
            line(&["# TYPE ", name, suffix, " ", kind]);
        } else if !one.starts_with('#') {
            line(&[one.split_once(" # {").map_or(one, |(sample, _)| sample)]);
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_header_chooses() {
        let asked = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, value.parse().unwrap());
            TextFormat::asked(&headers)
        };
        assert_eq!(TextFormat::asked(&HeaderMap::new()), TextFormat::OpenMetrics);
        assert_eq!(asked("*/*"), TextFormat::OpenMetrics);
        assert_eq!(asked("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), TextFormat::Plain);
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(asked(prometheus), TextFormat::OpenMetrics);
        assert_eq!(asked("application/openmetrics-text;q=0, text/plain"), TextFormat::Plain);
    }

    #[test]
    fn plain_has_no_words_of_openmetrics() {
        let open = "# HELP a_requests All.\n# TYPE a_requests counter\na_requests_total 3\n\
            # HELP a_build It.\n# TYPE a_build info\na_build_info{version=\"1\"} 1\n\
            # HELP a_seconds Time.\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\n\
            a_seconds_bucket{le=\"1.0\"} 1 # {trace_id=\"4b\"} 0.5\na_seconds_bucket{le=\"+Inf\"} 1\n# EOF\n";
        let expected = "# HELP a_requests_total All.\n# TYPE a_requests_total counter\na_requests_total 3\n\
            # HELP a_build_info It.\n# TYPE a_build_info gauge\na_build_info{version=\"1\"} 1\n\
            # HELP a_seconds Time.\n# TYPE a_seconds histogram\n\
            a_seconds_bucket{le=\"1.0\"} 1\na_seconds_bucket{le=\"+Inf\"} 1\n";
        assert_eq!(plain(open), expected);
    }
}
