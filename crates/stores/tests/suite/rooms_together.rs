//! Batches of several room types that PostgreSQL is given in one transaction.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rules::history::Happened;
use rules::holds::Ask;
use rules::outcome::Refusal;
use stores::conformance::hotel::{Hotel, HotelReply, client_key, expect_confirmed, expect_held, nights};
use stores::conformance::{Stand, refusal};
use stores::ledger::LedgerFault;
use stores::ledger::postgres::PlantedBug as Planted;
use testing::database::Database;
use testing::proxy::{Cut, Proxy};
use testing::stands::postgres_stand;

use crate::rooms::insist;

async fn hotels(stand: &Stand, count: usize) -> Vec<Hotel> {
    let mut hotels = Vec::with_capacity(count);
    for _ in 0..count {
        hotels.push(Hotel::open(stand, 1).await.unwrap());
    }
    hotels
}

async fn audit(hotels: &[Hotel]) {
    for hotel in hotels {
        hotel.audit(&[], nights(0, 4)).await.unwrap();
    }
}

/// Each has one room: one of two gets it, whatever else is in the transaction.
#[tokio::test(flavor = "multi_thread")]
async fn many_room_types_share_a_transaction() {
    let database = Database::fresh().await;
    let hotels = hotels(&postgres_stand(&database).await, 60).await;
    let wanted = hotels.iter().map(|hotel| async move {
        let two = ["alice", "bob"].map(|user| hotel.wants(user, nights(0, 2), &client_key(user.len() as u64)));
        hotel.batch(two.into()).await.unwrap()
    });
    let answers = join_all(wanted).await;
    let transactions = "SELECT count(DISTINCT xmin::text) FROM history WHERE what = 'held'";
    let transactions: i64 = database.connect().await.query_one(transactions, &[]).await.unwrap().get(0);
    assert!((1..=20).contains(&transactions), "{transactions} transactions for 60 room types");
    let confirmed = hotels.iter().zip(&answers).map(|(hotel, two)| async move {
        let hold = expect_held(&two[0]).unwrap();
        assert!(matches!(refusal(&two[1]), Some(Refusal::NotAvailable { .. })), "{:?}", two[1]);
        expect_confirmed(&hotel.ask("alice", hold.id.n, Ask::Confirm).await.unwrap()).unwrap()
    });
    let stays = join_all(confirmed).await;
    audit(&hotels).await;
    let cancelled = hotels.iter().zip(&stays).map(|(hotel, stay)| hotel.one(hotel.cancels("alice", *stay)));
    for answer in join_all(cancelled).await {
        assert_eq!(refusal(&answer.unwrap()), None);
    }
    for hotel in &hotels {
        assert_eq!(hotel.free(nights(0, 1)).await.unwrap()[0].free(), 1);
    }
    audit(&hotels).await;
}

/// A room type whose row is locked waits for it alone.
#[tokio::test(flavor = "multi_thread")]
async fn locked_room_type_delays_no_other() {
    let database = Database::fresh().await;
    let hotels = hotels(&postgres_stand(&database).await, 20).await;
    let other = database.connect().await;
    let lock = format!("BEGIN; SELECT FROM room_type WHERE id = {} FOR UPDATE", hotels[7].id);
    other.batch_execute(&lock).await.unwrap();
    let began = Instant::now();
    let asked = hotels.iter().map(|hotel| async move {
        let answers = hotel.batch(vec![hotel.wants("alice", nights(0, 1), &client_key(1))]).await;
        (answers, began.elapsed())
    });
    for (i, (answers, took)) in join_all(asked).await.into_iter().enumerate() {
        if i == 7 {
            assert_eq!(answers.unwrap_err(), LedgerFault::Locked);
            assert!(took >= Duration::from_millis(900), "{took:?}");
        } else {
            expect_held(&answers.unwrap()[0]).unwrap();
            assert!(took < Duration::from_millis(900), "{i} waited {took:?}");
        }
    }
    other.batch_execute("ROLLBACK").await.unwrap();
    hotels[7].hold("alice", nights(0, 1), &client_key(1)).await.unwrap();
    audit(&hotels).await;
}

/// What the database refuses for one room type fails for no other.
#[tokio::test(flavor = "multi_thread")]
async fn refused_hold_fails_alone_among_room_types() {
    let database = Database::fresh().await;
    let hotels = hotels(&postgres_stand(&database).await, 20).await;
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON hold FOR EACH ROW WHEN (NEW.owner = 'u7')
                  EXECUTE FUNCTION refuse('poison')";
    database.connect().await.batch_execute(poison).await.unwrap();
    let asked = hotels.iter().enumerate().map(|(i, hotel)| async move {
        hotel.one(hotel.wants(&format!("u{i}"), nights(0, 3), &client_key(i as u64))).await.unwrap()
    });
    for (i, answer) in join_all(asked).await.iter().enumerate() {
        assert_eq!(refusal(answer), (i == 7).then_some(&Refusal::Internal), "{i}");
    }
    audit(&hotels).await;
}

/// The wire is cut at every third COMMIT, before it arrives or after it was forwarded: one look at one
/// room type tells what became of all of them.
#[tokio::test(flavor = "multi_thread")]
async fn shared_transactions_survive_connections_cut_at_commit() {
    for forwarded_after in [None, Some(Duration::from_millis(60))] {
        let database = Database::fresh().await;
        let wire = Proxy::to(database.port()).await;
        let through = database.url_through(wire.port());
        let hotels = hotels(&crate::planted::stand(&through, Planted::None).await, 12).await;
        wire.cut(Some(Cut { word: b"COMMIT\0", every: 3, forwarded_after }));
        let mut told: Vec<Vec<HotelReply>> = hotels.iter().map(|_| Vec::new()).collect();
        for i in 0..4 {
            let user = format!("u{i}");
            let asked =
                hotels.iter().map(|hotel| insist(hotel, hotel.wants(&user, nights(i, 1), &client_key(i as u64))));
            let held = join_all(asked).await;
            let held: Vec<u64> = held.iter().map(|answer| expect_held(answer).unwrap().id.n).collect();
            let paid = hotels.iter().zip(&held).map(|(hotel, n)| insist(hotel, hotel.asks(&user, *n, Ask::Confirm)));
            for (i, answer) in join_all(paid).await.iter().enumerate() {
                expect_confirmed(answer).unwrap();
                told[i].push(HotelReply { hold: held[i], end: Some(Happened::Reserved) });
            }
        }
        wire.cut(None);
        assert!(wire.fired() >= 2, "only {} commits were cut", wire.fired());
        tokio::time::sleep(Duration::from_millis(300)).await;
        let good = crate::planted::stand(&database.url, Planted::None).await;
        for (hotel, told) in hotels.into_iter().zip(&told) {
            Hotel { stand: good.clone(), ..hotel }.audit(told, nights(0, 4)).await.unwrap();
        }
    }
}
