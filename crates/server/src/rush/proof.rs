//! Compares the answers that buyers got with what the server lists at the end.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use client::api::answers::ReservedStock;
use client::api::calls;

use super::buyer::user;
use super::shop::Shop;
use super::tally::{Memory, RushOutcome, Unanswered};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Seats that stand at the end and were acknowledged.
    pub sold: u64,
    pub sold_twice: u64,
    /// People who have no seat because there was none left. Whoever clicked twice is one.
    pub told_sold_out: u64,
    /// Acknowledged, but not listed.
    pub lost: u64,
    /// Listed, but no buyer got this answer or lost one; or listed although it was given back.
    pub unexplained: u64,
    /// Served out of order.
    pub order_broken: u64,
    /// Arrival numbers that two requests got.
    pub numbers_twice: u64,
    /// Invariants that the server's own audit found broken: numbers, order within batches, who is inside by the
    /// door and by the ledger, and the rest of `verify`. None: it was not asked, or had no time.
    pub invariants_broken: Option<u64>,
    /// Answers that are not in the contract.
    pub not_in_contract: u64,
    pub compared_with_server: bool,
}

impl Proof {
    pub fn holds(&self) -> bool {
        let told = self.sold_twice + self.lost + self.unexplained + self.order_broken + self.not_in_contract;
        told + self.numbers_twice + self.invariants_broken.unwrap_or_default() == 0
    }
}

/// A reservation as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub user: String,
    pub seat: u64,
}

/// All reservations of the event, page by page.
pub async fn listed(shop: &Shop) -> Result<Vec<Listed>, String> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = shop.admin(calls::admin_reservations(shop.event, after.as_deref())).await?;
        all.extend(page.items.into_iter().map(|one| Listed {
            // The id that buyers are given.
            id: one.public_id,
            user: one.user_id.unwrap_or_default(),
            seat: match one.reservation.of {
                ReservedStock::Seat { seat, .. } => seat.id.into(),
                ReservedStock::Stay { .. } => 0,
            },
        }));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

/// What the crowd knows for certain, and what it does not know.
#[derive(Default)]
struct Known<'a> {
    /// Reservation id, buyer, seat. One id in the answers to two buyers is two of these.
    told: HashSet<(&'a str, u64, u64)>,
    given_back: HashSet<&'a str>,
    /// Perhaps given back: the answer was lost.
    perhaps_given_back: HashSet<&'a str>,
    /// Users who may have a seat without an answer that says so.
    doubt: HashSet<u64>,
}

impl<'a> Known<'a> {
    fn of(memories: &'a [Memory]) -> Known<'a> {
        let mut known = Known::default();
        for memory in memories {
            match &memory.outcome {
                RushOutcome::Reserved { seat, id, .. } => {
                    known.told.insert((id, memory.buyer, *seat));
                }
                RushOutcome::Cancelled { id } => {
                    known.given_back.insert(id);
                }
                RushOutcome::Unknown(Unanswered::Cancellation { id }) => {
                    known.perhaps_given_back.insert(id);
                }
                RushOutcome::Unknown(Unanswered::Seat) | RushOutcome::Refused { status: 500.., .. } => {
                    known.doubt.insert(memory.buyer);
                }
                RushOutcome::Refused { .. } => {}
            }
        }
        known
    }

    /// Reservations that must stand: id, buyer, seat.
    fn standing(&self) -> impl Iterator<Item = (&'a str, u64, u64)> {
        self.told
            .iter()
            .copied()
            .filter(|(id, ..)| !self.given_back.contains(id) && !self.perhaps_given_back.contains(id))
    }

    fn nothing_came_back(&self) -> bool {
        self.given_back.is_empty() && self.perhaps_given_back.is_empty()
    }
}

pub fn prove(run: &str, memories: &[Memory], listed: Option<&[Listed]>) -> Proof {
    let known = Known::of(memories);
    let mut proof = Proof { compared_with_server: listed.is_some(), ..Proof::default() };
    let mut seats = HashSet::new();
    for (_, _, seat) in known.standing() {
        proof.sold += 1;
        proof.sold_twice += u64::from(!seats.insert(seat));
    }
    if let Some(listed) = listed {
        compare(&mut proof, run, &known, listed);
    }
    proof.told_sold_out = told_sold_out(run, memories, listed.unwrap_or_default());
    proof.not_in_contract = memories.iter().filter(|m| !in_contract(&m.outcome)).count() as u64;
    proof.numbers_twice = numbers_twice(memories);
    proof.order_broken = order_broken(memories, known.nothing_came_back() && known.doubt.is_empty());
    proof
}

fn told_sold_out(run: &str, memories: &[Memory], listed: &[Listed]) -> u64 {
    let owners: HashSet<&str> = listed.iter().map(|one| one.user.as_str()).collect();
    let who = |wanted: fn(&RushOutcome) -> bool| -> HashSet<u64> {
        memories.iter().filter(|memory| wanted(&memory.outcome)).map(|memory| memory.buyer).collect()
    };
    let got = who(|outcome| matches!(outcome, RushOutcome::Reserved { .. }));
    let told = who(|outcome| outcome.name() == "sold_out");
    let without = told.difference(&got).filter(|buyer| !owners.contains(user(run, **buyer).as_str()));
    without.count() as u64
}

/// How many invariants the server's audit finds broken. A large ledger may take longer than an audit may.
pub async fn audited(shop: &Shop) -> Option<u64> {
    let audit = shop.admin(calls::audit()).await.ok()?;
    Some(audit.invariants.iter().filter(|invariant| !invariant.holds).count() as u64)
}

fn numbers_twice(memories: &[Memory]) -> u64 {
    let mut seen = HashSet::new();
    let given = memories.iter().filter(|memory| !replayed(memory)).filter_map(|memory| memory.outcome.number());
    given.filter(|number| !seen.insert(*number)).count() as u64
}

fn in_contract(outcome: &RushOutcome) -> bool {
    match outcome {
        RushOutcome::Refused { status, reason, .. } => {
            matches!(status, 409 | 429 | 503) && reason != "not in the contract"
        }
        RushOutcome::Reserved { .. } | RushOutcome::Cancelled { .. } | RushOutcome::Unknown(_) => true,
    }
}

fn compare(proof: &mut Proof, run: &str, known: &Known<'_>, listed: &[Listed]) {
    let by_id: HashMap<&str, &Listed> = listed.iter().map(|l| (l.id.as_str(), l)).collect();
    for (id, buyer, seat) in known.standing() {
        let there = by_id.get(id).is_some_and(|l| l.user == user(run, buyer) && l.seat == seat);
        proof.lost += u64::from(!there);
    }
    let ours = format!("rush-{run}-");
    let in_doubt: HashSet<String> = known.doubt.iter().map(|buyer| user(run, *buyer)).collect();
    let told: HashSet<&str> = known.told.iter().map(|(id, ..)| *id).collect();
    for Listed { id, user, .. } in listed.iter().filter(|l| l.user.starts_with(&ours)) {
        let explained = told.contains(id.as_str()) || in_doubt.contains(user);
        let gone = known.given_back.contains(id.as_str());
        proof.unexplained += u64::from(!explained || gone);
    }
    let mut seats = HashSet::new();
    proof.sold_twice += listed.iter().filter(|l| !seats.insert(l.seat)).count() as u64;
}

/// Requests that did not overlap must have rising numbers. If no seat came back, a request sent after
/// another one was answered `sold_out` must not get a seat. A request must not be `sold_out` if a higher
/// number got a seat from the same server (two servers promise no order between requests that overlap).
fn order_broken(memories: &[Memory], nothing_came_back: bool) -> u64 {
    let mut numbered: Vec<(&Memory, u64)> =
        memories.iter().filter(|m| !replayed(m)).filter_map(|m| m.outcome.number().map(|n| (m, n))).collect();
    let mut by_end: Vec<_> = numbered.clone();
    by_end.sort_by_key(|(m, _)| m.ended);
    numbered.sort_by_key(|(m, _)| m.sent);
    let (mut broken, mut highest, mut ended) = (0, 0, by_end.into_iter().peekable());
    for (memory, number) in &numbered {
        while let Some((_, before)) = ended.next_if(|(m, _)| m.ended < memory.sent) {
            highest = highest.max(before);
        }
        broken += u64::from(*number <= highest);
    }
    if nothing_came_back {
        broken += passed_over(&numbered);
    }
    broken
}

fn passed_over(numbered: &[(&Memory, u64)]) -> u64 {
    let (mut last_sold, mut over): (HashMap<u64, u64>, Option<Duration>) = (HashMap::new(), None);
    for (memory, number) in numbered {
        match &memory.outcome {
            RushOutcome::Reserved { .. } => {
                if let Some(server) = memory.server {
                    let last = last_sold.entry(server).or_default();
                    *last = (*last).max(*number);
                }
            }
            outcome if outcome.name() == "sold_out" => over = Some(over.map_or(memory.ended, |o| o.min(memory.ended))),
            _ => {}
        }
    }
    let broken = numbered.iter().filter(|(memory, number)| match &memory.outcome {
        RushOutcome::Reserved { .. } => over.is_some_and(|over| memory.sent > over),
        outcome => {
            let last = memory.server.and_then(|server| last_sold.get(&server));
            outcome.name() == "sold_out" && last.is_some_and(|last| number < last)
        }
    });
    broken.count() as u64
}

/// A repeated answer carries the number of the first request.
fn replayed(memory: &Memory) -> bool {
    matches!(memory.outcome, RushOutcome::Reserved { replayed: true, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(buyer: u64, sent: u64, ended: u64, outcome: RushOutcome) -> Memory {
        let ms = Duration::from_millis;
        Memory { buyer, due: ms(sent), sent: ms(sent), ended: ms(ended), outcome, server: Some(1) }
    }

    fn reserved(seat: u64, number: u64) -> RushOutcome {
        RushOutcome::Reserved { seat, id: format!("e1-{number}"), number: Some(number), replayed: false }
    }

    fn sold_out(number: u64) -> RushOutcome {
        RushOutcome::Refused { reason: "sold_out".into(), status: 409, number: Some(number) }
    }

    fn row(buyer: u64, seat: u64, number: u64) -> Listed {
        Listed { id: format!("e1-{number}"), user: user("r", buyer), seat }
    }

    #[test]
    fn a_good_rush_holds() {
        let memories =
            [memory(1, 0, 10, reserved(1, 1)), memory(2, 5, 12, reserved(2, 2)), memory(3, 20, 30, sold_out(3))];
        let proof = prove("r", &memories, Some(&[row(1, 1, 1), row(2, 2, 2)]));
        assert!(proof.holds() && proof.sold == 2 && proof.told_sold_out == 1, "{proof:?}");
    }

    #[test]
    fn people_are_counted_and_not_their_clicks() {
        let unanswered = RushOutcome::Unknown(Unanswered::Seat);
        let memories = [
            memory(1, 0, 10, reserved(1, 1)),
            memory(1, 20, 30, sold_out(4)),
            memory(2, 20, 30, sold_out(5)),
            memory(2, 21, 31, sold_out(6)),
            // The answer was lost, but the ledger shows the seat.
            memory(3, 0, 10, unanswered),
            memory(3, 20, 30, sold_out(7)),
        ];
        let proof = prove("r", &memories, Some(&[row(1, 1, 1), row(3, 2, 2)]));
        assert_eq!((proof.sold, proof.told_sold_out), (1, 1), "{proof:?}");
    }

    #[test]
    fn each_fault_is_noticed() {
        let two = [memory(1, 0, 10, reserved(1, 1)), memory(2, 5, 12, reserved(1, 2))];
        assert_eq!(prove("r", &two, None).sold_twice, 1);
        let same_id = [memory(1, 0, 10, reserved(1, 1)), memory(2, 5, 12, reserved(1, 1))];
        let proof = prove("r", &same_id, Some(&[row(2, 1, 1)]));
        assert_eq!((proof.sold_twice, proof.lost), (1, 1), "one reservation for two buyers");
        let back = [memory(1, 0, 10, reserved(1, 1)), memory(1, 20, 30, RushOutcome::Cancelled { id: "e1-1".into() })];
        assert!(prove("r", &back, Some(&[])).holds());
        assert_eq!(prove("r", &back, Some(&[row(1, 1, 1)])).unexplained, 1, "given back, and still there");
        let one = [memory(1, 0, 10, reserved(1, 1))];
        assert_eq!(prove("r", &one, Some(&[])).lost, 1);
        assert_eq!(prove("r", &one, Some(&[row(1, 1, 1), row(2, 2, 2)])).unexplained, 1);
        let swapped = [memory(1, 0, 10, reserved(1, 2)), memory(2, 20, 30, reserved(2, 1))];
        assert_eq!(prove("r", &swapped, None).order_broken, 1);
        let passed_over = [memory(1, 0, 30, sold_out(1)), memory(2, 0, 30, reserved(2, 2))];
        assert_eq!(prove("r", &passed_over, None).order_broken, 1);
        let elsewhere = [Memory { server: Some(2), ..passed_over[0].clone() }, passed_over[1].clone()];
        assert_eq!(prove("r", &elsewhere, None).order_broken, 0, "two servers, at the same time");
        let afterwards =
            [Memory { server: Some(2), ..memory(1, 0, 10, sold_out(1)) }, memory(2, 20, 30, reserved(2, 2))];
        assert_eq!(prove("r", &afterwards, None).order_broken, 1, "one asked after it was sold out");
        let same_number = [memory(1, 0, 30, reserved(1, 7)), memory(2, 0, 30, sold_out(7))];
        assert_eq!(prove("r", &same_number, None).numbers_twice, 1, "overlapping, so order says nothing");
        assert!(!Proof { invariants_broken: Some(1), ..Proof::default() }.holds());
        let odd = RushOutcome::Refused { reason: "internal_error".into(), status: 500, number: None };
        assert_eq!(prove("r", &[memory(1, 0, 1, odd)], None).not_in_contract, 1);
    }

    #[test]
    fn unanswered_requests_explain_unknown_seats() {
        let memories = [memory(1, 0, 10, RushOutcome::Unknown(Unanswered::Seat))];
        assert!(prove("r", &memories, Some(&[row(1, 1, 1)])).holds());
    }
}
