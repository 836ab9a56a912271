//! Reading: exact seats, snapshots that match their history number, pages that do not shift.

use rules::ids::{ReservationId, Seat, User};
use rules::subject::SubjectId;

use super::{Stand, Verdict, expect_sale, sale_times};
use crate::ensure;
use crate::ledger::LedgerFault;

pub async fn chapter(stand: &Stand) -> Verdict {
    sale_times::first_and_last_sale_are_known(stand).await?;
    let fault = |f: LedgerFault| f.to_string();
    let ledger = &stand.ledger;
    let event = stand.event(10, 3).await?.id;
    let mut sales = Vec::new();
    for user in ["reader-a", "reader-b", "reader-a", "reader-c", "reader-a"] {
        sales.push(expect_sale(&stand.one(event, stand.reserve(user)).await?)?);
    }
    stand.one(event, stand.cancel("reader-b", sales[1].reservation.n)).await?;

    let snapshot = ledger.snapshot(event).await.map_err(fault)?;
    ensure!(snapshot.sold == [1, 3, 4, 5].map(Seat), "snapshot {:?}", snapshot.sold);
    let row = ledger.event(event).await.map_err(fault)?.ok_or("no event")?;
    ensure!(snapshot.n == row.counts.n && snapshot.seat_count == 10, "{snapshot:?} of {row:?}");

    let seat = ledger.sale_of_seat(event, Seat(1)).await.map_err(fault)?.ok_or("seat 1 is sold")?;
    ensure!(seat.owner.as_ref().is_some_and(|o| o.user.as_str() == "reader-a"), "{seat:?}");
    ensure!(seat.phone.as_deref() == Some("+821012345678") && seat.buyer_name.as_deref() == Some("Tester"), "{seat:?}");
    ensure!(ledger.sale_of_seat(event, Seat(2)).await.map_err(fault)?.is_none(), "seat 2 came back");
    ensure!(ledger.sale_of_seat(event, Seat(9)).await.map_err(fault)?.is_none(), "seat 9 was never sold");

    let found = ledger.reservation(sales[0].reservation).await.map_err(fault)?.ok_or("it stands")?;
    ensure!(found.sale == seat, "{found:?} is not {seat:?}");
    ensure!(ledger.reservation(sales[1].reservation).await.map_err(fault)?.is_none(), "a cancelled one stands");
    let none = ReservationId { event, n: 1 };
    ensure!(ledger.reservation(none).await.map_err(fault)?.is_none(), "the making of the event is no reservation");

    let user = User::stored("reader-a");
    let first = ledger.reservations_of(user.clone(), None, 2).await.map_err(fault)?;
    let seats = |page: &[crate::ledger::Reservation]| page.iter().map(|r| r.sale.seat.0).collect::<Vec<_>>();
    ensure!(seats(&first) == [1, 3], "a's first page {:?}", seats(&first));
    let rest = ledger.reservations_of(user, Some((event, Seat(3))), 2).await.map_err(fault)?;
    ensure!(seats(&rest) == [5], "a's second page {:?}", seats(&rest));
    let next = stand.event(10, 3).await?.id;
    expect_sale(&stand.one(next, stand.reserve("reader-a")).await?)?;
    // Seats are numbered from 1, up to where a caller may say.
    for (after, wanted) in
        [((event, Seat(5)), &[1][..]), ((event, Seat(u32::MAX)), &[1]), ((next, Seat(0)), &[1]), ((next, Seat(1)), &[])]
    {
        let page = ledger.reservations_of(User::stored("reader-a"), Some(after), 9).await.map_err(fault)?;
        ensure!(seats(&page) == wanted, "a's page after {after:?}: {:?}", seats(&page));
        ensure!(page.iter().all(|one| one.event == next), "a's page after {after:?} begins elsewhere");
    }
    let none = ledger.reservations_in(event, Some(Seat(u32::MAX)), 9).await.map_err(fault)?;
    ensure!(none.is_empty(), "seats behind every seat: {:?}", seats(&none));
    let beyond = ledger.sale_of_seat(event, Seat(u32::MAX)).await.map_err(fault)?;
    ensure!(beyond.is_none(), "a seat that there is not: {beyond:?}");
    let page = ledger.reservations_in(event, Some(Seat(1)), 2).await.map_err(fault)?;
    ensure!(seats(&page) == [3, 4], "the event's page {:?}", seats(&page));

    let tail = ledger.history(event, row.counts.n - 1, 10).await.map_err(fault)?;
    ensure!(tail.len() == 1 && tail[0].seat == Some(Seat(2)), "the newest change is the cancellation: {tail:?}");
    let gone = SubjectId::Event(rules::ids::EventId(event.0 + 1_000_000));
    let known = SubjectId::Event(event);
    let positions = ledger.positions(vec![gone, known]).await.map_err(fault)?;
    ensure!(positions == [(known, row.counts.n)], "the position of an event: {positions:?}");
    let events = ledger.events(false, Some(rules::ids::EventId(event.0 - 1)), 1).await.map_err(fault)?;
    ensure!(events.first() == Some(&row), "the list shows {events:?}");
    Ok(())
}
