//! How a request that was not refused can be answered, for documents.

use salvo::http::StatusCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    Ok,
    Created,
    Unchanged,
}

impl Success {
    pub fn number(self) -> u16 {
        match self {
            Success::Ok => StatusCode::OK,
            Success::Created => StatusCode::CREATED,
            Success::Unchanged => StatusCode::NOT_MODIFIED,
        }
        .as_u16()
    }
}
