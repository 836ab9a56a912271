//! Faults of the stores become refusals here, and nowhere else.
//!
//! Inside the server, code that calls a store returns a `Failure` and uses `?`. Where the request is
//! refused, `?` turns the failure into a `Refusal`; that conversion writes the log line, so that a fault
//! is logged once.

use std::fmt;

use rules::outcome::Refusal;
use stores::door::DoorFault;
use stores::ledger::LedgerFault;
use stores::limited;

use crate::http::respond::{self, Refused};

/// Why a request was not served: it was refused, or a store failed.
#[derive(Debug)]
pub enum Failure {
    Refused(Refusal),
    Ledger(LedgerFault),
    Door(DoorFault),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refused(refusal)
    }
}

impl From<LedgerFault> for Failure {
    fn from(fault: LedgerFault) -> Self {
        Failure::Ledger(fault)
    }
}

impl From<DoorFault> for Failure {
    fn from(fault: DoorFault) -> Self {
        Failure::Door(fault)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(refusal) => write!(f, "refused: {}", respond::code(refusal)),
            Failure::Ledger(fault) => fault.fmt(f),
            Failure::Door(fault) => fault.fmt(f),
        }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refusal::from(failure).into()
    }
}

impl From<LedgerFault> for Refused {
    fn from(fault: LedgerFault) -> Self {
        Failure::from(fault).into()
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal,
            Failure::Ledger(fault) => {
                let refusal = refusal(&fault);
                match fault {
                    // Contention and a missing subject are ordinary answers.
                    LedgerFault::Locked | LedgerFault::NoSuchSubject => tracing::debug!(%fault, "the ledger refused"),
                    _ => limited!(error, %fault, answered = respond::code(&refusal), "the ledger failed"),
                }
                refusal
            }
            Failure::Door(fault) => closed(fault),
        }
    }
}

/// The refusal for a ledger fault. It logs nothing: the caller knows better what failed.
pub fn refusal(fault: &LedgerFault) -> Refusal {
    match fault {
        LedgerFault::Locked => Refusal::Contention,
        LedgerFault::Passing(_) | LedgerFault::Unreachable(_) => Refusal::LedgerUnreachable,
        LedgerFault::NoSuchSubject => Refusal::NotFound,
        LedgerFault::Broken(_) => Refusal::Internal,
    }
}

/// The refusal for a door fault, which is logged.
fn closed(fault: DoorFault) -> Refusal {
    let refusal = match fault {
        DoorFault::Unreachable(_) => Refusal::DoorUnreachable,
        DoorFault::Failed(_) => Refusal::DoorFailed,
    };
    limited!(error, %fault, answered = respond::code(&refusal), "the door failed");
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_one_refusal() {
        let why = || "why".to_owned();
        let cases: [(Failure, Refusal); 8] = [
            (LedgerFault::Locked.into(), Refusal::Contention),
            (LedgerFault::Passing(why()).into(), Refusal::LedgerUnreachable),
            (LedgerFault::Unreachable(why()).into(), Refusal::LedgerUnreachable),
            (LedgerFault::NoSuchSubject.into(), Refusal::NotFound),
            (LedgerFault::Broken(why()).into(), Refusal::Internal),
            (DoorFault::Unreachable(why()).into(), Refusal::DoorUnreachable),
            (DoorFault::Failed(why()).into(), Refusal::DoorFailed),
            (Refusal::SoldOut.into(), Refusal::SoldOut),
        ];
        for (failure, expected) in cases {
            assert_eq!(Refusal::from(failure), expected);
        }
    }
}
