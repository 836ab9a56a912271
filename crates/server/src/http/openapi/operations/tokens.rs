//! The tokens of operators.

use rules::outcome::Refusal;

use super::{CSV, JSON, JSON_LINES, ok, operate, read};
use crate::http::openapi::{Doc, Gives};
use crate::http::respond::Success;

const MADE: &[Gives] = &[Gives { status: Success::Created, kind: JSON, schema: Some("NewAdminTokenAnswer") }];
const DONE: &[Gives] = &[ok("Success")];
const NAMED: &[fn() -> Refusal] = &[|| Refusal::NotFound];

pub const ADMIN_TOKENS: Doc = read(
    "adminListTokens",
    "admin",
    "The tokens of operators, without their text; also with `Accept: text/csv` or `application/x-ndjson`.",
    &[ok("AdminTokensAnswer"), CSV, JSON_LINES],
);
pub const CREATE_ADMIN_TOKEN: Doc = Doc {
    done: "created",
    gives: MADE,
    ..operate("createAdminToken", "Makes a token with a name and a role. Its text is shown once.", &[])
};
pub const ROTATE_ADMIN_TOKEN: Doc = Doc {
    done: "rotated",
    gives: MADE,
    ..operate(
        "rotateAdminToken",
        "Makes a new token of this name, valid at once at every server; the old one ends after its grace. `admin` is that \
         of `ADMIN_TOKEN`.",
        NAMED,
    )
};
pub const REVOKE_ADMIN_TOKEN: Doc = Doc {
    done: "revoked",
    gives: DONE,
    ..operate("revokeAdminToken", "Ends the tokens of this name; other servers follow within a second.", NAMED)
};
pub const END_REPLACED_ADMIN_TOKEN: Doc = Doc {
    done: "revoked",
    gives: DONE,
    ..operate("endReplacedAdminTokens", "Ends the grace of the tokens that were replaced under this name.", NAMED)
};
