//! Lists that are read in order and searched: in pages, each from a bounded part of the rows; or whole, read from
//! the ledger while they are sent, so that their size costs no memory.

use std::future::Future;
use std::sync::Arc;

use futures_util::stream;
use salvo::http::{HeaderName, HeaderValue};
use salvo::hyper::body::Bytes;

use super::list_format::{ListFormat, ListRow, written};
use crate::http::plumbing::call::Incoming;
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::respond::Reply;
use crate::refusals::Failure;

/// Where the next page of a list in CSV or JSON Lines begins: there it has no place in the body.
const NEXT: HeaderName = HeaderName::from_static("x-next");

/// One request for a page reads at most this many rows where not every one fits. There is no index by what is
/// searched for: that would cost every sale.
const READ_MOST: usize = 100_000;

/// A list, and what its rows must be about.
pub trait Searched: Send + Sync + 'static {
    type Row: Send;
    type Place: Copy + Send + 'static;
    type Body: ListRow + Send;

    /// Rows that are read at a time.
    const ROWS: usize;

    /// The next rows behind `after`, in order. Fewer than asked for: there are no more.
    fn read(
        &self,
        after: Option<Self::Place>,
        rows: usize,
    ) -> impl Future<Output = Result<Vec<Self::Row>, Failure>> + Send;

    fn place(row: &Self::Row) -> Self::Place;

    /// `after`, as `place_written` wrote it.
    fn place_read(&self, text: &str) -> Option<Self::Place>;

    fn place_written(&self, place: Self::Place) -> String;

    /// No row is passed over.
    fn everything_fits(&self) -> bool {
        true
    }

    /// None: it is not searched for.
    fn body(&self, row: Self::Row) -> Option<Self::Body>;
}

/// The list as it was asked for: JSON in pages; CSV and JSON Lines whole, unless a page was asked for.
pub async fn listed<L: Searched>(
    list: L,
    request: &Incoming,
    json: impl FnOnce(Vec<L::Body>, Option<String>) -> Reply,
) -> Handled {
    let (paging, format) = (Paging::of(request)?, ListFormat::asked(request));
    if format != ListFormat::Json && !Paging::asked(request)? {
        return Ok(whole(list, format).await?);
    }
    let after = paging.after(|text| list.place_read(text))?;
    let (rows, next) = page(&list, after, paging.limit()).await?;
    let next = next.map(|place| list.place_written(place));
    if format == ListFormat::Json {
        return Ok(json(rows, next));
    }
    let heading = if format == ListFormat::Csv { L::Body::HEADING } else { "" };
    let reply = Reply::text(format.kind(), format!("{heading}{}", written(format, &rows)));
    Ok(match next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        Some(next) => reply.with(NEXT, next),
        None => reply,
    })
}

/// A list that is short enough to be read at once, and has no pages.
pub fn short<R: ListRow>(rows: Vec<R>, request: &Incoming, json: impl FnOnce(Vec<R>) -> Reply) -> Reply {
    match ListFormat::asked(request) {
        ListFormat::Json => json(rows),
        format => {
            let heading = if format == ListFormat::Csv { R::HEADING } else { "" };
            Reply::text(format.kind(), format!("{heading}{}", written(format, &rows)))
        }
    }
}

/// Rows that fit, and where the next ones begin; none: there are no more.
type Found<L> = (Vec<<L as Searched>::Body>, Option<<L as Searched>::Place>);

/// A page. One that found little has a next one all the same.
async fn page<L: Searched>(list: &L, mut after: Option<L::Place>, limit: usize) -> Result<Found<L>, Failure> {
    let rows = if list.everything_fits() { limit + 1 } else { L::ROWS };
    let mut found = Vec::new();
    for _ in 0..READ_MOST.div_ceil(rows) {
        let read = list.read(after, rows).await?;
        let last = read.len() < rows;
        for row in read {
            if found.len() == limit {
                return Ok((found, after));
            }
            after = Some(L::place(&row));
            found.extend(list.body(row));
        }
        if last {
            return Ok((found, None));
        }
    }
    Ok((found, after))
}

/// Everything that fits. The first rows are read before anything is sent, so that a ledger that cannot be read is
/// a refusal; one that fails later breaks the connection off.
async fn whole<L: Searched>(list: L, format: ListFormat) -> Result<Reply, Failure> {
    let list = Arc::new(list);
    let heading = if format == ListFormat::Csv { L::Body::HEADING } else { "" };
    let first = step(&*list, None).await?;
    let parts = stream::try_unfold((heading, Some(first)), move |(heading, found)| {
        let list = list.clone();
        async move {
            let Some((rows, next)) = found else { return Ok(None) };
            let text = format!("{heading}{}", written(format, &rows));
            let next = match next {
                None => None,
                Some(place) => Some(step(&*list, Some(place)).await.map_err(|failure| {
                    tracing::error!(%failure, "a list broke off");
                    std::io::Error::other(failure.to_string())
                })?),
            };
            Ok(Some((Bytes::from(text), ("", next))))
        }
    });
    Ok(Reply::flowing_text(format.kind(), parts))
}

/// The next rows of a whole list, as many as fit.
async fn step<L: Searched>(list: &L, after: Option<L::Place>) -> Result<Found<L>, Failure> {
    let read = list.read(after, L::ROWS).await?;
    let next = read.last().filter(|_| read.len() >= L::ROWS).map(L::place);
    Ok((read.into_iter().filter_map(|row| list.body(row)).collect(), next))
}
