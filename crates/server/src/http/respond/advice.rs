//! What each refusal asks of the buyer, of the client's author and of the operator. The page
//! `docs/outcomes.md` is written from it; the compiler asks for a line when an outcome is added.

use rules::outcome::{Forbidden, Refusal};

pub struct Advice {
    pub when: &'static str,
    pub buyer: &'static str,
    pub author: &'static str,
    pub operator: &'static str,
}

const fn advice(when: &'static str, buyer: &'static str, author: &'static str, operator: &'static str) -> Advice {
    Advice { when, buyer, author, operator }
}

const NOTHING: &str = "Nothing.";

impl Advice {
    pub fn on(refusal: &Refusal) -> Advice {
        form(refusal).or_else(|| asking(refusal)).unwrap_or_else(|| deciding(refusal))
    }
}

/// The form of the request, and who asks.
fn form(refusal: &Refusal) -> Option<Advice> {
    Some(match refusal {
        Refusal::NoSuchPath => advice("no such path", NOTHING, "Correct the path; `/docs` lists them.", NOTHING),
        Refusal::WrongMethod { .. } => {
            advice("wrong method", NOTHING, "Use a method that the `Allow` header names.", NOTHING)
        }
        Refusal::TooLarge { .. } => advice("body too large", NOTHING, "Send less.", NOTHING),
        Refusal::NotJsonType => {
            advice("`Content-Type` is not JSON", NOTHING, "Send `Content-Type: application/json`.", NOTHING)
        }
        Refusal::TooSlow => advice(
            "the body did not arrive in time",
            "Try again on a better line.",
            "Send the body at once; repeat with the same `Idempotency-Key`.",
            "Many of these: somebody holds connections open.",
        ),
        Refusal::Invalid(_) => advice(
            "a field, header or parameter is wrong",
            "Correct what you typed.",
            "Show `message` beside the input that `field` names.",
            NOTHING,
        ),
        Refusal::MissingUser => advice(
            "nobody said who asks",
            "Sign in.",
            "Send the user header.",
            "Check that whatever authenticates sets `FCFS_USER_HEADER`.",
        ),
        Refusal::Unauthorized => advice(
            "who asks could not be shown",
            "Sign in again.",
            "Send a valid token.",
            "Check `ADMIN_TOKEN`, `GATEWAY_KEY` and where requests come from.",
        ),
        Refusal::Forbidden(Forbidden::Anothers) => {
            advice("it belongs to somebody else", "Look at your own reservations.", "Do not repeat it.", NOTHING)
        }
        Refusal::Forbidden(Forbidden::AnothersHold) => {
            advice("the hold belongs to somebody else", "Look at your own holds.", "Do not repeat it.", NOTHING)
        }
        Refusal::Forbidden(Forbidden::UnknownProxy) => advice(
            "a proxy stands in front that the server was not told about",
            NOTHING,
            "Do not send `X-Forwarded-For` or `Forwarded` yourself.",
            "Set `GATEWAY_KEY` here and at the proxy.",
        ),
        _ => return None,
    })
}

/// Does it exist, and the door.
fn asking(refusal: &Refusal) -> Option<Advice> {
    Some(match refusal {
        Refusal::NotFound => advice("it does not exist", "Go back to the list.", "Do not repeat it.", NOTHING),
        Refusal::HoldNotFound => advice(
            "there is no such hold, or another took its place",
            "Choose again.",
            "Use the id of the newest hold; `GET /v1/holds` lists those that live.",
            NOTHING,
        ),
        Refusal::NotQueued => {
            advice("the user is not in the line", "Join the line.", "`POST .../queue` first.", NOTHING)
        }
        Refusal::NoWaitingRoom => {
            advice("the event has no waiting room", "Reserve directly.", "Skip the queue calls.", NOTHING)
        }
        Refusal::RateLimited { .. } => advice(
            "too many requests",
            "Wait a moment.",
            "Wait for `Retry-After`, with some chance added.",
            "Raise the rate at the gateway if honest users meet it.",
        ),
        Refusal::AddressSpent { .. } => advice(
            "the address's budget is spent (`scope` is `ip`)",
            "Wait a few seconds.",
            "Wait for `Retry-After`.",
            "Raise `FCFS_IP_LIMIT` if many people share an address.",
        ),
        Refusal::AlreadyAsking { .. } => advice(
            "the same user's request is running (`scope` is `user`)",
            "One click is enough: wait for the first answer.",
            "Disable the button while waiting; use an `Idempotency-Key` to repeat safely.",
            NOTHING,
        ),
        Refusal::KeyMismatch => advice(
            "the `Idempotency-Key` was used for something else",
            NOTHING,
            "Make a new key for every new request.",
            NOTHING,
        ),
        _ => return None,
    })
}

/// What the rules decided, and broken machinery. Exhaustive: what the others leave lands here.
fn deciding(refusal: &Refusal) -> Advice {
    match refusal {
        Refusal::NotOpen { .. } => advice(
            "the sale is scheduled or paused",
            "Come back at the opening.",
            "Count down to `opensAt`; ask again after `Retry-After`.",
            "Open or resume the event when it is time.",
        ),
        Refusal::Closed => advice("the sale is over", "It is over.", "Show the end of the sale.", NOTHING),
        Refusal::HoldExpired => advice(
            "the hold has ended by the clock",
            "Choose again; what was held is free.",
            "Count down with `secondsRemaining`; extend in time.",
            "Raise `HOLD_TTL` if honest people do not make it.",
        ),
        Refusal::HoldProcessed { .. } => advice(
            "the hold was confirmed (then with its `reservation`) or cancelled",
            "Look at your reservations.",
            "With `reservation` treat it as success.",
            NOTHING,
        ),
        Refusal::HoldKeyConflict => advice(
            "the `clientHoldKey` belongs to somebody else's hold on the same nights or seats",
            "Try again.",
            "Make a new random UUID or ULID for every hold.",
            NOTHING,
        ),
        Refusal::Duplicate { .. } => advice(
            "at the limit, the newest sale within `FCFS_USER_TTL`",
            "You have the seat in `seat` already.",
            "Treat it as success: show `seat`.",
            NOTHING,
        ),
        Refusal::AlreadyReserved { .. } => advice(
            "at the limit, the newest sale is older",
            "You have the seat in `seat` already; cancel it to take another.",
            "Show the existing reservation.",
            "Raise `maxPerUser` if people may have more.",
        ),
        Refusal::LimitReached { .. } => advice(
            "at the limit by holds alone, or nothing to gain by extending",
            "Pay for what you hold, or give it back.",
            "Show the holds in `seatIds`, or those of `GET /v1/holds`.",
            NOTHING,
        ),
        Refusal::EntryRequired => advice(
            "the event has a waiting room and there is no live entry",
            "Take your place in the line.",
            "Join, wait until `ready`, enter, send `X-Entry-Token`.",
            NOTHING,
        ),
        Refusal::NotReady { .. } => {
            advice("it is not this user's turn", "Keep the page open.", "Poll as `pollAfter` says.", NOTHING)
        }
        Refusal::SeatTaken => {
            advice("somebody else has the chosen seat", "Choose another seat.", "Read the list again.", NOTHING)
        }
        Refusal::SoldOut => advice(
            "nothing free, nothing on hold",
            "It is sold out; cancellations may bring seats back.",
            "Do not hammer: follow the list or the stream.",
            NOTHING,
        ),
        Refusal::HeldOut { .. } => advice(
            "nothing free, some on hold",
            "Try again when the first hold ends.",
            "Ask again after `Retry-After`.",
            NOTHING,
        ),
        Refusal::NotAvailable { .. } => advice(
            "nothing free on the nights in `nights`, or of the seats in `seatIds`",
            "Choose other dates or seats.",
            "Show which; read the availability or the list again.",
            NOTHING,
        ),
        Refusal::RoomsInUse { .. } => advice(
            "more rooms are confirmed or held on some night",
            NOTHING,
            NOTHING,
            "Not below `leastQuantity`; wait for holds to end or cancel stays.",
        ),
        Refusal::InUse => {
            advice("reservations stand", NOTHING, NOTHING, "Cancel the reservations first, or close the event.")
        }
        Refusal::Contention => advice(
            "the lock could not be had in time",
            "Try again.",
            "Ask again after `Retry-After`.",
            "Look at `commit_seconds`: the ledger is slow, or somebody holds its lock.",
        ),
        Refusal::LockTimeout => advice(
            "the lock could not be had within a second; about a hold",
            "Try again.",
            "Ask again after `Retry-After`, with the same `clientHoldKey`.",
            "Look at `commit_seconds`: the ledger is slow, or somebody holds its lock.",
        ),
        Refusal::Overloaded => advice(
            "too many requests wait; nothing was done",
            "Try again in a moment.",
            "Wait for `Retry-After`, with some chance added.",
            "Add servers or a waiting room; `QUEUE_DEPTH` only moves the edge.",
        ),
        Refusal::LedgerUnreachable => advice(
            "the ledger cannot be reached",
            "Try again in a moment; look at your reservations first.",
            "Repeat with the same `Idempotency-Key`: the outcome may be unknown.",
            "See `/readyz` and the log.",
        ),
        Refusal::DoorUnreachable => advice(
            "the door cannot be reached",
            "Try again in a moment.",
            "Ask again after `Retry-After`.",
            "See `/readyz`: Redis is down, or must not be used as it is.",
        ),
        Refusal::ServerUnreachable => advice(
            "a gateway reaches no server",
            "Try again in a moment; look at your reservations first.",
            "Repeat with the same `Idempotency-Key`: the outcome may be unknown.",
            "See whether the servers run, and `GATEWAY_UPSTREAMS`.",
        ),
        Refusal::DoorFailed => advice(
            "a script of the door failed",
            "Try again in a moment.",
            "Ask again after `Retry-After`.",
            "See the log: Redis is full or busy.",
        ),
        Refusal::NoNumber => advice(
            "no arrival number could be had",
            "Try again in a moment.",
            "Ask again after `Retry-After`.",
            "See the log: the door is starting anew.",
        ),
        Refusal::Internal
        | Refusal::NoSuchPath
        | Refusal::WrongMethod { .. }
        | Refusal::TooLarge { .. }
        | Refusal::NotJsonType
        | Refusal::TooSlow
        | Refusal::Invalid(_)
        | Refusal::MissingUser
        | Refusal::Unauthorized
        | Refusal::Forbidden(_)
        | Refusal::NotFound
        | Refusal::HoldNotFound
        | Refusal::NotQueued
        | Refusal::NoWaitingRoom
        | Refusal::RateLimited { .. }
        | Refusal::AddressSpent { .. }
        | Refusal::AlreadyAsking { .. }
        | Refusal::KeyMismatch => advice(
            "something broke on our side",
            "Tell the support the `traceId`.",
            "Report it with the `traceId`; repeat only with an `Idempotency-Key`.",
            "Search the log for the `traceId`.",
        ),
    }
}
