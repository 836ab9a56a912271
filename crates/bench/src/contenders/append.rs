//! The minimum of durability: appends the bytes of the sale to a file and flushes before the answer, with
//! one flush for all waiting requests.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use salvo::prelude::*;
use tokio::sync::oneshot;

use super::form::{self, Form};

struct Line {
    bytes: String,
    written: oneshot::Sender<()>,
}

#[derive(Clone)]
struct Append {
    lines: Sender<Line>,
}

#[async_trait]
impl Handler for Append {
    async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
        let Some(Form { user, buyer }) = form::read(request).await else {
            return form::refuse(response, StatusCode::BAD_REQUEST);
        };
        let seat = form::next_seat();
        let (name, phone) = (buyer.name.unwrap_or_default(), buyer.phone.unwrap_or_default());
        let bytes = format!("{seat}\t{}\t{name}\t{phone}\t{seat}\n", user.as_str());
        let (written, told) = oneshot::channel();
        if self.lines.send(Line { bytes, written }).is_err() || told.await.is_err() {
            return form::refuse(response, StatusCode::SERVICE_UNAVAILABLE);
        }
        form::answer(response, seat);
    }
}

/// Requests that came during the last flush share the next one.
fn write(mut file: File, lines: &Receiver<Line>) {
    while let Ok(first) = lines.recv() {
        let group: Vec<Line> = std::iter::once(first).chain(lines.try_iter()).collect();
        let bytes: String = group.iter().map(|line| line.bytes.as_str()).collect();
        file.write_all(bytes.as_bytes()).and_then(|()| file.sync_data()).expect("a disk that writes");
        for line in group {
            let _ = line.written.send(());
        }
    }
}

pub fn serve(folder: &Path) {
    let file = File::create_new(folder.join("appended")).expect("a new file");
    let (lines, waiting) = channel();
    std::thread::spawn(move || write(file, &waiting));
    super::serve(async { Append { lines } });
}
