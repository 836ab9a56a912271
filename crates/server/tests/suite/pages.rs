//! The pages: that the committed files are what the sources make, how they are served, and how large they are.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use testing::backing::{Backing, TestStores};
use testing::http::TestClient;
use testing::process::binary;
use testing::server::TestServer;

const PAGES: [&str; 6] = ["/", "/events/1", "/rooms", "/me", "/admin", "/try"];
const GZIP: (&str, &str) = ("Accept-Encoding", "gzip");
const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

/// Runs `scripts/web.sh`, which must succeed; its output.
async fn script(task: &'static [&'static str], settings: Vec<(String, String)>) -> String {
    let mut runs = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/web.sh"));
    runs.args(task).envs(settings);
    let output = tokio::task::spawn_blocking(move || runs.output().unwrap()).await.unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    said.into_owned()
}

/// Alone, as the tests below: they share the copy under `target/`.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_built_pages_are_what_the_sources_make() {
    script(&["check"], Vec::new()).await;
}

/// Files of `web/tests`. Together they would take longer than a test may.
const OF_BUYERS: &[&str] = &["test", "draw", "layout", "pages", "plain", "touch"];
const OF_OPERATORS: &[&str] = &["test", "console", "jwt", "report", "select"];

#[test]
fn every_browser_test_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests");
    let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.filter_map(|name| name.strip_suffix(".test.mjs").map(str::to_owned)).collect();
    let run = OF_BUYERS[1..].iter().chain(&OF_OPERATORS[1..]).map(|name| (*name).to_owned());
    assert_eq!(found, run.collect());
}

/// In Chromium, over a server process that they stop and start.
async fn browser_tests_pass(backing: Backing, tests: &'static [&'static str]) {
    let stores = TestStores::new(backing).await;
    let mut settings: Vec<(String, String)> =
        stores.settings().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let path = |text: &Path| text.to_str().expect("a path in UTF-8").to_owned();
    settings.push(("TICKETTOCK".into(), path(Path::new(binary().get_program()))));
    settings.push(("DATA_DIR".into(), path(stores.folder())));
    let said = script(tests, settings).await;
    assert!(said.contains("fail 0") && said.contains("skipped 0") && !said.contains("tests 0"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_browser_tests_of_buyers_pass_embedded() {
    browser_tests_pass(Backing::Embedded, OF_BUYERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_browser_tests_of_operators_pass_embedded() {
    browser_tests_pass(Backing::Embedded, OF_OPERATORS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_browser_tests_of_buyers_pass_scaled() {
    browser_tests_pass(Backing::Redis, OF_BUYERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_browser_tests_of_operators_pass_scaled() {
    browser_tests_pass(Backing::Redis, OF_OPERATORS).await;
}

/// A viewer loads one language; the canvas for stadiums, the draw where there is one, the calendar at a click.
const NOT_LOADED: [&str; 4] = ["en-", "canvas-", "draw-", "calendar-"];

/// The files that a page names, and those that its scripts import, transitively.
async fn files_of(client: &mut TestClient, page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut texts = vec![client.get(page).await.text()];
    while let Some(text) = texts.pop() {
        for part in text.split(['"', '\'', '`']) {
            let name = part.trim_start_matches("./").trim_start_matches("/assets/");
            // Every built file has a dash before its hash; a script also names mere endings.
            let is_file = name.contains('-')
                && (name.ends_with(".js") || name.ends_with(".css"))
                && !NOT_LOADED.iter().any(|start| name.starts_with(start));
            if is_file && !name.contains(['/', ' ']) && found.insert(name.to_owned()) {
                texts.push(client.get(&format!("/assets/{name}")).await.text());
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_small() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    for (page, most) in [("/events/1", 60_000), ("/", 60_000), ("/rooms", 60_000), ("/me", 60_000), ("/admin", 150_000)]
    {
        let mut sum = client.get(page).await.body.len();
        for name in files_of(&mut client, page).await {
            let file = client.send("GET", &format!("/assets/{name}"), &[GZIP], "").await;
            assert_eq!((file.status, file.header("content-encoding")), (200, Some("gzip")), "{name}");
            sum += file.body.len();
        }
        assert!(sum > 10_000 && sum < most, "{page}: {sum} bytes gzipped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_cached_by_what_they_are() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    for page in PAGES {
        let first = client.get(page).await;
        assert_eq!((first.status, first.header("cache-control")), (200, Some("no-cache")), "{page}");
        let policy = first.header("content-security-policy").unwrap();
        assert!(!policy.contains("unsafe") && !policy.contains("data:") && !policy.contains("://"), "{policy}");
        let known = [("If-None-Match", first.header("etag").unwrap())];
        assert_eq!(client.send("GET", page, &known, "").await.status, 304, "{page}");
    }
    for name in files_of(&mut client, "/events/1").await {
        let file = client.get(&format!("/assets/{name}")).await;
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"), "{name}");
        assert_eq!(file.header("vary"), Some("Accept-Encoding"), "{name}");
    }
}

/// Real pictures, where browsers and phones look for them; every page names them.
#[tokio::test(flavor = "multi_thread")]
async fn icons_are_where_browsers_look() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    for (path, kind, start) in
        [("/favicon.ico", "image/x-icon", &b"\0\0\x01\0"[..]), ("/apple-touch-icon.png", "image/png", &b"\x89PNG"[..])]
    {
        let icon = client.send("GET", path, &[BROWSER], "").await;
        assert_eq!((icon.status, icon.header("content-type")), (200, Some(kind)), "{path}");
        assert!(icon.body.starts_with(start) && icon.body.len() > 500, "{path}: {} bytes", icon.body.len());
        let known = [("If-None-Match", icon.header("etag").unwrap())];
        assert_eq!(client.send("GET", path, &known, "").await.status, 304, "{path}");
        for page in PAGES.into_iter().chain(["/docs"]) {
            assert!(client.get(page).await.text().contains(&format!("href=\"{path}\"")), "{page} names {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_say_how_users_are_told_apart() {
    let stand = TestServer::embedded(&[("FCFS_USER_HEADER", "X-Customer")]).await;
    assert!(stand.client().get("/").await.text().contains("data-identity=\"header x-customer\""));
    let secret = "0123456789abcdef0123456789abcdef";
    let stand = TestServer::embedded(&[("AUTH_MODE", "jwt"), ("JWT_SECRET", secret)]).await;
    let page = stand.client().get("/me").await.text();
    assert!(page.contains("data-identity=\"jwt ") && !page.contains("data-confirm"), "{page}");
    let stand = TestServer::embedded(&[("CONFIRM_BY", "service")]).await;
    assert!(stand.client().get("/rooms").await.text().contains(" data-confirm=\"service\""));
}

/// People get a page that helps; programs get the refusal, and the API never answers with a page.
#[tokio::test(flavor = "multi_thread")]
async fn missing_pages_are_pages_for_browsers_only() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    for path in ["/no/such/page", "/events/none", "/favicon.png"] {
        let page = client.send("GET", path, &[BROWSER], "").await;
        assert_eq!((page.status, page.header("content-type")), (404, Some("text/html; charset=utf-8")), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        let refusal = client.get(path).await;
        assert_eq!((refusal.status, refusal.reason().as_str()), (404, "not_found"), "{path}");
    }
    for path in ["/api/v1/events/999", "/v1/none"] {
        let refusal = client.send("GET", path, &[BROWSER], "").await;
        assert_eq!((refusal.status, refusal.reason().as_str()), (404, "not_found"), "{path}");
    }
}
