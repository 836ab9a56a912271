//! The tokens of operators.

use rules::history::{ADMIN_NAME_CHARS, AdminName};
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;
use stores::ledger::admin_tokens::{AdminRole, AdminToken};

use super::{Succeeded, moment};

/// 30 days.
pub const GRACE_MOST_S: u32 = 2_592_000;

pub const ROLES: [&str; 3] = ["admin", "viewer", "service"];

#[derive(JsonSchema)]
#[schemars(rename = "NewAdminToken", rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAdminTokenBody {
    /// Lower-case letters, digits, dots, dashes and underscores.
    #[schemars(length(min = 1, max = ADMIN_NAME_CHARS), regex(pattern = "^[a-z0-9][a-z0-9._-]*$"))]
    pub name: String,
    /// `admin` does everything, `viewer` reads, `service` confirms holds.
    #[schemars(extend("enum" = ROLES))]
    pub role: String,
}

#[derive(JsonSchema)]
#[schemars(rename = "TokenRotation", rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenRotationBody {
    /// How long the old token is accepted, in seconds. Without it an hour.
    #[schemars(range(min = 0, max = GRACE_MOST_S))]
    pub grace_seconds: Option<u32>,
}

/// A token, without its text.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdminToken")]
#[serde(rename_all = "camelCase")]
pub struct AdminTokenBody {
    /// What the history calls its holder.
    pub name: String,
    #[schemars(extend("enum" = ROLES))]
    pub role: &'static str,
    /// It is accepted now.
    pub live: bool,
    /// Null: it is the token of `ADMIN_TOKEN`, which is not in the ledger.
    pub created_at: Option<String>,
    pub created_by: Option<String>,
    /// When it ends or ended; null: it has no end.
    pub ends_at: Option<String>,
    pub ended_by: Option<String>,
}

impl AdminTokenBody {
    pub fn of(token: &AdminToken, now: Moment, shift_ms: i64) -> AdminTokenBody {
        let named = |name: &AdminName| name.as_str().to_owned();
        AdminTokenBody {
            name: named(&token.name),
            role: token.role.as_str(),
            live: token.is_live(now),
            created_at: Some(moment(token.made_at.plus_ms(shift_ms))),
            created_by: Some(named(&token.made_by)),
            ends_at: token.ends_at.map(|end| moment(end.plus_ms(shift_ms))),
            ended_by: token.ended_by.as_ref().map(named),
        }
    }

    pub fn configured() -> AdminTokenBody {
        AdminTokenBody {
            name: AdminName::default().as_str().to_owned(),
            role: AdminRole::Admin.as_str(),
            live: true,
            created_at: None,
            created_by: None,
            ends_at: None,
            ended_by: None,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminTokensAnswer {
    pub success: Succeeded,
    pub tokens: Vec<AdminTokenBody>,
}

#[derive(Serialize, JsonSchema)]
pub struct NewAdminTokenAnswer {
    pub success: Succeeded,
    pub token: AdminTokenBody,
    /// The text of the token. It is not shown again.
    pub secret: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_those_of_the_ledger() {
        assert_eq!(AdminRole::ALL.map(AdminRole::as_str), ROLES);
    }
}
