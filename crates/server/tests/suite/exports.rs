//! Lists of a million rows are sent while they are read: they cost no memory, whatever their format.

use std::time::Duration;

use testing::folder::TestFolder;
use testing::process::ServerProcess;
use testing::raw_tcp;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const ROWS: usize = 1_000_000;
const MORE_MIB: f64 = 64.0;
const PATIENCE: Duration = Duration::from_secs(600);

/// A sold-out hall with all that a row can have. The history is longer than what a server wrote: it has no hashes.
const SOLD: &str = r#"
    WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000000)
    INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, buyer, phone, email, metadata)
    SELECT 1, i, 1000000, 'sold', 'user-' || i, 1, 1, i + 1, 1790000000000 + i, i, 'Buyer ' || i,
           '+8210' || (10000000 + i), 'buyer-' || i || '@example.com', '{"order":"A-' || i || '"}' FROM s;
    WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000000)
    INSERT INTO history (event, n, what, seat, owner, by_admin, number, at, address, trace, details)
    SELECT 1, i + 1, 'reserved', i, 'user-' || i, 0, i, 1790000000000 + i, '192.0.2.7',
           'trace-of-a-request-of-user-' || i, '{"metadata":{"order":"A-' || i || '"}}' FROM s;
    UPDATE event SET n = 1000001, "cursor" = 1000000, sold = 1000000 WHERE id = 1"#;

fn memory_mib(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// Reads to the end and keeps nothing. The number of lines of the body, and the most memory that the server had meanwhile.
async fn drain(mut stream: TcpStream, server: u32) -> (usize, f64) {
    let (mut lines, mut most, mut part) = (0, 0.0_f64, vec![0; 1 << 16]);
    let mut read = 0;
    loop {
        let count = stream.read(&mut part).await.unwrap();
        if count == 0 {
            return (lines, most);
        }
        lines += part[..count].iter().filter(|byte| **byte == b'\n').count();
        read += count;
        if read > 1 << 20 {
            (read, most) = (0, most.max(memory_mib(server)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_million_rows_are_exported_in_flat_memory() {
    let folder = TestFolder::new("exports");
    let data = folder.path().join("data");
    let settings = [("FCFS_SEATS", "1000000")];
    ServerProcess::start(&data, &settings).await.end();
    rusqlite::Connection::open(data.join("tickettock.db")).unwrap().execute_batch(SOLD).unwrap();
    let server = ServerProcess::start(&data, &settings).await;
    let token = server.admin_token();
    for (path, kind) in [("events/1/reservations", "text/csv"), ("history", "application/x-ndjson")] {
        // A page first, so that what is made once is made.
        for query in ["?limit=1000", ""] {
            let before = memory_mib(server.pid());
            let request = format!(
                "GET /api/v1/admin/{path}{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
                 Accept: {kind}\r\nConnection: close\r\n\r\n"
            );
            let stream = raw_tcp::send(server.address, request.as_bytes()).await;
            let (lines, most) = tokio::time::timeout(PATIENCE, drain(stream, server.pid())).await.expect("an end");
            if query.is_empty() {
                println!("{path} {kind}: {lines} lines, {before:.0} MiB before, {most:.0} at most");
                // The sizes of the chunks are lines of their own.
                assert!((ROWS..ROWS + ROWS / 100).contains(&lines), "{lines} lines");
                assert!(most - before < MORE_MIB, "{path} {kind}: {before:.0} MiB before, {most:.0} at most");
            }
        }
    }
}
