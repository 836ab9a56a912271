//! One line of the log per event. Messages of databases have several lines, and so has what the runtime prints when a
//! thread panics; both are made one event on one line, in text as in JSON.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::PanicHookInfo;

use memchr::memchr;
use rules::time::Moment;

use crate::http::wire::moment;

/// What a terminal is greeted with, as a line of a log in JSON: whoever collects a container's output reads both.
pub fn as_event(at: Moment, text: &str) -> String {
    let fields = serde_json::json!({ "message": text, "version": env!("CARGO_PKG_VERSION") });
    serde_json::json!({ "timestamp": moment(at), "level": "INFO", "fields": fields }).to_string()
}

/// Standard error, for events. The subscriber hands over each event with one call.
pub struct LogLineWriter<W>(pub W);

impl<W: Write> Write for LogLineWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.write_all(event)?;
        Ok(event.len())
    }

    fn write_all(&mut self, event: &[u8]) -> io::Result<()> {
        let body = event.strip_suffix(b"\n").unwrap_or(event);
        if memchr(b'\n', body).is_none() && memchr(b'\r', body).is_none() {
            return self.0.write_all(event);
        }
        let mut line: Vec<u8> =
            body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        line.extend_from_slice(&event[body.len()..]);
        self.0.write_all(&line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// From now on a panic is an event of the log. With `RUST_BACKTRACE=1` it has the way that led there.
pub fn log_panics() {
    std::panic::set_hook(Box::new(log_panic));
}

fn log_panic(info: &PanicHookInfo<'_>) {
    let at = info.location().map(tracing::field::display);
    let thread = std::thread::current();
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| tracing::field::display(&backtrace));
    let why = info.payload_as_str().unwrap_or("not said");
    tracing::error!(why, at, thread = thread.name(), backtrace, "a panic");
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Lines {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(json: bool, work: impl FnOnce()) -> String {
        let lines = Lines::default();
        let to = lines.clone();
        let logs = tracing_subscriber::fmt().with_ansi(false).with_writer(move || LogLineWriter(to.clone()));
        if json {
            tracing::subscriber::with_default(logs.json().finish(), work);
        } else {
            tracing::subscriber::with_default(logs.finish(), work);
        }
        lines.text()
    }

    #[test]
    fn event_with_several_lines_is_one_line() {
        for json in [false, true] {
            let fault = "ERROR: no room\nDETAIL: disk\r\nHINT: another";
            let text = logged(json, || {
                tracing::warn!(%fault, "a batch failed");
                tracing::info!("next");
            });
            assert_eq!(text.lines().count(), 2, "{text}");
            assert!(text.contains("DETAIL: disk") && text.ends_with('\n'), "{text}");
        }
    }

    /// Each test has a process of its own, so the hook is only ours.
    #[test]
    fn panic_is_one_event() {
        for json in [false, true] {
            let text = logged(json, || {
                log_panics();
                let caught = std::panic::catch_unwind(|| panic!("a rule\nwas {}", "wrong"));
                let _ = std::panic::take_hook();
                assert!(caught.is_err());
            });
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.contains("log_lines.rs") && text.contains("ERROR") && text.contains("was wrong"), "{text}");
            if json {
                let line: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(
                    (&line["fields"]["message"], &line["fields"]["why"]),
                    (&"a panic".into(), &"a rule\nwas wrong".into())
                );
            }
        }
    }
}
