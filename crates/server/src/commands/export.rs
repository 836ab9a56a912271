//! `tickettock event export`: everything that was sold, page by page, so that memory stays flat.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use client::api::calls;

use super::api::Api;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Csv,
    JsonLines,
}

/// To a file, or to standard output. A file appears under its name only when it is whole.
pub fn export(api: &Api, event: i64, format: ExportFormat, file: Option<&Path>) -> Result<(), String> {
    let Some(file) = file else {
        return write(api, event, format, &mut std::io::stdout().lock());
    };
    let bad = |e: std::io::Error| format!("{}: {e}", file.display());
    let part = file.with_extension("part");
    // Names and telephone numbers are in it.
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part);
    let mut out = BufWriter::new(opened.map_err(bad)?);
    let written = write(api, event, format, &mut out).and_then(|()| out.flush().map_err(bad));
    match written {
        Ok(()) => std::fs::rename(&part, file).map_err(bad),
        Err(why) => {
            let _ = std::fs::remove_file(&part);
            Err(why)
        }
    }
}

fn write(api: &Api, event: i64, format: ExportFormat, out: &mut impl Write) -> Result<(), String> {
    let mut after = None::<String>;
    loop {
        let (rows, next) = page(api, event, after.as_deref(), format)?;
        match out.write_all(rows.as_bytes()) {
            // Nobody reads any more.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|e| e.to_string())?,
        }
        match next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// One page and where the next begins. Only the first keeps the line of the columns' names.
fn page(api: &Api, event: i64, after: Option<&str>, format: ExportFormat) -> Result<(String, Option<String>), String> {
    let kind = match format {
        ExportFormat::Csv => "text/csv",
        ExportFormat::JsonLines => "application/x-ndjson",
    };
    let answer = api.answer(calls::admin_reservations(event, after).accept(kind))?;
    if !answer.is_success() {
        api.read(&answer)?;
    }
    let next = answer.header("x-next").map(str::to_owned);
    let text = answer.text();
    let headed = format == ExportFormat::Csv && after.is_some();
    let rows = if headed { text.split_once('\n').map_or(String::new(), |(_, rows)| rows.to_owned()) } else { text };
    Ok((rows, next))
}
