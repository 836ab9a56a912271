//! What buyers see of ids: none of them counts sales or requests.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::TestResponse;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{give_back, hold, hold_id, nights, on_hold, room_type, seats};

on_every_backing!(reservation_ids_do_not_count, hold_ids_do_not_count);

/// Two purchases do not tell how many were made in between. The readable ids of the operator stay valid.
async fn reservation_ids_do_not_count(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let mut told = Vec::new();
    for user in ["alice", "bob", "carol"] {
        told.push(client.reserve(1, user).await.json()["reservationId"].as_str().unwrap().to_owned());
    }
    for id in &told {
        assert!(id.starts_with("e1-x") && id.len() == 17, "{id}");
    }
    let mine = client.get_as("alice", "/api/v1/reservations").await.json();
    assert_eq!(mine["reservations"][0]["reservationId"], told[0].as_str(), "the same everywhere");
    let listed = stand.admin("GET", "events/1/reservations", &Value::Null).await.json();
    let readable: Vec<&str> =
        listed["reservations"].as_array().unwrap().iter().map(|r| r["reservationId"].as_str().unwrap()).collect();
    assert_eq!(readable, ["e1-2", "e1-3", "e1-4"]);
    assert_eq!(listed["reservations"][1]["publicId"], told[1].as_str());
    // Whoever tries the readable ones in turn learns nothing of strangers: what is not theirs is as if it were not there.
    for (id, to_others) in [(told[0].as_str(), 403), ("e1-2", 404)] {
        let one = client.get_as("alice", &format!("/api/v1/reservations/{id}")).await;
        assert_eq!(one.json()["reservation"]["reservationId"], told[0].as_str(), "{id}");
        assert_eq!(client.get_as("bob", &format!("/api/v1/reservations/{id}")).await.status, to_others);
        assert_eq!(client.cancel("bob", id).await.status, to_others);
    }
    let (there, nowhere) = (
        client.get_as("bob", "/api/v1/reservations/e1-2").await,
        client.get_as("bob", "/api/v1/reservations/e1-99").await,
    );
    assert_eq!((there.reason(), &there.json()["message"]), (nowhere.reason(), &nowhere.json()["message"]));
    // Another event's, a changed one, one that was never given.
    for id in [told[0].replace("e1", "e2"), told[0].to_uppercase(), "e1-x0000000000000".to_owned()] {
        assert_eq!(client.get_as("alice", &format!("/api/v1/reservations/{id}")).await.status, 404, "{id}");
    }
    assert_eq!(client.cancel("alice", "e1-2").await.status, 200);
    assert_eq!(client.cancel("bob", &told[1]).await.status, 200);
    assert_eq!(stand.admin("DELETE", &format!("reservations/{}", told[2]), &Value::Null).await.status, 200);
    assert_eq!(client.get_as("carol", "/api/v1/reservations").await.json()["reservations"], json!([]));
    let trace = |answer: &TestResponse| answer.json()["traceId"].as_str().unwrap().to_owned();
    let (one, two) = (trace(&client.get("/api/v1/seats/99").await), trace(&client.get("/api/v1/seats/99").await));
    let shared = one.chars().zip(two.chars()).filter(|(a, b)| a == b).count();
    assert!(shared < 16, "{one} {two}: trace ids do not count either");
}

/// Two holds do not tell how many were made in between, in either dialect. The readable ids stay valid.
async fn hold_ids_do_not_count(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let (event, room) = (stand.event(9, 4).await, room_type(&stand, 5).await);
    let seat = hold_id(&hold(&mut client, "alice", &seats(event, &[1], 1)).await);
    let night = hold_id(&hold(&mut client, "alice", &nights(room, 3, 1, 2)).await);
    let body = seats(event, &[2], 3).to_string();
    let canonical = hold_id(&client.post_as("alice", "/api/v1/holds", &body).await);
    for (id, subject) in
        [(&seat, format!("he{event}-x")), (&night, format!("hr{room}-x")), (&canonical, format!("he{event}-x"))]
    {
        assert!(id.starts_with(&subject) && id.len() == subject.len() + 13, "{id}");
    }
    let listed = stand.admin("GET", &format!("events/{event}/holds"), &Value::Null).await.json();
    let shown = |name: &str| listed["holds"].as_array().unwrap().iter().map(|h| h[name].clone()).collect::<Vec<_>>();
    assert_eq!(shown("publicId"), [json!(seat), json!(canonical)]);
    let readable: Vec<String> = shown("holdId").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert!(readable[0].starts_with(&format!("he{event}-")) && !readable[0].contains('x'), "{readable:?}");
    // The same everywhere, by either id.
    for path in ["/v1/holds", "/api/v1/holds"] {
        let mine = client.get_as("alice", path).await.json();
        let mut ids: Vec<&str> =
            mine["holds"].as_array().unwrap().iter().map(|h| h["holdId"].as_str().unwrap()).collect();
        ids.sort_unstable();
        let mut told = [seat.as_str(), night.as_str(), canonical.as_str()];
        told.sort_unstable();
        assert_eq!(ids, told);
        let first = client.get_as("alice", &format!("{path}?limit=1")).await.json();
        let rest = client.get_as("alice", &format!("{path}?limit=9&after={}", first["next"].as_str().unwrap())).await;
        assert_eq!(rest.json()["holds"].as_array().unwrap().len(), 2, "{}", rest.text());
        for (id, to_others) in [(&seat, 403), (&readable[0], 404)] {
            let one = client.get_as("alice", &format!("{path}/{id}")).await;
            assert_eq!(one.json()["hold"]["holdId"], seat.as_str(), "{}", one.text());
            assert_eq!(client.get_as("bob", &format!("{path}/{id}")).await.status, to_others);
            for what in ["confirm", "extend"] {
                let told = client.post_as("bob", &format!("{path}/{id}/{what}"), "{}").await;
                assert_eq!(told.status, to_others, "{what} {id}: {}", told.text());
            }
            let told = client.send("DELETE", &format!("{path}/{id}"), &[("X-User-Id", "bob")], "").await;
            assert_eq!(told.status, to_others, "{id}: {}", told.text());
        }
    }
    let history = stand.admin("GET", &format!("history?hold={seat}"), &Value::Null).await.json();
    assert_eq!(history["history"][0]["holdId"], readable[0].as_str(), "{history}");
    for id in [seat.replace(&format!("he{event}"), "he1"), seat.to_uppercase(), seat[1..].to_owned()] {
        assert_eq!(client.get_as("alice", &format!("/api/v1/holds/{id}")).await.status, 404, "{id}");
    }
    let extended = on_hold(&mut client, "alice", &seat, "extend").await;
    assert_eq!(extended.json()["hold"]["holdId"], seat.as_str(), "{}", extended.text());
    assert_eq!(on_hold(&mut client, "alice", &night, "confirm").await.status, 200);
    assert_eq!(give_back(&mut client, "alice", &readable[1]).await.status, 200);
    assert_eq!(give_back(&mut client, "alice", &seat).await.status, 200);
}
