//! PostgreSQL with the door in the process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rules::ids::Seat;
use rules::outcome::Refusal;
use stores::conformance::broken::{LedgerBug, broken};
use stores::conformance::{CHAPTERS, expect_sale, refusal, sale};
use stores::ledger::postgres::NotPrepared;
use stores::ledger::{Ledger, LedgerFault};
use testing::database::{self, Database};
use testing::stands::{PostgresStand, postgres_stand, prepared};

use crate::{complaints, first_complaint};

#[tokio::test(flavor = "multi_thread")]
async fn passes_every_chapter() {
    let kept = PostgresStand::fresh().await;
    assert_eq!(complaints(&kept.stand).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_ledger_is_noticed() {
    for bug in LedgerBug::ALL {
        let kept = PostgresStand::fresh().await;
        let bad = kept.stand.with_ledger(broken(bug, kept.stand.ledger.clone()));
        let noticed = first_complaint(&bad).await;
        let words = noticed.unwrap_or_else(|| panic!("{bug:?} went unnoticed by {} chapters", CHAPTERS.len()));
        println!("{bug:?}: {words}");
    }
}

/// 22021 for a name that PostgreSQL cannot store, 23000 from a trigger: both fail alone.
#[tokio::test(flavor = "multi_thread")]
async fn two_refused_requests_of_500_fail_alone() {
    let kept = PostgresStand::fresh().await;
    let event = kept.stand.event(600, 1).await.unwrap().id;
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON taken FOR EACH ROW WHEN (NEW.owner = 'poison')
                  EXECUTE FUNCTION refuse('poison')";
    kept.database.connect().await.batch_execute(poison).await.unwrap();
    let name = |i| match i {
        250 => "poison".to_owned(),
        333 => "nul\u{0}".to_owned(),
        i => format!("u{i}"),
    };
    let users: Vec<String> = (0..500).map(name).collect();
    let answers = kept.stand.commit(event, users.iter().map(|u| kept.stand.reserve(u)).collect()).await.unwrap();
    for (user, answer) in users.iter().zip(&answers) {
        match user.as_str() {
            "poison" | "nul\u{0}" => assert_eq!(refusal(answer), Some(&Refusal::Internal)),
            _ => assert!(sale(answer).is_some(), "{user}: {answer:?}"),
        }
    }
    let told: Vec<_> = users.into_iter().zip(&answers).filter_map(|(u, a)| Some((u, sale(a)?.clone()))).collect();
    assert_eq!(told.len(), 498);
    stores::conformance::audit(&kept.stand, event, &told, &[]).await.unwrap();
}

/// Bob holds seat 3.
const HELD: &str = "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, hold, ends_at)
                    VALUES (1, 3, 3, 'held', 'bob', 1, 2, 1, 0, 7, 9)";

/// The constraints alone refuse it, without the code above them.
#[tokio::test(flavor = "multi_thread")]
async fn constraints_refuse_violations() {
    let database = Database::fresh().await;
    let db = database.connect().await;
    let event = "INSERT INTO event (id, name, seat_count, max_per_user, state, created_at, changed_at, n)
                 VALUES (1, 'x', 3, 2, 'open', 0, 0, 1);
                 INSERT INTO history (event, n, what, at, hash) VALUES (1, 1, 'created', 0, sha256('x'))";
    db.batch_execute(event).await.unwrap();
    let sell = |seat: u32, owner: &str, unit: u32, limit: u32| {
        format!(
            "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at)
             VALUES (1, {seat}, 3, 'sold', '{owner}', {unit}, {limit}, 1, 0)"
        )
    };
    db.batch_execute(&sell(1, "alice", 1, 2)).await.unwrap();
    for (what, statement) in [
        ("a second owner of a seat", sell(1, "bob", 1, 2)),
        ("the same unit twice", sell(2, "alice", 1, 2)),
        ("a unit beyond the limit", sell(2, "alice", 3, 2)),
        ("a seat outside the hall", sell(4, "carol", 1, 2)),
        (
            "a seat of no hall",
            "INSERT INTO taken (event, seat, kind, owner, unit, unit_limit, n, at)
             VALUES (1, 2, 'sold', 'carol', 1, 2, 1, 0)"
                .into(),
        ),
        ("a sold seat given to another", "UPDATE taken SET owner = 'bob' WHERE seat = 1".into()),
        ("a seat's row deleted", "DELETE FROM taken".into()),
        ("every row deleted", "TRUNCATE taken".into()),
        ("more sold than there are", "UPDATE event SET sold = 4, \"cursor\" = 4".into()),
        ("a cursor beyond the rows", "UPDATE event SET sold = 1, \"cursor\" = 2".into()),
        ("a sold seat held", "UPDATE taken SET kind = 'held', hold = 9, ends_at = 9 WHERE seat = 1".into()),
        (
            "a held seat of nobody",
            "INSERT INTO taken (event, seat, hall_seats, kind, n, at, hold, ends_at) VALUES (1, 2, 3, 'held', 1, 0, 1, 9)"
                .into(),
        ),
        (
            "a held seat sold to another",
            format!("{HELD}; UPDATE taken SET kind = 'sold', ends_at = NULL, owner = 'eve' WHERE seat = 3"),
        ),
        (
            "a held seat sold by another hold",
            format!("{HELD}; UPDATE taken SET kind = 'sold', ends_at = NULL, hold = 8 WHERE seat = 3"),
        ),
        ("a held seat with another hold", format!("{HELD}; UPDATE taken SET hold = 8 WHERE seat = 3")),
        ("history changed", "UPDATE history SET at = 1".into()),
        ("history deleted", "DELETE FROM history".into()),
        ("history emptied", "TRUNCATE history".into()),
        ("one number, two rows", "INSERT INTO history (event, n, what, at) VALUES (1, 1, 'again', 0)".into()),
    ] {
        let refused = db.batch_execute(&statement).await.expect_err(what);
        assert!(refused.code().unwrap().code().starts_with("23"), "{what}: {refused:?}");
    }
    let shown = db.query("SELECT id, status, reserved_by, phone, created_at::text, updated_at::text FROM seats", &[]);
    let shown = shown.await.unwrap();
    let taken: Vec<(i32, bool)> = shown.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(taken, [(1, true), (2, false), (3, false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_servers_prepare_an_empty_database_at_once() {
    let database = Database::bare().await;
    let ledgers: Vec<_> = (0..8).map(|_| database::ledger(&database.url, Default::default())).collect();
    let mut running = Vec::new();
    for ledger in ledgers {
        running.push(tokio::spawn(async move {
            ledger.prepare().await.unwrap();
            ledger.named().get().unwrap()
        }));
    }
    let mut ids = Vec::new();
    for task in running {
        ids.push(task.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "one database, one ledger: {ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_format_is_refused() {
    let database = Database::fresh().await;
    let future = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
                  VALUES (999, 'of_the_future', '2030-01-01T00:00:00Z', '1')";
    database.connect().await.batch_execute(future).await.unwrap();
    let refused = database::ledger(&database.url, Default::default()).prepare().await.unwrap_err();
    let NotPrepared::Unfit(why) = refused else { panic!("{refused:?}") };
    assert!(why.contains("a format that this version does not know"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_database_is_retried_and_refusal_is_final() {
    let nobody = format!("postgres://postgres@127.0.0.1:{}/x?sslmode=disable", testing::free_port());
    let ledger = database::ledger(&nobody, Default::default());
    assert!(matches!(ledger.prepare().await, Err(NotPrepared::Unreachable(_))));
    assert!(matches!(ledger.ready().await, Err(LedgerFault::Unreachable(_))));
    let database = Database::bare().await;
    let missing = database.url.replace(&database.name, "no_such_database");
    let refused = database::ledger(&missing, Default::default()).prepare().await;
    assert!(matches!(refused, Err(NotPrepared::Unfit(_))), "{refused:?}");
}

/// A failed handshake names the settings that decide about it, at the start and in `/readyz`.
#[tokio::test(flavor = "multi_thread")]
async fn failed_tls_handshake_names_the_setting() {
    let database = Database::bare().await;
    let plain = database.url.replace("sslmode=disable", "sslmode=require");
    let folder = testing::folder::TestFolder::new("tls");
    let port = tls_server(folder.path());
    let stranger = folder.path().join("other.crt").display().to_string();
    let unknown = format!("postgres://postgres@localhost:{port}/x?sslmode=verify-full&sslrootcert={stranger}");
    let own = unknown.replace("other.crt", "server.crt");
    for (url, settings) in [
        (plain, ["sslmode=disable in DATABASE_URL", "ssl = on"]),
        (unknown, ["sslrootcert names the authority", "sslmode=require"]),
        (own.replace("localhost", "127.0.0.1"), ["host must be the name in it", "sslmode=require"]),
    ] {
        let ledger = database::ledger(&url, Default::default());
        let Err(NotPrepared::Unreachable(why)) = ledger.prepare().await else { panic!("connected to {url}") };
        let Err(LedgerFault::Unreachable(shown)) = ledger.ready().await else { panic!("connected to {url}") };
        for words in settings {
            assert!(why.contains(words) && shown.contains(words), "{url}: {why}; {shown}");
        }
    }
    // With the right authority and name the handshake succeeds; nobody speaks PostgreSQL behind it.
    let Err(NotPrepared::Unreachable(why)) = database::ledger(&own, Default::default()).prepare().await else {
        panic!("this is no PostgreSQL")
    };
    assert!(!why.contains("sslrootcert"), "{why}");
}

/// Accepts TLS as PostgreSQL does, with a certificate for `localhost`, and closes. Another one in `other.crt`.
fn tls_server(folder: &std::path::Path) -> u16 {
    use std::io::{Read, Write};

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    for name in ["server", "other"] {
        let arguments = format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key -out {name}.crt -days 2 \
             -subj /CN={name} -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE"
        );
        let mut openssl = std::process::Command::new("openssl");
        let made = openssl.current_dir(folder).args(arguments.split(' ')).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let certificate = CertificateDer::from_pem_file(folder.join("server.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut asks = [0; 8];
            if stream.read_exact(&mut asks).is_ok() && stream.write_all(b"S").is_ok() {
                let mut session = rustls::ServerConnection::new(config.clone()).unwrap();
                let _ = session.complete_io(&mut stream);
            }
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn second_server_with_a_local_door_is_refused() {
    let database = Database::fresh().await;
    let (first, second) =
        (prepared(&database.url, Default::default()).await, prepared(&database.url, Default::default()).await);
    first.claim(|_| {}).await.unwrap();
    let NotPrepared::Unfit(why) = second.claim(|_| {}).await.unwrap_err() else { panic!("it may not wait for ever") };
    assert!(why.contains("another tickettock") && why.contains("REDIS_URL"), "{why}");
}

/// Another session has the event's row locked: requests that could get a seat time out on the lock after a
/// second; requests that can only be refused are refused at once.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_take_no_lock() {
    let kept = PostgresStand::fresh().await;
    let (full, half) = (kept.stand.event(2, 1).await.unwrap().id, kept.stand.event(2, 1).await.unwrap().id);
    for user in ["a", "b"] {
        expect_sale(&kept.stand.one(full, kept.stand.reserve(user)).await.unwrap()).unwrap();
    }
    let first = expect_sale(&kept.stand.one(half, kept.stand.reserve("a")).await.unwrap()).unwrap();
    assert_eq!(first.seat, Seat(1));
    let other = kept.database.connect().await;
    other.batch_execute("BEGIN; SELECT FROM event FOR UPDATE").await.unwrap();
    let began = Instant::now();
    let refused = kept.stand.one(full, kept.stand.reserve("c")).await.unwrap();
    assert_eq!(refusal(&refused), Some(&Refusal::SoldOut));
    let duplicate = kept.stand.one(full, kept.stand.reserve("a")).await.unwrap();
    assert!(matches!(refusal(&duplicate), Some(Refusal::Duplicate { .. })), "{duplicate:?}");
    assert!(began.elapsed() < Duration::from_millis(500), "a refusal waited for the lock");
    let commands = Arc::new(vec![kept.stand.reserve("d")]);
    let batch = stores::ledger::Batch::new(half, commands, Default::default());
    let began = Instant::now();
    assert_eq!(kept.stand.ledger.commit(batch).await.unwrap_err(), LedgerFault::Locked);
    assert!(began.elapsed() >= Duration::from_millis(900), "it did not wait for the lock");
    other.batch_execute("ROLLBACK").await.unwrap();
    // Seen by another server: a seat came back, and the hint of this one is old.
    let elsewhere = postgres_stand(&kept.database).await;
    let mine = kept.stand.ledger.reservations_in(full, None, 10).await.unwrap();
    elsewhere.one(full, elsewhere.cancel("a", mine[0].sale.n)).await.unwrap();
    let again = expect_sale(&kept.stand.one(full, kept.stand.reserve("e")).await.unwrap()).unwrap();
    assert_eq!(again.seat, Seat(1));
}

/// Seats taken by another server are seen, although this server assumes seats in order.
#[tokio::test(flavor = "multi_thread")]
async fn seats_taken_by_another_server_are_seen() {
    let kept = PostgresStand::fresh().await;
    let elsewhere = postgres_stand(&kept.database).await;
    let event = kept.stand.event(6, 1).await.unwrap().id;
    let reserve = async |user| expect_sale(&kept.stand.one(event, kept.stand.reserve(user)).await.unwrap()).unwrap();
    assert_eq!(reserve("a").await.seat, Seat(1));
    let third = elsewhere.one(event, elsewhere.choose("b", 3)).await.unwrap();
    assert_eq!(expect_sale(&third).unwrap().seat, Seat(3));
    assert_eq!(reserve("c").await.seat, Seat(2));
    assert_eq!(reserve("d").await.seat, Seat(4));
    let mine = kept.stand.ledger.reservations_in(event, None, 10).await.unwrap();
    elsewhere.one(event, elsewhere.cancel("c", mine[1].sale.n)).await.unwrap();
    for (user, seat) in [("e", 2), ("f", 5), ("g", 6)] {
        assert_eq!(reserve(user).await.seat, Seat(seat));
    }
    let late = kept.stand.one(event, kept.stand.reserve("h")).await.unwrap();
    assert_eq!(refusal(&late), Some(&Refusal::SoldOut));
}

/// Sales note themselves, the rest of a batch is noted beside them: every number once, and one row of each
/// batch names it.
#[tokio::test(flavor = "multi_thread")]
async fn mixed_batch_writes_each_history_number_once() {
    let kept = PostgresStand::fresh().await;
    let stand = &kept.stand;
    let event = stand.event(5, 1).await.unwrap().id;
    let first = expect_sale(&stand.one(event, stand.reserve("a")).await.unwrap()).unwrap();
    let by_admin = stand.operate(stand.choose("nobody", 5).action);
    let mixed = [stand.reserve("b"), stand.choose("c", 4), by_admin, stand.cancel("a", first.reservation.n)];
    stand.commit(event, mixed.to_vec()).await.unwrap();
    let db = kept.database.connect().await;
    let rows = db.query("SELECT n, what, seat, owner, by_admin, batch IS NOT NULL FROM history ORDER BY n", &[]);
    let noted: Vec<String> = rows.await.unwrap().iter().map(history_row).collect();
    let wanted = [
        "1 created - - true false",
        "2 reserved 1 a false true",
        "3 cancelled 1 a false true",
        "4 reserved 1 b false false",
        "5 reserved 4 c false false",
        "6 reserved 5 - true false",
    ];
    assert_eq!(noted, wanted);
}

fn history_row(row: &tokio_postgres::Row) -> String {
    let (n, what, by_admin, named): (i64, &str, bool, bool) = (row.get(0), row.get(1), row.get(4), row.get(5));
    let seat = row.get::<_, Option<i32>>(2).map_or("-".to_owned(), |seat| seat.to_string());
    let owner = row.get::<_, Option<&str>>(3).unwrap_or("-");
    format!("{n} {what} {seat} {owner} {by_admin} {named}")
}

/// A dropped waiter neither stops its batch nor leaves a transaction open.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_waiters_leave_no_open_transaction() {
    let kept = PostgresStand::fresh().await;
    let event = kept.stand.event(300, 1).await.unwrap().id;
    for i in 0..300 {
        let commands = Arc::new(vec![kept.stand.reserve(&format!("u{i}"))]);
        let commit = kept.stand.ledger.commit(stores::ledger::Batch::new(event, commands, Default::default()));
        let _ = tokio::time::timeout(Duration::from_micros(i * 20), commit).await;
    }
    let db = kept.database.connect().await;
    let began = Instant::now();
    while kept.stand.ledger.event(event).await.unwrap().unwrap().counts.sold < 300 {
        assert!(began.elapsed() < Duration::from_secs(20), "a dropped batch was not finished");
    }
    let open = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    assert_eq!(db.query_one(open, &[]).await.unwrap().get::<_, i64>(0), 0);
}
