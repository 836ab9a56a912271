//! What a client sends and the gateway repeats stays what it is: a value, in JSON and in headers.

use super::edge::{BODY, Edge, FCFS, JSON};

/// Ids that would end the string they stand in.
const TRACES: [&str; 6] =
    [r#"x","success":true,"reservationId":"e1-1"#, r#"""#, r#"\"#, r#"a\"b"#, r#"\u0022,"a":"/"#, "</script><b>'`{}"];

#[tokio::test(flavor = "multi_thread")]
async fn trace_id_is_escaped() {
    let edge = Edge::new(&[("FCFS_SEATS", "1")]).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.status, 200);
    let mut client = edge.client();
    for trace in TRACES {
        let id = ("X-Request-Id", trace);
        // Refused by the gateway: who asks, form, hint; and by the server, which writes it the same way.
        for (headers, body) in [
            (&[id, JSON][..], BODY),
            (&[id, JSON, ("X-User-Id", "u")][..], "{"),
            (&[id, ("X-User-Id", "u")][..], BODY),
            (&[id, JSON, ("X-User-Id", "late")][..], BODY),
            (&[id, JSON, ("X-User-Id", "u"), ("Api-Version", "9")][..], BODY),
        ] {
            let told = client.send("POST", FCFS, headers, body).await;
            let json = told.json();
            assert_eq!(
                (json["success"].as_bool(), json["traceId"].as_str()),
                (Some(false), Some(trace)),
                "{headers:?}"
            );
            assert_eq!((told.header("x-request-id"), told.status / 100), (Some(trace), 4));
        }
        // nginx's own refusals too.
        let large = "x".repeat(17_000);
        let told = client.send("POST", FCFS, &[id, JSON, ("X-User-Id", "u")], &large).await;
        assert_eq!((told.status, told.json()["traceId"].as_str()), (413, Some(trace)), "{}", told.text());
        client = edge.client();
    }
}

/// In the envelopes of the other dialects.
#[tokio::test(flavor = "multi_thread")]
async fn trace_id_is_escaped_in_every_dialect() {
    let edge = Edge::new(&[("FCFS_ANONYMOUS", "0")]).await;
    edge.warm().await;
    let mut client = edge.client();
    for trace in TRACES {
        let headers = [("X-Request-Id", trace), JSON, ("Api-Version", "2025-08-17"), ("X-User-Id", "u")];
        let told = client.send("POST", FCFS, &headers, "{").await;
        assert_eq!(told.json()["error"]["trace_id"].as_str(), Some(trace), "{}", told.text());
        let headers = [("X-Request-Id", trace), JSON, ("Api-Version", "1.0")];
        let told = client.send("POST", FCFS, &headers, BODY).await;
        assert_eq!(told.json()["success"].as_bool(), Some(false), "{}", told.text());
    }
}
