//! TLS behind the gateway: to Redis with `rediss://`, to the servers with `https://`. Certificates are verified.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testing::folder::TestFolder;
use testing::nginx::OwnNginx;
use testing::redis::OwnRedis;

use super::edge::Edge;
use super::files::write;

const NAME: &str = "inside.tickettock.test";

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").current_dir(folder).args(arguments.split(' ')).output().expect("openssl");
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// `ca.crt`, a certificate for `NAME` signed by it, and `other.crt`, an authority that signed nothing.
fn certificates(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for name in ["ca", "other"] {
        openssl(folder, &format!("req -x509 {key} -keyout {name}.key -out {name}.crt -days 2 -subj /CN={name}"));
    }
    openssl(folder, &format!("req {key} -keyout inside.key -out inside.csr -subj /CN={NAME}"));
    std::fs::write(folder.join("names"), format!("subjectAltName=DNS:{NAME}")).unwrap();
    let sign = "x509 -req -in inside.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names";
    openssl(folder, &format!("{sign} -out inside.crt"));
    // nginx runs as another user.
    std::fs::set_permissions(folder.join("inside.key"), PermissionsExt::from_mode(0o644)).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_over_tls_is_verified() {
    let folder = TestFolder::new("tls");
    let at = |name: &str| folder.path().join(name);
    certificates(folder.path());
    let edge = Edge::new(&[]).await;
    // The same Redis over TLS: the servers stay on its plain port.
    let port = testing::free_port().to_string();
    for (name, value) in [("cert-file", "inside.crt"), ("key-file", "inside.key"), ("ca-cert-file", "ca.crt")] {
        let _: () = edge.redis.ask(&["CONFIG", "SET", &format!("tls-{name}"), text(&at(value))]);
    }
    let _: () = edge.redis.ask(&["CONFIG", "SET", "tls-auth-clients", "no"]);
    let _: () = edge.redis.ask(&["CONFIG", "SET", "tls-port", &port]);
    let url = format!("rediss://127.0.0.1:{port}");
    let (ca, other) = (at("ca.crt"), at("other.crt"));
    let gate = |ca: &Path, name: &str| {
        let settings = [("REDIS_URL", url.as_str()), ("GATEWAY_TLS_CA", text(ca)), ("GATEWAY_REDIS_TLS_NAME", name)];
        edge.another(&settings)
    };
    let good = gate(&ca, NAME);
    assert_eq!(good.client().reserve(1, "opens").await.status, 200);
    let mut client = good.client();
    for number in 2..=6 {
        let answer = client.reserve(1, &format!("u{number}")).await;
        assert_eq!((answer.status, answer.sequence()), (200, Some(number)), "{}", answer.text());
    }
    let info: String = edge.redis.ask(&["INFO", "commandstats"]);
    assert!(info.contains("cmdstat_evalsha"), "{info}");
    let clients: String = edge.redis.ask(&["CLIENT", "LIST"]);
    let tls = clients.lines().filter(|line| line.contains(&format!("laddr=127.0.0.1:{port}"))).count();
    assert!(tls > 0, "nobody is connected over TLS: {clients}");

    for (i, (ca, name)) in [(&other, NAME), (&ca, "somebody.else.test")].into_iter().enumerate() {
        let gate = gate(ca, name);
        let first = gate.client().reserve(1, &format!("first{i}")).await;
        assert_eq!(first.status, 200, "passed on: the ledger's id is not known yet");
        let told = gate.client().reserve(1, "late").await;
        assert_eq!((told.status, told.reason().as_str()), (503, "service_unavailable"), "{}", told.text());
        assert!(gate.nginx().log().contains("certificate"), "{}", gate.nginx().log());
    }
}

/// Without TLS on the other side nothing is sent.
#[tokio::test(flavor = "multi_thread")]
async fn rediss_refuses_a_plain_redis() {
    let folder = TestFolder::new("tls");
    certificates(folder.path());
    let edge = Edge::new(&[]).await;
    let plain = OwnRedis::start();
    let url = plain.url().replace("redis://", "rediss://");
    let ca = folder.path().join("ca.crt");
    let settings = [("REDIS_URL", url.as_str()), ("GATEWAY_TLS_CA", text(&ca)), ("GATEWAY_REDIS_TLS_NAME", NAME)];
    let gate = edge.another(&settings);
    gate.client().reserve(1, "passed-on").await;
    assert_eq!(gate.client().reserve(1, "u").await.status, 503);
}

/// A server behind a TLS terminator of its own.
fn terminator(server: std::net::SocketAddr, certificates: &Path) -> OwnNginx {
    let (folder, port) = (TestFolder::new("nginx"), testing::free_port());
    let (here, there) = (text(folder.path()).to_owned(), text(certificates));
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {here}/{what};"))
        .concat();
    let conf = format!(
        "worker_processes 1;\npid {here}/nginx.pid; error_log stderr; daemon off; events {{}}\n\
         http {{ access_log off; {temp} server {{ listen 127.0.0.1:{port} ssl;\n\
         ssl_certificate {there}/inside.crt; ssl_certificate_key {there}/inside.key;\n\
         location / {{ proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_pass http://{server}; }} }} }}\n"
    );
    std::fs::write(folder.path().join("nginx.conf"), conf).unwrap();
    OwnNginx::start(folder, port).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_over_tls_are_verified() {
    let folder = TestFolder::new("tls");
    certificates(folder.path());
    let edge = Edge::new(&[]).await;
    let front = terminator(edge.servers[0].server, folder.path());
    let upstream = format!("https://{}", front.address);
    let (ca, other) = (folder.path().join("ca.crt"), folder.path().join("other.crt"));
    let gate = |ca: &Path, name: &str| {
        let settings = [
            ("GATEWAY_UPSTREAMS", upstream.as_str()),
            ("GATEWAY_TLS_CA", text(ca)),
            ("GATEWAY_UPSTREAM_TLS_NAME", name),
        ];
        edge.another(&settings)
    };
    let good = gate(&ca, NAME);
    let mut client = good.client();
    for number in 1..=5 {
        let answer = client.reserve(1, &format!("u{number}")).await;
        assert_eq!((answer.status, answer.sequence()), (200, Some(number)), "{}", answer.text());
    }
    assert_eq!(client.get("/api/v1/seats").await.status, 200);
    let before = edge.reached().await;
    for (ca, name) in [(&other, NAME), (&ca, "somebody.else.test")] {
        let gate = gate(ca, name);
        let told = gate.client().reserve(1, "late").await;
        assert_eq!((told.status, told.reason().as_str()), (503, "service_unavailable"), "{}", told.text());
        assert_eq!(gate.client().get("/api/v1/seats").await.status, 503);
        assert!(gate.nginx().log().contains("certificate"), "{}", gate.nginx().log());
    }
    assert_eq!(edge.reached().await, before, "nothing was sent to whom nobody knows");
}

/// What cannot be verified is refused when the files are written.
#[test]
fn unverifiable_tls_settings_are_refused() {
    let folder = TestFolder::new("tls");
    let files = folder.path().join("files");
    for (settings, names) in [
        (&[("REDIS_URL", "rediss://127.0.0.1:1")][..], "GATEWAY_REDIS_TLS_NAME"),
        (&[("GATEWAY_UPSTREAMS", "https://127.0.0.1:1")][..], "GATEWAY_UPSTREAM_TLS_NAME"),
        (&[("GATEWAY_UPSTREAMS", "https://127.0.0.1:1,127.0.0.1:2")][..], "GATEWAY_UPSTREAMS"),
        (&[("REDIS_URL", "rediss://r.test"), ("GATEWAY_TLS_CA", "/nowhere/ca.crt")][..], "GATEWAY_TLS_CA"),
        (&[("REDIS_URL", "rediss://r.test"), ("GATEWAY_TLS_CA", "/etc/a b;.crt")][..], "GATEWAY_TLS_CA"),
        (&[("REDIS_URL", "rediss://r.test"), ("GATEWAY_REDIS_TLS_NAME", "a b;")][..], "GATEWAY_REDIS_TLS_NAME"),
    ] {
        let (code, _, complaint) = write(&files, settings);
        assert_eq!(code, Some(2), "{settings:?}");
        assert!(complaint.contains(names), "{complaint}");
        assert!(!files.exists(), "{settings:?}: something was written");
    }
}
