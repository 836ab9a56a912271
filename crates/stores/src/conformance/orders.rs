//! What a shop keeps with an order: metadata of sales, holds and stays, email, the reason of a cancellation; and what
//! an event asks of its buyers.

use rules::buyer::{AskedFields, Buyer, BuyerFields, FieldNeed, Metadata};
use rules::command::{Command, EventAction};
use rules::event::{EventAmendment, NewEvent, Occasion, OccasionAmendment};
use rules::history::{AdminName, Details, Happened};
use rules::holds::Ask;
use rules::ids::{EventId, Seat};
use rules::outcome::{Done, FieldError, Forbidden, Outcome, Problem, Refusal};
use rules::price::Price;
use rules::seats::Hall;
use rules::subject::{HoldId, StayId, SubjectId};
use rules::time::Moment;

use super::chain::is_whole;
use super::hotel::{Hotel, client_key, expect_held, nights};
use super::{Stand, Verdict, expect_refusal, expect_sale};
use crate::ensure;
use crate::ledger::LedgerFault;

pub async fn chapter(stand: &Stand) -> Verdict {
    sales_carry_their_order(stand).await?;
    holds_hand_their_metadata_on(stand).await?;
    stays_carry_their_order(stand).await?;
    confirmations_name_the_buyer(stand).await?;
    events_say_what_they_ask_for(stand).await
}

fn fault(fault: LedgerFault) -> String {
    fault.to_string()
}

pub(super) fn order(text: &str) -> Option<Box<Details>> {
    Details::of(Some(&metadata(text)), None)
}

fn metadata(text: &str) -> Metadata {
    Metadata::stored(&format!(r#"{{"order":"{text}","n":1.50}}"#))
}

pub(super) fn because(reason: &str) -> Option<Box<Details>> {
    Details::of(None, Some(reason))
}

pub(super) fn hold_seats(
    stand: &Stand,
    user: &str,
    seats: &[u32],
    key: &str,
    details: Option<Box<Details>>,
) -> Command {
    let action = EventAction::Hold { seats: seats.iter().copied().map(Seat).collect(), key: key.into() };
    Command { number: None, details, action, ..stand.reserve(user) }
}

/// What the history tells of each sale and cancellation.
async fn told(stand: &Stand, event: EventId, what: Happened) -> Result<Vec<Option<Box<Details>>>, String> {
    let history = stand.ledger.history(event, 0, 1_000).await.map_err(fault)?;
    Ok(history.into_iter().filter(|row| row.what == what).map(|row| row.details).collect())
}

/// In one batch: seats for the first time and again, with and without an order.
async fn sales_carry_their_order(stand: &Stand) -> Verdict {
    let event = stand.event(9, 4).await?.id;
    let with = |user: &str, text: &str| Command { details: order(text), ..stand.reserve(user) };
    let batch = vec![with("a", "A"), stand.reserve("b"), with("c", "C")];
    let sold = stand.commit(event, batch).await?;
    let first = expect_sale(&sold[0])?.reservation.n;
    let cancel = Command { details: because("ill"), ..stand.cancel("a", first) };
    let again = stand.commit(event, vec![cancel, stand.reserve("d"), with("e", "E")]).await?;
    let resold = expect_sale(&again[1])?.seat;
    ensure!(resold == Seat(1), "{resold:?}");
    let standing = stand.ledger.reservations_in(event, None, 99).await.map_err(fault)?;
    let kept: Vec<Option<Metadata>> = standing.iter().map(|r| r.sale.metadata.clone()).collect();
    ensure!(kept == [None, None, Some(metadata("C")), Some(metadata("E"))], "{kept:?}");
    let cancelled = told(stand, event, Happened::Cancelled).await?;
    ensure!(cancelled == [Details::of_cancelled(first, Some(&metadata("A")), Some("ill"))], "{cancelled:?}");
    let reserved = told(stand, event, Happened::Reserved).await?;
    ensure!(reserved == [order("A"), None, order("C"), None, order("E")], "{reserved:?}");
    // A freed seat that is sold again with an order has that one.
    let n = standing[0].sale.n;
    let batch = vec![stand.cancel("d", n), with("f", "F")];
    stand.commit(event, batch).await?;
    let found = stand.ledger.sale_of_seat(event, Seat(1)).await.map_err(fault)?.ok_or("not sold")?;
    ensure!(found.metadata == Some(metadata("F")), "{found:?}");
    let mine = stand.ledger.reservations_of(rules::ids::User::stored("f"), None, 9).await.map_err(fault)?;
    ensure!(mine.iter().any(|r| r.event == event && r.sale.metadata == Some(metadata("F"))), "{mine:?}");
    Ok(())
}

async fn holds_hand_their_metadata_on(stand: &Stand) -> Verdict {
    let event = stand.event(9, 4).await?.id;
    let hold = |user: &str, seats: &[u32], key: u64, details| hold_seats(stand, user, seats, &client_key(key), details);
    let asks = |user: &str, n: u64, ask: Ask, details| Command {
        number: None,
        details,
        action: EventAction::OnHold { n, ask },
        ..stand.reserve(user)
    };
    let held = expect_held(&stand.one(event, hold("a", &[2, 3], 1, order("A"))).await?)?;
    ensure!(held.metadata == Some(metadata("A")), "{held:?}");
    let repeated = expect_held(&stand.one(event, hold("a", &[2, 3], 1, order("other"))).await?)?;
    ensure!(repeated == held, "a repeated request gets the hold as it is: {repeated:?}");
    let plain = expect_held(&stand.one(event, hold("b", &[5], 2, None)).await?)?;
    stand
        .commit(event, vec![asks("a", held.id.n, Ask::Confirm, None), asks("b", plain.id.n, Ask::Confirm, None)])
        .await?;
    let standing = stand.ledger.reservations_in(event, None, 99).await.map_err(fault)?;
    let kept: Vec<Option<Metadata>> = standing.iter().map(|r| r.sale.metadata.clone()).collect();
    ensure!(kept == [Some(metadata("A")), Some(metadata("A")), None], "{kept:?}");
    let begun = told(stand, event, Happened::Held).await?;
    ensure!(begun == [order("A"), None, None], "a hold tells it once: {begun:?}");
    let reserved = told(stand, event, Happened::Reserved).await?;
    ensure!(reserved == [order("A"), order("A"), None], "{reserved:?}");
    // Given back with a reason; begun and given back in one batch too.
    let other = expect_held(&stand.one(event, hold("c", &[6], 3, order("C"))).await?)?;
    stand.one(event, asks("c", other.id.n, Ask::Cancel, because("too dear"))).await?;
    let found = stand.ledger.hold(other.id).await.map_err(fault)?.found.ok_or("no hold")?;
    ensure!(found.reason.as_deref() == Some("too dear") && found.metadata == Some(metadata("C")), "{found:?}");
    let listed = stand.ledger.holds_in(SubjectId::Event(event), 0, 99).await.map_err(fault)?.found;
    let reasons: Vec<Option<&str>> = listed.iter().map(|hold| hold.reason.as_deref()).collect();
    ensure!(reasons == [None, None, Some("too dear")], "{reasons:?}");
    let released = told(stand, event, Happened::Released).await?;
    ensure!(released == [Details::of(Some(&metadata("C")), Some("too dear"))], "{released:?}");
    Ok(())
}

async fn stays_carry_their_order(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 2).await?;
    let wants = rules::room_type::RoomCommand { details: order("H"), ..hotel.wants("a", nights(0, 2), &client_key(1)) };
    let held = expect_held(&hotel.one(wants).await?)?;
    let found = stand.ledger.hold(held.id).await.map_err(fault)?.found.ok_or("no hold")?;
    ensure!(found.metadata == Some(metadata("H")), "{found:?}");
    let Outcome::Done(Done::Confirmed { hold }) = hotel.ask("a", held.id.n, Ask::Confirm).await?.outcome else {
        return Err("not confirmed".into());
    };
    ensure!(hold.metadata == Some(metadata("H")), "{hold:?}");
    let n = *hold.reserved.first().ok_or("no stay")?;
    let stay = stand.ledger.stay(StayId { room_type: hotel.id, n }).await.map_err(fault)?.ok_or("no stay")?;
    ensure!(stay.metadata == Some(metadata("H")), "{stay:?}");
    let plain = hotel.hold("b", nights(0, 2), &client_key(2)).await?;
    let back = hotel.asks("b", plain.id.n, Ask::Cancel);
    hotel.one(rules::room_type::RoomCommand { details: because("rain"), ..back }).await?;
    hotel.one(rules::room_type::RoomCommand { details: because("ill"), ..hotel.cancels("a", n) }).await?;
    let history = stand.ledger.room_history(hotel.id, 0, 99).await.map_err(fault)?;
    let told: Vec<_> = history.iter().map(|row| (row.what, row.details.clone())).collect();
    let wanted = [
        (Happened::Created, None),
        (Happened::Held, order("H")),
        (Happened::Reserved, order("H")),
        (Happened::Held, None),
        (Happened::Released, because("rain")),
        (Happened::Cancelled, Details::of_cancelled(n, Some(&metadata("H")), Some("ill"))),
    ];
    ensure!(told == wanted, "{told:?}");
    let all = stand.ledger.records(Some(SubjectId::RoomType(hotel.id)), None, 99).await.map_err(fault)?;
    ensure!(all.iter().map(|row| row.details.clone()).eq(wanted.into_iter().map(|(_, d)| d)), "{all:?}");
    let id = HoldId { subject: SubjectId::RoomType(hotel.id), n: plain.id.n };
    let found = stand.ledger.hold(id).await.map_err(fault)?.found.ok_or("no hold")?;
    ensure!(found.reason.as_deref() == Some("rain"), "{found:?}");
    Ok(())
}

/// What the event requires is required when a hold becomes a sale; every seat of it has the buyer, and the chain covers it.
async fn confirmations_name_the_buyer(stand: &Stand) -> Verdict {
    let event = stand.event(9, 4).await?.id;
    let asked = AskedFields { email: Some(FieldNeed::Required), phone: Some(FieldNeed::Absent), name: None };
    let amendment = EventAmendment { buyer_fields: Some(Some(asked)), ..EventAmendment::default() };
    stand.one(event, stand.operate(EventAction::Amend(amendment))).await?;
    let confirm = |user: &str, n: u64, email: Option<&str>| {
        let phone = Some("+821012345678".into());
        let otherwise = BuyerFields::PERHAPS_ANY;
        let buyer = Buyer { name: Some("A".into()), phone, email: email.map(Into::into), otherwise };
        let action = EventAction::ConfirmWith { n, buyer: Box::new(buyer) };
        Command { number: None, action, ..stand.reserve(user) }
    };
    let held = expect_held(&stand.one(event, hold_seats(stand, "a", &[2, 3], &client_key(1), None)).await?)?;
    let n = held.id.n;
    expect_refusal(&stand.one(event, confirm("a", n, None)).await?, &FieldError::refused("email", Problem::Missing))?;
    let bad = FieldError::refused("email", Problem::NotAnEmail);
    expect_refusal(&stand.one(event, confirm("a", n, Some("x"))).await?, &bad)?;
    let other = stand.one(event, confirm("b", n, None)).await?;
    expect_refusal(&other, &Refusal::Forbidden(Forbidden::AnothersHold))?;
    let paid = stand.one(event, confirm("a", n, Some("a@b.co"))).await?;
    ensure!(matches!(paid.outcome, Outcome::Done(Done::Confirmed { .. })), "{paid:?}");
    let standing = stand.ledger.reservations_in(event, None, 99).await.map_err(fault)?;
    ensure!(standing.len() == 2, "{standing:?}");
    for sold in &standing {
        let sale = &sold.sale;
        ensure!(sale.buyer_name.as_deref() == Some("A") && sale.email.as_deref() == Some("a@b.co"), "{sale:?}");
        ensure!(sale.phone.is_none(), "what the event does not ask for is not stored: {sale:?}");
    }
    // A service confirms for the owner; the seed's dialect names nobody.
    for (seat, key, buyer) in [(4, 2, Some("c@d.co")), (5, 3, None)] {
        let held = hold_seats(stand, "c", &[seat], &client_key(key), None);
        let held = expect_held(&stand.one(event, held).await?)?;
        let otherwise = BuyerFields::PERHAPS_ANY;
        let buyer = buyer.map(|email| Box::new(Buyer { email: Some(email.into()), otherwise, ..Buyer::default() }));
        let action = EventAction::ConfirmFor { n: held.id.n, owner: held.owner.clone(), buyer };
        let paid = stand.one(event, stand.operate(action)).await?;
        ensure!(matches!(paid.outcome, Outcome::Done(Done::Confirmed { .. })), "{paid:?}");
    }
    let named = stand.ledger.sale_of_seat(event, Seat(4)).await.map_err(fault)?.ok_or("not sold")?;
    ensure!(named.email.as_deref() == Some("c@d.co"), "{named:?}");
    is_whole(stand).await
}

async fn events_say_what_they_ask_for(stand: &Stand) -> Verdict {
    let email = AskedFields { email: Some(FieldNeed::Required), phone: Some(FieldNeed::Absent), name: None };
    let price = Price { amount: "55000".into(), currency: "KRW".into() };
    let (starts_at, time_zone) = (Some(Moment(1_800_000_000_000)), Some("Asia/Seoul".into()));
    let occasion = Occasion { starts_at, time_zone, place: Some("올림픽홀".into()) };
    let new = NewEvent {
        by: AdminName::default(),
        origin: Default::default(),
        name: "Asks".into(),
        hall: Hall::Count(9),
        max_per_user: 4,
        opens_at: None,
        occasion: occasion.clone(),
        waiting_room: None,
        hold_ttl_ms: None,
        buyer_fields: email,
        price: Some(price.clone()),
        rehearsal: true,
    };
    let made = stand.ledger.create_event(new).await.map_err(fault)?;
    ensure!(made.buyer_fields == email && made.price == Some(price) && made.rehearsal, "{made:?}");
    ensure!(made.occasion == occasion, "{made:?}");
    let event = made.id;
    let reserve = |email: Option<&str>| {
        let phone = Some("+821012345678".into());
        let otherwise = BuyerFields::NAME_AND_PHONE;
        let buyer = Buyer { name: Some("A".into()), phone, email: email.map(Into::into), otherwise };
        Command { action: EventAction::Reserve(buyer), ..stand.reserve("a") }
    };
    expect_refusal(&stand.one(event, reserve(None)).await?, &FieldError::refused("email", Problem::Missing))?;
    expect_refusal(&stand.one(event, reserve(Some("x"))).await?, &FieldError::refused("email", Problem::NotAnEmail))?;
    expect_sale(&stand.one(event, reserve(Some("a@b.co"))).await?)?;
    let sold = stand.ledger.sale_of_seat(event, Seat(1)).await.map_err(fault)?.ok_or("not sold")?;
    ensure!(sold.email.as_deref() == Some("a@b.co") && sold.phone.is_none(), "{sold:?}");
    ensure!(sold.buyer_name.as_deref() == Some("A"), "{sold:?}");
    // Back to what the dialect asks for.
    let moved = OccasionAmendment { starts_at: Some(Some(Moment(7))), place: Some(None), ..Default::default() };
    let (buyer_fields, price) = (Some(None), Some(None));
    let amendment = EventAmendment { buyer_fields, price, occasion: moved, ..EventAmendment::default() };
    stand.one(event, stand.operate(EventAction::Amend(amendment))).await?;
    expect_sale(&stand.one(event, reserve(Some("not one"))).await?)?;
    let sold = stand.ledger.sale_of_seat(event, Seat(2)).await.map_err(fault)?.ok_or("not sold")?;
    ensure!(sold.email.is_none() && sold.phone.is_some(), "{sold:?}");
    let found = stand.ledger.event(event).await.map_err(fault)?.ok_or("no event")?;
    ensure!(found.buyer_fields == AskedFields::default() && found.price.is_none() && found.rehearsal, "{found:?}");
    let moved = Occasion { starts_at: Some(Moment(7)), place: None, ..occasion };
    ensure!(found.occasion == moved, "{found:?}");
    Ok(())
}
