//! Webhooks: what an endpoint is told of, and who moves its cursors.

use rules::history::{AdminName, Happened, RequestOrigin};
use rules::holds::Ask;
use rules::subject::SubjectId;
use rules::time::Moment;

use super::hotel::{Hotel, client_key, expect_confirmed, nights};
use super::{Stand, Verdict, expect_sale};
use crate::ensure;
use crate::ledger::LedgerFault;
use crate::ledger::records::LedgerNote;
use crate::ledger::webhooks::{
    DELIVERIES_KEPT, KeptDelivery, NewWebhook, Webhook, WebhookBacklog, WebhookChange, WebhookCursor, WebhookDelivery,
    WebhookDue, WebhookNote, WebhookState, WebhookType,
};

pub async fn chapter(stand: &Stand) -> Verdict {
    endpoint_is_told_from_now_on(stand).await?;
    cursor_moves_once_and_rewinds(stand).await?;
    cursors_of_room_types_count_nothing(stand).await?;
    failures_wait_and_are_forgotten(stand).await?;
    secrets_overlap_and_deliveries_are_few(stand).await
}

fn fault(fault: LedgerFault) -> String {
    fault.to_string()
}

fn note(what: Happened) -> WebhookNote {
    let (by, origin) = (Some(AdminName::default()), RequestOrigin::default());
    Some(LedgerNote { what, by, owner: None, origin, detail: Some("webhook 1".into()) })
}

async fn noted(stand: &Stand) -> Result<Vec<Happened>, String> {
    let rows = stand.ledger.records(Some(SubjectId::Ledger), None, 1_000).await.map_err(fault)?;
    Ok(rows.iter().map(|row| row.what).collect())
}

const SERVER: &str = "server-1";

async fn endpoint(stand: &Stand) -> Result<Webhook, String> {
    let new = NewWebhook {
        url: "https://shop.example/".into(),
        types: vec![WebhookType::HoldExpired, WebhookType::EventOpened],
        enabled: true,
        secret: vec![7; 32],
        by: AdminName::default(),
    };
    let made = stand.ledger.create_webhook(new, None).await.map_err(fault)?;
    let leased = stand.ledger.lease_webhook(made.id, SERVER.into(), 60_000).await.map_err(fault)?;
    ensure!(leased, "nobody else has it");
    Ok(made)
}

async fn due(stand: &Stand, id: i64) -> Result<Vec<WebhookDue>, String> {
    stand.ledger.webhook_due(id, 100).await.map_err(fault)
}

async fn endpoint_is_told_from_now_on(stand: &Stand) -> Verdict {
    let before = stand.event(3, 1).await?.id;
    stand.commit(before, vec![stand.reserve("a")]).await?;
    let made = endpoint(stand).await?;
    let found = stand.ledger.webhooks().await.map_err(fault)?;
    ensure!(found.contains(&made), "{found:?}");
    let old = due(stand, made.id).await?;
    ensure!(old.is_empty(), "{old:?}");
    let nothing = stand.ledger.webhook_outstanding(made.id).await.map_err(fault)?;
    ensure!(nothing == WebhookBacklog::default(), "{nothing:?}");
    stand.commit(before, vec![stand.reserve("b")]).await?;
    let after = stand.event(3, 1).await?;
    let news = due(stand, made.id).await?;
    let known = WebhookDue {
        subject: SubjectId::Event(before),
        cursor: WebhookCursor { n: 2, sold: 1, opened: news[0].cursor.opened, rewound: 0, attempts: 0 },
        newest: 3,
    };
    let new =
        WebhookDue { subject: SubjectId::Event(after.id), cursor: WebhookCursor::default(), newest: news[1].newest };
    ensure!(news == [known, new] && news[0].cursor.opened.is_some(), "{news:?}");
    let rows = stand.ledger.records(Some(SubjectId::Event(before)), None, 10).await.map_err(fault)?;
    let outstanding = stand.ledger.webhook_outstanding(made.id).await.map_err(fault)?;
    let wanted = WebhookBacklog { rows: 2, oldest: Some(rows[2].at) };
    ensure!(rows.len() == 3 && outstanding == wanted, "{outstanding:?}");
    ensure!(stand.ledger.delete_webhook(made.id, None).await.map_err(fault)?, "it was there");
    ensure!(!stand.ledger.delete_webhook(made.id, None).await.map_err(fault)?, "and is gone");
    Ok(())
}

async fn cursor_moves_once_and_rewinds(stand: &Stand) -> Verdict {
    let made = endpoint(stand).await?;
    let event = stand.event(3, 1).await?.id;
    let subject = SubjectId::Event(event);
    let sold = stand.commit(event, vec![stand.reserve("a"), stand.reserve("b")]).await?;
    let first = expect_sale(&sold[0])?.reservation.n;
    stand.commit(event, vec![stand.cancel("a", first)]).await?;
    let opened = Some(Moment(1));
    let cursor = WebhookCursor { n: 4, sold: 1, opened, ..WebhookCursor::default() };
    let told = |cursor| stand.ledger.move_cursor(made.id, SERVER.into(), subject, cursor, None);
    let rewound = stand.ledger.rewind_webhook(made.id, subject, 0, None).await.map_err(fault)?;
    ensure!(rewound, "it may be told for the first time right now");
    ensure!(told(cursor).await.map_err(fault)?.is_none(), "what was read before the rewind moves nothing");
    let cursor = WebhookCursor { rewound: 1, ..cursor };
    ensure!(told(cursor).await.map_err(fault)?.is_some(), "the first move");
    let rewound = stand.ledger.rewind_webhook(made.id, subject, 2, None).await.map_err(fault)?;
    ensure!(rewound, "it has that many rows");
    ensure!(told(cursor).await.map_err(fault)?.is_none(), "a cursor from before the rewind is refused");
    let again = due(stand, made.id).await?;
    let wanted = WebhookCursor { n: 2, sold: 1, opened, rewound: 2, attempts: 0 };
    ensure!(again == [WebhookDue { subject, cursor: wanted, newest: 4 }], "{again:?}");
    for (subject, after) in [(subject, 5), (SubjectId::of_row(987_654), 1), (SubjectId::of_row(-987_654), 1)] {
        let rewound = stand.ledger.rewind_webhook(made.id, subject, after, None).await.map_err(fault)?;
        ensure!(!rewound, "{subject} has no row {after}");
    }
    ensure!(stand.ledger.delete_webhook(made.id, None).await.map_err(fault)?, "it was there");
    Ok(())
}

/// Seats that were sold are counted for events only: what was sold of a room type is not behind its cursor.
async fn cursors_of_room_types_count_nothing(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 3).await?;
    let subject = SubjectId::RoomType(hotel.id);
    let stays = async |user: &str, n: u64| {
        let held = hotel.hold(user, nights(0, 2), &client_key(n)).await?;
        expect_confirmed(&hotel.ask(user, held.id.n, Ask::Confirm).await?)
    };
    stays("a", 1).await?;
    let made = endpoint(stand).await?;
    hotel.one(hotel.cancels("b", stays("b", 2).await?)).await?;
    stays("c", 3).await?;
    let newest = stand.ledger.room_type(hotel.id).await.map_err(fault)?.ok_or("no room type")?.n;
    for (rewound, after) in [(1, 3), (2, 0)] {
        ensure!(stand.ledger.rewind_webhook(made.id, subject, after, None).await.map_err(fault)?, "it has such a row");
        let again = due(stand, made.id).await?;
        let cursor = WebhookCursor { n: after, rewound, ..WebhookCursor::default() };
        ensure!(again == [WebhookDue { subject, cursor, newest }], "after {after}: {again:?}");
    }
    ensure!(stand.ledger.delete_webhook(made.id, None).await.map_err(fault)?, "it was there");
    Ok(())
}

async fn failures_wait_and_are_forgotten(stand: &Stand) -> Verdict {
    let made = endpoint(stand).await?;
    let subject = SubjectId::Event(stand.event(3, 1).await?.id);
    let fails = |attempts| {
        let cursor = WebhookCursor { attempts, ..WebhookCursor::default() };
        stand.ledger.move_cursor(made.id, SERVER.into(), subject, cursor, Some(5_000))
    };
    let first = fails(1).await.map_err(fault)?.ok_or("not moved")?;
    // A database may read its clock twice.
    ensure!(first.failing_since.is_some_and(|since| since <= first.now), "{first:?}");
    ensure!(due(stand, made.id).await?.is_empty(), "it waits");
    (stand.advance)(5_000);
    ensure!(due(stand, made.id).await?.len() == 1, "it is due");
    let second = fails(2).await.map_err(fault)?.ok_or("not moved")?;
    ensure!(second.failing_since == first.failing_since && second.now > first.now, "{second:?}");
    (stand.advance)(5_000);
    let anew = fails(1).await.map_err(fault)?.ok_or("not moved")?;
    ensure!(anew.failing_since > first.failing_since, "something was delivered in between: {anew:?}");
    let state = |state, why: Option<&str>| {
        let change = WebhookChange { state: Some((state, why.map(Into::into))), ..WebhookChange::default() };
        stand.ledger.change_webhook(made.id, change, None)
    };
    ensure!(state(WebhookState::Failing, Some("down")).await.map_err(fault)?, "it is there");
    ensure!(state(WebhookState::Enabled, None).await.map_err(fault)?, "it is there");
    let again = due(stand, made.id).await?;
    ensure!(again.len() == 1 && again[0].cursor.attempts == 0, "{again:?}");
    ensure!(stand.ledger.delete_webhook(made.id, None).await.map_err(fault)?, "it was there");
    Ok(())
}

async fn secrets_overlap_and_deliveries_are_few(stand: &Stand) -> Verdict {
    let before = noted(stand).await?.len();
    let made = endpoint(stand).await?;
    let rotated = stand
        .ledger
        .rotate_webhook(made.id, vec![8; 32], 60_000, note(Happened::WebhookRotated))
        .await
        .map_err(fault)?;
    ensure!(rotated, "it is there");
    let found = stand.ledger.webhooks().await.map_err(fault)?;
    let found = found.into_iter().find(|webhook| webhook.id == made.id).ok_or("no endpoint")?;
    let old = found.old_secret.as_ref().map(|(secret, _)| secret.clone());
    ensure!((&found.secret, old) == (&vec![8; 32], Some(vec![7; 32])), "{found:?}");
    let delivery = |n: u64| WebhookDelivery {
        subject: (n > 0).then_some(SubjectId::of_row(-7)),
        n,
        kind: "hold.expired".into(),
        message: format!("msg_{n}"),
        at: Moment(5),
        took_ms: 3,
        status: n.is_multiple_of(2).then_some(204),
        error: (n % 2 == 1).then(|| "down".into()),
    };
    for some in (0..DELIVERIES_KEPT as u64 * 2).collect::<Vec<_>>().chunks(50) {
        let some = some.iter().map(|n| delivery(*n)).collect();
        stand.ledger.keep_deliveries(made.id, some).await.map_err(fault)?;
    }
    // In pages, as lists are read.
    let mut kept: Vec<KeptDelivery> = Vec::new();
    loop {
        let before = kept.last().map(|last| last.seq);
        let page = stand.ledger.deliveries(made.id, before, 33).await.map_err(fault)?;
        if page.is_empty() {
            break;
        }
        kept.extend(page);
    }
    ensure!(kept.is_sorted_by(|newer, older| newer.seq > older.seq), "newest first");
    let kept: Vec<WebhookDelivery> = kept.into_iter().map(|kept| kept.made).collect();
    let most = DELIVERIES_KEPT as usize + 50;
    ensure!((DELIVERIES_KEPT as usize..=most).contains(&kept.len()), "{}", kept.len());
    let newest: Vec<WebhookDelivery> =
        (0..kept.len() as u64).map(|i| delivery(DELIVERIES_KEPT as u64 * 2 - 1 - i)).collect();
    ensure!(kept == newest, "{:?}", kept.first());
    ensure!(stand.ledger.delete_webhook(made.id, note(Happened::WebhookDeleted)).await.map_err(fault)?, "it was there");
    let kept = stand.ledger.deliveries(made.id, None, 1_000).await.map_err(fault)?;
    ensure!(kept.is_empty(), "{}", kept.len());
    let gone = stand.ledger.rotate_webhook(made.id, vec![8; 32], 0, note(Happened::WebhookRotated)).await;
    ensure!(!gone.map_err(fault)?, "it is gone");
    let noted = noted(stand).await?;
    let told = noted.len() - before;
    ensure!(noted[before..] == [Happened::WebhookRotated, Happened::WebhookDeleted], "{told} rows: {noted:?}");
    Ok(())
}
