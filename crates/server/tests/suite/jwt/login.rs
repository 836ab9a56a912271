//! The login in front of `docs/signing-in.md`: its nginx configuration as it stands there, with a stand-in for
//! oauth2-proxy that knows who has which cookie.

use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient};
use testing::nginx::OwnNginx;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{FCFS, Issuer, JSON, server};

/// Answers 202 with a token of the user in the cookie, else 401.
async fn stand_in(issuer: Issuer) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 8192];
            let read = stream.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let user = head.lines().find_map(|line| line.strip_prefix("Cookie: session="));
            let told = match user {
                Some(user) => format!("202 Accepted\r\nAuthorization: Bearer {}", issuer.token(user)),
                None => "401 Unauthorized".into(),
            };
            let told = format!("HTTP/1.1 {told}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(told.as_bytes()).await;
        }
    });
    port
}

fn example() -> String {
    let text = include_str!("../../../../../docs/signing-in.md");
    let block = text.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("a block of nginx configuration").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn documented_login_lets_users_in() {
    let issuer = Issuer::hs256("h");
    let stand = server("JWT_SECRET", issuer.secret()).await;
    let (login, port) = (stand_in(issuer).await, testing::free_port());
    let folder = TestFolder::new("nginx");
    let at = folder.path().display();
    let mut site = example();
    for (documented, here) in [("8443", port), ("4180", login), ("5800", stand.address.port())] {
        let (documented, here) = (format!("127.0.0.1:{documented}"), format!("127.0.0.1:{here}"));
        assert!(site.contains(&documented), "{documented}");
        site = site.replace(&documented, &here);
    }
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {at}/{kind};\n"))
        .concat();
    let conf = format!(
        "worker_processes 1;\ndaemon off;\npid {at}/nginx.pid;\nerror_log stderr warn;\nevents {{ }}\n\
         http {{\naccess_log off;\n{temporary}{site}\n}}\n"
    );
    std::fs::write(folder.path().join("nginx.conf"), conf).unwrap();
    let nginx = OwnNginx::start(folder, port).unwrap();
    let mut client = TestClient::new(nginx.address);

    assert_eq!(client.get("/api/v1/seats").await.status, 200, "everybody may look");
    assert_eq!(client.get("/api/v1/events/1").await.status, 200);
    let spoofed = [JSON, ("X-User-Id", "alice"), ("Authorization", "Bearer x")];
    for headers in [&[JSON][..], &spoofed] {
        assert_eq!(client.send("POST", FCFS, headers, BUYER).await.status, 401);
    }
    let alice = [JSON, ("Cookie", "session=alice"), ("X-User-Id", "bob")];
    let sold = client.send("POST", FCFS, &alice, BUYER).await;
    assert_eq!(sold.status, 200, "{}", sold.text());
    for (user, has) in [("alice", 1), ("bob", 0)] {
        let cookie = format!("session={user}");
        let listed = client.send("GET", "/api/v1/reservations", &[("Cookie", &cookie)], "").await;
        assert_eq!(listed.json()["reservations"].as_array().map(Vec::len), Some(has), "{user}: {}", listed.text());
    }
    for path in ["/v1/holds", "/api/v1/events/1/queue", "/api/v1/reservations/e1-2"] {
        assert_eq!(client.get(path).await.status, 401, "{path} needs a login");
    }
    let token = format!("Bearer {}", stand.app.admin_token);
    assert_eq!(client.send("GET", "/api/v1/admin/events", &[("Authorization", &token)], "").await.status, 404);
}
