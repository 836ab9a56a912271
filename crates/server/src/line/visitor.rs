//! A user in front of an event: joins the line, asks for their place, enters, leaves.

use rules::command::EventAction;
use rules::entries::{Entry, EntryToken, Moved, renewal_due};
use rules::event::Event;
use rules::history::{Actor, RequestOrigin};
use rules::ids::{Number, User};
use rules::outcome::{Done, Outcome, Refusal};
use rules::queue::{Asking, Place, PlaceClaim, QueueReply, What};
use rules::time::Moment;

use super::{ClaimedPlace, EventLine};
use crate::path::{ChangeRequest, serve};
use crate::refusals::Failure;
use crate::tickets::random;

#[derive(Clone, Copy)]
pub struct Visitor<'a> {
    pub line: EventLine<'a>,
    pub user: &'a User,
    /// By their ticket, or drawn for them.
    pub own: Option<ClaimedPlace>,
    /// Where the request came from, for the history.
    pub origin: Option<&'a RequestOrigin>,
}

/// A line moves in minutes, not in seconds.
const FULL: Refusal = Refusal::QueueFull { retry_after: 30 };

/// Where a user stands.
#[derive(Debug)]
pub enum Stands {
    InLine(Place),
    Inside { left_ms: i64 },
}

impl<'a> Visitor<'a> {
    pub fn from(self, origin: &'a RequestOrigin) -> Visitor<'a> {
        Visitor { origin: Some(origin), ..self }
    }

    /// Joins, or returns the existing place: by user, else by ticket.
    pub async fn join(self) -> Result<Stands, Failure> {
        let reply = match self.own {
            None => self.ask(What::Join, None).await?,
            Some(_) => match self.find(What::Poll).await? {
                QueueReply::NotQueued => self.ask(What::Join, None).await?,
                reply => reply,
            },
        };
        self.stands(reply).await
    }

    pub async fn poll(self) -> Result<Stands, Failure> {
        self.stands(self.find(What::Poll).await?).await
    }

    /// Enters, if it is their turn; or returns the existing entry.
    pub async fn enter(self) -> Result<Entry, Failure> {
        let number = match self.find(What::Enter).await? {
            QueueReply::MayEnter { number } => Some(number),
            QueueReply::Inside { .. } => None,
            QueueReply::NotReady { retry_after } => return Err(Refusal::NotReady { retry_after }.into()),
            QueueReply::NotQueued if self.live_entry().await?.is_some() => None,
            QueueReply::NotQueued => return Err(Refusal::NotQueued.into()),
            QueueReply::NoNumber => return Err(Refusal::NoNumber.into()),
            QueueReply::Full => return Err(FULL.into()),
            QueueReply::Place(_) | QueueReply::Gone => return Err(Refusal::Internal.into()),
        };
        let token = EntryToken(random()?);
        match self.change(EventAction::Enter { number, token }).await? {
            Outcome::Done(Done::Entered(entry)) => {
                if entry.token == token {
                    self.line.app.metrics.admitted();
                } else {
                    // The door may not know that entry yet.
                    self.line.tell(Moved::In((*entry).clone())).await;
                }
                Ok(*entry)
            }
            Outcome::Refused(refusal) => {
                self.correct_door(number, &refusal).await;
                Err(refusal.into())
            }
            Outcome::Done(_) => Err(Refusal::Internal.into()),
        }
    }

    /// Gives up the place or the entry.
    pub async fn leave(self) -> Result<(), Failure> {
        let reply = self.ask(What::Leave, None).await?;
        if (matches!(reply, QueueReply::Inside { .. }) || self.live_entry().await?.is_some())
            && let Outcome::Refused(refusal) = self.change(EventAction::Leave).await?
        {
            return Err(refusal.into());
        }
        Ok(())
    }

    async fn stands(self, reply: QueueReply) -> Result<Stands, Failure> {
        let now = || self.line.app.ledger.now();
        match reply {
            QueueReply::Place(place) => Ok(Stands::InLine(place)),
            QueueReply::Inside { left_ms, cap_left_ms } if renewal_due(&self.line.room, left_ms, cap_left_ms) => {
                let ends = self.renew().await?;
                Ok(Stands::Inside { left_ms: now().ms_until(ends) })
            }
            QueueReply::Inside { left_ms, .. } => Ok(Stands::Inside { left_ms }),
            // The door may not know that they entered.
            QueueReply::NotQueued => match self.live_entry().await? {
                Some(entry) => {
                    let left_ms = now().ms_until(entry.ends);
                    self.line.tell(Moved::In(entry)).await;
                    Ok(Stands::Inside { left_ms })
                }
                None => Err(Refusal::NotQueued.into()),
            },
            QueueReply::NoNumber => Err(Refusal::NoNumber.into()),
            QueueReply::Full => Err(FULL.into()),
            QueueReply::MayEnter { .. } | QueueReply::NotReady { .. } | QueueReply::Gone => {
                Err(Refusal::Internal.into())
            }
        }
    }

    async fn renew(self) -> Result<Moment, Failure> {
        match self.change(EventAction::Renew).await? {
            Outcome::Done(Done::Renewed { ends }) => Ok(ends),
            Outcome::Refused(refusal) => Err(refusal.into()),
            Outcome::Done(_) => Err(Refusal::Internal.into()),
        }
    }

    async fn change(self, action: EventAction) -> Result<Outcome, Refusal> {
        let (actor, origin) = (Actor::User(self.user.clone()), self.origin.cloned().unwrap_or_default());
        let request: ChangeRequest<Event> =
            ChangeRequest { origin, ..ChangeRequest::new(self.line.event, actor, action) };
        Ok(serve(self.line.app, request).await?.answer.outcome)
    }

    async fn live_entry(self) -> Result<Option<Entry>, Failure> {
        let ledger = &self.line.app.ledger;
        let found = ledger.entry_of(self.line.event, self.user.clone()).await?;
        Ok(found.filter(|entry| entry.live(ledger.now())))
    }

    /// Corrects the door after the ledger contradicted it.
    async fn correct_door(self, number: Option<Number>, refusal: &Refusal) {
        match (refusal, number) {
            // The number was used before the door lost its data.
            (Refusal::NotQueued, Some(_)) => {
                if let Err(failure) = self.ask(What::Leave, None).await {
                    tracing::warn!(event = %self.line.event, %failure, "a used number stays in line");
                }
            }
            (Refusal::NotQueued, None) => {
                self.line.tell(Moved::Out { user: self.user.clone(), n: i64::MAX as u64 }).await
            }
            (Refusal::NotReady { .. }, _) => self.line.recount().await,
            _ => {}
        }
    }

    /// Asks the door. If it does not know the user, or gave them a worse place than theirs, the claim counts, unless
    /// its number was already used to enter.
    async fn find(self, what: What) -> Result<QueueReply, Failure> {
        let Some(ClaimedPlace { claim, unspent }) = self.own else {
            return self.ask(what, None).await;
        };
        if unspent {
            return self.ask(what, Some(claim)).await;
        }
        // Polls first, so that the user does not enter from a place that is worse than theirs.
        let reply = self.ask(What::Poll, None).await?;
        let better = match &reply {
            QueueReply::Place(place) => claim.number < place.number,
            QueueReply::NotQueued => true,
            _ => false,
        };
        let counts = better && !self.line.app.ledger.number_spent(self.line.event, claim.number).await?;
        match (what, counts) {
            (What::Poll, false) => Ok(reply),
            (_, true) => self.ask(what, Some(claim)).await,
            (_, false) => self.ask(what, None).await,
        }
    }

    async fn ask(self, what: What, claim: Option<PlaceClaim>) -> Result<QueueReply, Failure> {
        let EventLine { app, event, room } = self.line;
        let asking = Asking { user: self.user.clone(), what, claim };
        self.line.heard(|| app.door.ask(event, room, asking.clone())).await
    }
}
