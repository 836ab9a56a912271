//! The end of personal data: the text is gone, and seats, counts, history and chain are as true as before.

use rules::history::{AdminName, Happened, RequestOrigin};
use rules::ids::{EventId, User};
use rules::subject::SubjectId;

use super::chain::{is_whole, rows};
use super::{Stand, Verdict, expect_sale, with_key};
use crate::ensure;
use crate::ledger::LedgerFault;
use crate::ledger::personal::ERASED_MOST;
use crate::ledger::records::LedgerNote;
use crate::ledger::tidy::Aged;

const DAY_MS: i64 = 86_400_000;

pub async fn chapter(stand: &Stand) -> Verdict {
    one_person(stand).await?;
    by_age(stand).await
}

fn words(fault: LedgerFault) -> String {
    fault.to_string()
}

/// Who has a name or a phone in an event.
async fn named(stand: &Stand, event: EventId) -> Result<Vec<String>, String> {
    let sold = stand.ledger.reservations_in(event, None, 1_000).await.map_err(words)?;
    let named = sold.into_iter().filter(|one| one.sale.buyer_name.is_some() || one.sale.phone.is_some());
    Ok(named.filter_map(|one| one.sale.owner.map(|owner| owner.user.as_str().to_owned())).collect())
}

async fn one_person(stand: &Stand) -> Verdict {
    let event = stand.event(9, 3).await?.id;
    let first = stand.one(event, with_key(stand.reserve("erin"), "k", 1)).await?;
    let first = expect_sale(&first)?.reservation.n;
    stand.commit(event, vec![stand.reserve("erin"), stand.reserve("frank")]).await?;
    stand.one(event, stand.cancel("erin", first)).await?;
    let erin = User::stored("erin");
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = stand.ledger.personal_rows(erin.clone(), after).await.map_err(words)?;
        found.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let here = found.iter().filter(|(subject, _)| *subject == SubjectId::Event(event)).count();
    ensure!(here == 3, "{here} rows of erin instead of 3");
    let mut erased = 0;
    for step in found.chunks(ERASED_MOST) {
        erased += stand.ledger.erase_rows(step.to_vec()).await.map_err(words)?;
    }
    ensure!(erased == found.len() as u64, "{erased} of {} rows were erased", found.len());
    let note = LedgerNote {
        what: Happened::Erased,
        by: Some(AdminName::default()),
        owner: Some(erin.clone()),
        origin: RequestOrigin::default(),
        detail: Some("3 rows".into()),
    };
    let beside = stand.ledger.end_erasure(erin.clone(), note).await.map_err(words)?;
    ensure!((beside.sales, beside.answers) == (1, 1), "{beside:?}");
    ensure!(named(stand, event).await? == ["frank"], "somebody else lost a name, or erin did not");
    for row in rows(stand, SubjectId::Event(event)).await? {
        let hers = row.owner.as_ref() == Some(&erin);
        ensure!(row.erased == hers, "{row:?}");
        ensure!(row.address.is_none() == (hers || row.what == Happened::Created), "{row:?}");
    }
    let again = stand.ledger.erase_rows(found).await.map_err(words)?;
    ensure!(again == 0, "{again} rows were erased twice");
    is_whole(stand).await?;
    let (looked, _) = stand.ledger.audit().await.map_err(words)?;
    ensure!(looked.chain.erased >= 3, "{:?}", looked.chain);
    let counts = stand.ledger.event(event).await.map_err(words)?.map(|event| event.counts.sold);
    ensure!(counts == Some(2), "{counts:?} are sold");
    // Who was erased may buy again.
    expect_sale(&stand.one(event, stand.reserve("erin")).await?)?;
    is_whole(stand).await
}

/// In steps, oldest first; what is younger stays.
async fn by_age(stand: &Stand) -> Verdict {
    let event = stand.event(9, 1).await?.id;
    stand.commit(event, vec![stand.reserve("old-1"), stand.reserve("old-2")]).await?;
    (stand.advance)(2 * DAY_MS);
    stand.one(event, stand.reserve("new")).await?;
    for _ in 0..1_000 {
        let tidied = stand.ledger.tidy(Aged::Personal, DAY_MS, 100).await.map_err(words)?;
        ensure!(tidied.personal <= 100, "{} rows in a step of 100", tidied.personal);
        if tidied.personal == 0 {
            break;
        }
    }
    ensure!(named(stand, event).await? == ["new"], "{:?} have names", named(stand, event).await?);
    let kept: Vec<bool> = rows(stand, SubjectId::Event(event)).await?.iter().map(|row| row.address.is_some()).collect();
    ensure!(kept == [false, false, false, true], "{kept:?}");
    is_whole(stand).await
}
