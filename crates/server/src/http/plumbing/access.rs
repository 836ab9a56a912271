//! Who may call an operation. A row of the route table names one of the rules here; the endpoint
//! runs its check, and the handler gets the caller it found. An operation cannot be declared
//! without a rule, and a handler that needs a `User` or an `Admin` does not compile under a rule
//! that finds neither.

use rules::ids::User;
use rules::outcome::Refusal;

use super::call::Incoming;
use crate::app::App;
use crate::auth::{self, Admin, Service, Viewer};
use crate::http::respond::Dialect;
use crate::path::Came;
use crate::settings::Settings;

/// A rule by name, for documents and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    User,
    /// A user; in dialect 2025-08-17 also nobody, with `FCFS_ANONYMOUS`.
    UserOrNobody,
    /// A user, or the user that a ticket names.
    UserOrTicket,
    /// The owner; with `CONFIRM_BY=service` the token of a service or an admin instead.
    OwnerOrService,
    /// The token of a viewer or an admin.
    Viewer,
    Admin,
}

impl Access {
    /// Whether an operator's token is what opens it.
    pub fn takes_admin_token(self, settings: &Settings) -> bool {
        self.is_operators() || (self == Access::OwnerOrService && settings.confirm_by_service)
    }

    /// It belongs to the admin API.
    pub fn is_operators(self) -> bool {
        matches!(self, Access::Viewer | Access::Admin)
    }

    pub fn name(self) -> &'static str {
        match self {
            Access::Anyone => "anyone",
            Access::User => "user",
            Access::UserOrNobody => "user-or-nobody",
            Access::UserOrTicket => "user-or-ticket",
            Access::OwnerOrService => "owner-or-service",
            Access::Viewer => "viewer",
            Access::Admin => "admin",
        }
    }
}

/// The check behind an `Access`.
pub trait AccessRule: Copy + Send + Sync + 'static {
    /// What the check finds out about the caller; the handler gets it.
    type Caller: Send + 'static;

    const ACCESS: Access;
    /// Check before the body is read, so that strangers cannot make the server read a large one.
    const BEFORE_BODY: bool = false;
    /// The request passes the door. A gateway may already have taken its number and mark, and gets its
    /// outcome.
    const THROUGH_DOOR: bool = false;

    fn check(app: &App, request: &Incoming) -> impl Future<Output = Result<Self::Caller, Refusal>> + Send;

    /// The user whose budget a request spends.
    fn user(_: &Self::Caller) -> Option<&User> {
        None
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Anyone;

impl AccessRule for Anyone {
    type Caller = ();
    const ACCESS: Access = Access::Anyone;

    async fn check(_: &App, _: &Incoming) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Any caller that names a user.
#[derive(Clone, Copy, Debug)]
pub struct KnownUser;

impl AccessRule for KnownUser {
    type Caller = User;
    const ACCESS: Access = Access::User;

    async fn check(app: &App, request: &Incoming) -> Result<User, Refusal> {
        request.user(app).await
    }

    fn user(caller: &User) -> Option<&User> {
        Some(caller)
    }
}

/// A caller that asks for a seat.
#[derive(Debug)]
pub struct SeatSeeker {
    /// None: the request names no user, which the rule allowed.
    pub user: Option<User>,
    pub came: Came,
}

/// A user who asks for a seat.
#[derive(Clone, Copy, Debug)]
pub struct SeekingUser;

impl AccessRule for SeekingUser {
    type Caller = SeatSeeker;
    const ACCESS: Access = Access::User;
    const THROUGH_DOOR: bool = true;

    async fn check(app: &App, request: &Incoming) -> Result<SeatSeeker, Refusal> {
        let came = request.came()?;
        Ok(SeatSeeker { user: Some(request.user(app).await?), came })
    }

    fn user(caller: &SeatSeeker) -> Option<&User> {
        caller.user.as_ref()
    }
}

/// As `SeekingUser`, on the short paths, where dialect 2025-08-17 may do without a user.
#[derive(Clone, Copy, Debug)]
pub struct SeekingUserOrNobody;

impl AccessRule for SeekingUserOrNobody {
    type Caller = SeatSeeker;
    const ACCESS: Access = Access::UserOrNobody;
    const THROUGH_DOOR: bool = true;

    async fn check(app: &App, request: &Incoming) -> Result<SeatSeeker, Refusal> {
        let came = request.came()?;
        let nobody_may_ask = request.dialect == Dialect::V2025_08_17 && app.settings.anonymous;
        match request.named_user(app).await? {
            None if !nobody_may_ask => Err(auth::nobody(app)),
            user => Ok(SeatSeeker { user, came }),
        }
    }

    fn user(caller: &SeatSeeker) -> Option<&User> {
        caller.user.as_ref()
    }
}

/// A user, or the user that a ticket names.
#[derive(Clone, Copy, Debug)]
pub struct UserOrTicket;

/// Whose place in line is asked for. The ticket is not verified yet: that takes its event.
#[derive(Debug)]
pub enum LineClaim {
    User { user: User, ticket: Option<Box<str>> },
    Ticket(Box<str>),
}

impl AccessRule for UserOrTicket {
    type Caller = LineClaim;
    const ACCESS: Access = Access::UserOrTicket;

    async fn check(app: &App, request: &Incoming) -> Result<LineClaim, Refusal> {
        let named = request.named_user(app).await?;
        match (named, request.ticket()?.map(Box::from)) {
            (Some(user), ticket) => Ok(LineClaim::User { user, ticket }),
            (None, Some(ticket)) => Ok(LineClaim::Ticket(ticket)),
            (None, None) => Err(auth::nobody(app)),
        }
    }
}

/// Who may confirm a hold: its owner, or with `CONFIRM_BY=service` the shop's backend.
#[derive(Clone, Copy, Debug)]
pub struct OwnerOrService;

#[derive(Debug)]
pub enum Confirmer {
    Owner(User),
    Service(Service),
}

impl AccessRule for OwnerOrService {
    type Caller = Confirmer;
    const ACCESS: Access = Access::OwnerOrService;

    async fn check(app: &App, request: &Incoming) -> Result<Confirmer, Refusal> {
        if app.settings.confirm_by_service {
            return auth::service(app, &request.headers).await.map(Confirmer::Service);
        }
        request.user(app).await.map(Confirmer::Owner)
    }
}

/// Every read of the admin API, and no write.
#[derive(Clone, Copy, Debug)]
pub struct ViewerOrAdmin;

impl AccessRule for ViewerOrAdmin {
    type Caller = Viewer;
    const ACCESS: Access = Access::Viewer;
    const BEFORE_BODY: bool = true;

    async fn check(app: &App, request: &Incoming) -> Result<Viewer, Refusal> {
        auth::viewer(app, &request.headers).await
    }
}

#[derive(Clone, Copy, Debug)]
pub struct AdminOnly;

impl AccessRule for AdminOnly {
    type Caller = Admin;
    const ACCESS: Access = Access::Admin;
    const BEFORE_BODY: bool = true;

    async fn check(app: &App, request: &Incoming) -> Result<Admin, Refusal> {
        auth::admin(app, &request.headers).await
    }
}
