//! Lists as JSON, CSV or JSON Lines.

use salvo::http::header::ACCEPT;
use serde::Serialize;

use crate::http::plumbing::call::Incoming;

const CSV: &str = "text/csv; charset=utf-8";
const JSON_LINES: &str = "application/x-ndjson; charset=utf-8";

/// A cell of a table; empty for none.
pub fn cell(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// How a list was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// In pages.
    Json,
    Csv,
    JsonLines,
}

impl ListFormat {
    /// The first kind in `Accept` that is one of ours; JSON if there is none.
    pub fn asked(request: &Incoming) -> ListFormat {
        let accepted = request.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let kinds = accepted.flat_map(|value| value.split(','));
        let known = |kind: &str| match kind.split(';').next().unwrap_or_default().trim() {
            "text/csv" => Some(ListFormat::Csv),
            "application/x-ndjson" | "application/jsonl" => Some(ListFormat::JsonLines),
            "application/json" => Some(ListFormat::Json),
            _ => None,
        };
        kinds.filter_map(known).next().unwrap_or(ListFormat::Json)
    }

    pub fn kind(self) -> &'static str {
        match self {
            ListFormat::Json => "application/json; charset=utf-8",
            ListFormat::Csv => CSV,
            ListFormat::JsonLines => JSON_LINES,
        }
    }
}

/// A row in both formats.
pub trait ListRow: Serialize {
    /// The columns' names, with the end of the line.
    const HEADING: &'static str;

    fn cells(&self) -> Vec<String>;
}

/// The rows as text, without a heading.
pub fn written<R: ListRow>(format: ListFormat, rows: &[R]) -> String {
    let mut text = String::new();
    for row in rows {
        match format {
            ListFormat::Csv => {
                let cells: Vec<String> = row.cells().iter().map(|cell| quoted(cell)).collect();
                text.push_str(&cells.join(","));
                text.push_str("\r\n");
            }
            ListFormat::Json | ListFormat::JsonLines => {
                text.push_str(&serde_json::to_string(row).unwrap_or_default());
                text.push('\n');
            }
        }
    }
    text
}

/// What a spreadsheet may take for the beginning of a formula, also in full width.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
/// A cell with one of these is quoted. Some spreadsheets separate cells by semicolons or tabs.
const QUOTED: [char; 6] = [',', ';', '\t', '"', '\r', '\n'];

/// Where a spreadsheet may begin another cell, inside one of ours: with a semicolon between cells, it does not see that
/// a cell is quoted unless it is the first one of its line.
const SEPARATORS: [char; 4] = [';', '\t', '\r', '\n'];

/// A cell of RFC 4180. An apostrophe keeps a spreadsheet from running it, or what it takes for another cell inside, as a
/// formula; a telephone number begins with + and needs none.
fn quoted(cell: &str) -> String {
    let phone = cell.strip_prefix('+').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let cell = if phone { cell.to_owned() } else { without_formulas(cell) };
    if cell.contains(QUOTED) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

fn without_formulas(cell: &str) -> String {
    let (mut safe, mut begins) = (String::with_capacity(cell.len()), true);
    for c in cell.chars() {
        if begins && FORMULA.contains(&c) {
            safe.push('\'');
        }
        safe.push(c);
        // Quotes and spaces at the begin of a cell may be dropped.
        begins = SEPARATORS.contains(&c) || (begins && matches!(c, '"' | ' '));
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn formulas_are_escaped() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        for formula in ["＝1", "＋1", "－1", "＠SUM"] {
            assert_eq!(quoted(formula), format!("'{formula}"));
        }
        assert_eq!((quoted("\t=1").as_str(), quoted("\r=1").as_str()), ("\"'\t'=1\"", "\"'\r'=1\""));
        assert_eq!((quoted("a;b").as_str(), quoted("a\tb").as_str()), ("\"a;b\"", "\"a\tb\""));
        assert_eq!(quoted("+821012345678"), "+821012345678");
        assert_eq!(quoted("+cmd"), "'+cmd");
    }

    /// Where the list separator is a semicolon, a spreadsheet splits there.
    #[test]
    fn formulas_behind_a_separator_are_escaped() {
        for (cell, safe) in [
            ("x;=HYPERLINK(\"https://evil.example\")", "\"x;'=HYPERLINK(\"\"https://evil.example\"\")\""),
            ("x\t@SUM(1)", "\"x\t'@SUM(1)\""),
            ("x\n-1", "\"x\n'-1\""),
            ("x\r\n+1", "\"x\r\n'+1\""),
            ("x;＝1;+1", "\"x;'＝1;'+1\""),
            ("x;\"=1", "\"x;\"\"'=1\""),
            ("x; =1", "\"x; '=1\""),
            ("+82;=1", "\"'+82;'=1\""),
            ("a-b; c=d; e@f", "\"a-b; c=d; e@f\""),
        ] {
            assert_eq!(quoted(cell), safe, "{cell:?}");
        }
    }
}
