//! The tokens of operators. The ledger stores digests only, so that nobody who reads it can use a token.

use rules::history::{AdminName, Happened, RequestOrigin};
use rules::time::Moment;

use super::Answered;
use super::records::LedgerNote;

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminRole {
    /// Full access.
    Admin,
    /// Read access.
    Viewer,
    /// Confirming holds.
    Service,
}

impl AdminRole {
    pub const ALL: [AdminRole; 3] = [AdminRole::Admin, AdminRole::Viewer, AdminRole::Service];

    pub fn as_str(self) -> &'static str {
        match self {
            AdminRole::Admin => "admin",
            AdminRole::Viewer => "viewer",
            AdminRole::Service => "service",
        }
    }

    pub fn named(text: &str) -> Option<AdminRole> {
        AdminRole::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

/// SHA-256 of a token. Tokens are random, so a fast digest does not make them easier to guess.
pub type AdminDigest = [u8; 32];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminToken {
    pub digest: AdminDigest,
    pub name: AdminName,
    pub role: AdminRole,
    pub made_at: Moment,
    pub made_by: AdminName,
    /// None: it does not expire.
    pub ends_at: Option<Moment>,
    pub ended_by: Option<AdminName>,
}

impl AdminToken {
    pub fn is_live(&self, now: Moment) -> bool {
        self.ends_at.is_none_or(|end| now < end)
    }
}

/// The input for creating a token.
#[derive(Clone, Debug)]
pub struct NewAdminToken {
    pub digest: AdminDigest,
    pub name: AdminName,
    pub role: AdminRole,
    pub at: Moment,
    pub by: AdminName,
    pub origin: RequestOrigin,
}

/// Which tokens expire, and when.
#[derive(Clone, Debug)]
pub struct EndedTokens {
    pub name: AdminName,
    pub ends_at: Moment,
    pub by: AdminName,
    /// Keeps the newest token of the name.
    pub only_replaced: bool,
    pub origin: RequestOrigin,
}

impl NewAdminToken {
    /// The history row for this change.
    pub(super) fn note(&self, what: Happened) -> LedgerNote {
        let detail = format!("{} {}", self.name.as_str(), self.role.as_str()).into();
        LedgerNote { what, by: Some(self.by.clone()), owner: None, origin: self.origin.clone(), detail: Some(detail) }
    }
}

impl EndedTokens {
    pub(super) fn note(&self) -> LedgerNote {
        let replaced = if self.only_replaced { " replaced" } else { "" };
        let detail = format!("{}{replaced}", self.name.as_str()).into();
        let (what, by) = (Happened::TokenRevoked, Some(self.by.clone()));
        LedgerNote { what, by, owner: None, origin: self.origin.clone(), detail: Some(detail) }
    }
}

pub trait AdminTokens {
    /// All tokens, expired ones included, oldest first.
    fn admin_tokens(&self) -> Answered<Vec<AdminToken>>;

    /// Returns false if a token of this name has no end yet.
    fn make_admin_token(&self, new: NewAdminToken) -> Answered<bool>;

    /// Creates a token that replaces those of the same name, which expire then. Tokens in `retired` that the ledger
    /// does not know, such as the configured one, expire with them.
    fn replace_admin_token(&self, new: NewAdminToken, ends_at: Moment, retired: Vec<AdminDigest>) -> Answered<()>;

    /// Expires tokens by their name. Returns how many were live.
    fn end_admin_tokens(&self, ending: EndedTokens) -> Answered<u64>;
}
