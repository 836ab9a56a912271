//! Clients that send or read slowly, without a gateway in front: the server itself serves everybody else as before.

use testing::folder::TestFolder;
use testing::process::ServerProcess;

use crate::slow_clients::served_beside;

const FCFS: &str = "/api/v1/seats/reservation/fcfs";

async fn served_by_the_server(path: &str, arguments: &[&str]) {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", "2000")]).await;
    served_beside(process.address, path, arguments).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_slow_bodies_delay_nobody() {
    served_by_the_server(FCFS, &["-B", "-c", "1000", "-i", "1", "-s", "8192", "-x", "3", "-f", "application/json"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_slow_headers_delay_nobody() {
    served_by_the_server("/api/v1/seats", &["-H", "-c", "1000", "-i", "1", "-x", "3"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_slow_readers_delay_nobody() {
    // Fewer a second than the others: each asks for a list of 2,000 seats, of a debug build.
    let slowly = ["-X", "-c", "1000", "-r", "250", "-w", "8", "-y", "16", "-n", "1", "-z", "4"];
    served_by_the_server("/api/v1/seats", &slowly).await;
}
