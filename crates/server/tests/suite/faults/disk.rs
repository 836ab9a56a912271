//! B6: the disk is full. Writes are refused, reads go on, `/readyz` says why, and all of it is over when
//! there is room again. The server runs in a mount namespace of its own, on a small tmpfs.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::{ServerProcess, binary};

use super::log_lines::{count_of, most_of_one_place};

const MOUNT_AND_SERVE: &str = r#"mount -t tmpfs -o size=24m tmpfs "$DATA_DIR" && exec "$0" serve"#;

struct SmallDisk {
    folder: TestFolder,
    process: ServerProcess,
}

impl SmallDisk {
    async fn start() -> SmallDisk {
        let folder = TestFolder::new("server");
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let plain = binary();
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", MOUNT_AND_SERVE]).arg(plain.get_program());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let settings = [("APP_PORT", "0"), ("RUST_LOG", "info"), ("FCFS_SEATS", "100000")];
        command.env("DATA_DIR", &data).envs(settings);
        command.stderr(File::create(folder.path().join("log")).unwrap());
        let process = ServerProcess::attempt(command, &data).expect("a server on a small disk");
        let disk = SmallDisk { folder, process };
        disk.ready(true, Duration::from_secs(5)).await;
        disk
    }

    /// The file as the server sees it.
    fn ballast(&self) -> PathBuf {
        let data = self.folder.path().join("data").join("ballast");
        let root = PathBuf::from(format!("/proc/{}/root", self.process.pid()));
        root.join(data.strip_prefix("/").unwrap())
    }

    fn fill(&self) {
        let mut ballast = File::options().create(true).append(true).open(self.ballast()).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while ballast.write_all(&vec![0; size]).is_ok() {}
        }
    }

    async fn ready(&self, wanted: bool, most: Duration) {
        let began = Instant::now();
        loop {
            let answer = self.process.client().get("/readyz").await;
            if (answer.status == 200) == wanted {
                assert!(wanted || answer.text().contains("full"), "{}", answer.text());
                return;
            }
            assert!(began.elapsed() < most, "ready is not {wanted}: {}", answer.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_refuses_writes_until_there_is_room() {
    let disk = SmallDisk::start().await;
    let mut client: TestClient = disk.process.client();
    let mut sold = 0;
    for i in 0..50 {
        assert_eq!(client.reserve(1, &format!("before-{i}")).await.status, 200);
        sold += 1;
    }
    disk.fill();
    // Room that the files have already may still be used.
    let mut refused = 0;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        let answer = client.reserve(1, &format!("full-{sold}-{refused}")).await;
        match answer.status {
            200 => {
                assert_eq!(refused, 0, "sold with a full disk");
                sold += 1;
            }
            _ => {
                assert_eq!(
                    (answer.status, answer.reason().as_str()),
                    (503, "service_unavailable"),
                    "{}",
                    answer.text()
                );
                refused += 1;
            }
        }
    }
    let log = disk.log();
    assert!(refused > 50, "{refused} requests were refused");
    disk.ready(false, Duration::ZERO).await;
    assert_eq!(client.get("/api/v1/seats/1").await.status, 200, "reads go on");
    assert!(count_of(&log, "a batch failed") >= 1, "{log}");
    let (most, line) = most_of_one_place(&log);
    assert!(most <= 6, "{most} lines in 4 s, for {refused} batches: {line}");

    fs::remove_file(disk.ballast()).unwrap();
    // Nobody writes in the meantime.
    disk.ready(true, Duration::from_secs(5)).await;
    assert_eq!(client.reserve(1, "after").await.status, 200);
    let events = client.get("/api/v1/events/1").await;
    assert_eq!(events.json()["event"]["remainingSeats"], 100_000 - sold - 1, "{}", events.text());
}
