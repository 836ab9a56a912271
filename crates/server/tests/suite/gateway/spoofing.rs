//! Nothing spoofed: FAULTS G1, G2 and G3. What only a gateway may say is taken away from what comes
//! in, in every spelling; the address is the socket's, or what a trusted proxy says.

use testing::gateway::{GatewayBug, TestGateway};
use testing::http::{TestClient, TestResponse};
use testing::raw_tcp;

use super::edge::{BODY, Edge, FCFS, JSON};

const NAME: &str = "0123456789abcdef0123456789abcdef";

/// A client with a number, a name, an address and even the key of its own.
async fn own_words(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let limit = [("FCFS_IP_LIMIT", "1000"), ("FCFS_IP_WINDOW", "3600"), ("FCFS_SEATS", "100")];
    let edge = Edge::with(1, &limit, planted).await;
    edge.warm().await;
    let key = ("X-Gateway-Key", testing::gateway::KEY);
    let claims: [&[(&str, &str)]; 9] = [
        &[("X-Fcfs-Seq", "777"), ("X-Gateway-Request", NAME)],
        &[key, ("X-Fcfs-Seq", "777"), ("X-Gateway-Request", NAME)],
        &[key, key, ("x-fcfs-seq", "777"), ("X-FCFS-SEQ", "778"), ("x-gateway-request", NAME)],
        &[("X_Gateway_Key", testing::gateway::KEY), ("X_Fcfs_Seq", "777"), ("X_Gateway_Request", NAME)],
        &[("X-Gateway_Key", testing::gateway::KEY), ("X-Fcfs_Seq", "777"), ("X_Gateway-Request", NAME)],
        &[key, ("X-Gateway-Address", "9.9.9.9")],
        &[("X-Forwarded-For", "9.9.9.9"), ("X-Real-IP", "9.9.9.9"), ("Forwarded", "for=9.9.9.9")],
        &[("X-Fcfs-Ledger", "x"), ("X-Fcfs-Anything", "x"), ("X-Forwarded-Proto", "https"), ("X-Gateway-X", "y")],
        &[("X.Fcfs.Seq", "777"), ("X.Gateway.Key", testing::gateway::KEY)],
    ];
    // With a number of the gateway's own, and in the old dialect, where it passes on without one.
    for (i, claim) in claims.iter().enumerate() {
        for keyed in [false, true] {
            let before = edge.numbers(1);
            let (user, idempotency) = (format!("u{i}{keyed}"), [("Idempotency-Key", "a\\b")]);
            let mut headers = vec![("X-User-Id", user.as_str()), JSON];
            headers.extend(claim.iter().copied().chain(idempotency.into_iter().filter(|_| keyed)));
            let answer = raw_tcp::request(edge.gate.address(), "POST", FCFS, &headers, BODY).await;
            let number = answer.sequence();
            if number != Some(before + 1) {
                return Err(format!("{claim:?}: {}", answer.text()));
            }
        }
    }
    let elsewhere: i64 = edge.redis.ask(&["EXISTS", "dup:ip:{e:1}:9.9.9.9"]);
    if elsewhere != 0 {
        return Err("an address of its own was believed".into());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn client_numbers_and_gateway_keys_are_removed() {
    assert_eq!(own_words(&[]).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_forwarding_of_spoofed_headers_is_caught() {
    let believing = [
        ("lua/gateway.lua", "if spoofed(header) then ngx.req.clear_header(header) end", ""),
        ("nginx.conf", "proxy_set_header X-Fcfs-Seq $gw_number;", ""),
        ("nginx.conf", "proxy_set_header X-Gateway-Request $gw_name;", ""),
    ];
    let told = own_words(&believing).await.expect_err("the test sees nothing");
    assert!(told.contains("777"), "{told}");
}

/// G1: the gateway trusts the user header only where it is configured to.
#[tokio::test(flavor = "multi_thread")]
async fn user_header_is_trusted_only_when_set() {
    let edge = Edge::new(&[("GATEWAY_TRUST_USER_HEADER", "0")]).await;
    let mut client = edge.client();
    for name in ["X-User-Id", "x-user-id"] {
        let told = raw_tcp::request(edge.gate.address(), "POST", FCFS, &[(name, "alice"), JSON], BODY).await;
        assert_eq!((told.status, told.reason().as_str()), (401, "unauthorized"), "{}", told.text());
    }
    for name in ["X_User_Id", "x_user_id", "X-User_Id", "X.User.Id"] {
        let told = raw_tcp::request(edge.gate.address(), "POST", FCFS, &[(name, "alice"), JSON], BODY).await;
        assert_eq!((told.status, told.reason().as_str()), (400, "missing_user"), "{name}: {}", told.text());
    }
    let mine = client.get_as("alice", "/api/v1/reservations").await;
    assert_eq!((mine.status, mine.reason().as_str()), (400, "missing_user"), "it is not passed on elsewhere either");
    assert_eq!(client.cancel("alice", "e1-2").await.reason(), "missing_user");
    assert_eq!(client.get_as("alice", "/api/v1/seats").await.status, 200, "where nobody asks it does not matter");

    // From what stands in front it is believed; from what only claims to be that, not.
    let trusting = edge.another(&[("GATEWAY_TRUST_USER_HEADER", "0"), ("TRUSTED_PROXIES", "127.0.0.0/8")]);
    let told = trusting.client().reserve(1, "alice").await;
    assert_eq!(told.seat(), Some(1), "{}", told.text());
    let other = edge.another(&[("GATEWAY_TRUST_USER_HEADER", "0"), ("TRUSTED_PROXIES", "10.0.0.0/8")]);
    let headers = [("X-User-Id", "alice"), ("X-Forwarded-For", "10.0.0.1"), JSON];
    assert_eq!(other.client().send("POST", FCFS, &headers, BODY).await.status, 401);
    let twice = [("X-User-Id", "a"), ("x-user-id", "b"), JSON];
    let told = raw_tcp::request(trusting.address(), "POST", FCFS, &twice, BODY).await;
    assert_eq!((told.status, told.json()["field"].as_str()), (400, Some("X-User-Id")));
}

/// A user header that looks like a proxy's is still the user's.
#[tokio::test(flavor = "multi_thread")]
async fn user_header_may_have_a_proxy_like_name() {
    let name = ("FCFS_USER_HEADER", "X-Forwarded-User");
    let edge = Edge::new(&[name]).await;
    edge.warm_as("X-Forwarded-User").await;
    let told = edge.client().send("POST", FCFS, &[("X-Forwarded-User", "alice"), JSON], BODY).await;
    assert_eq!(told.status, 200, "{}", told.text());
    let mine = edge.client().send("GET", "/api/v1/reservations", &[("X-Forwarded-User", "alice")], "").await;
    assert_eq!(mine.json()["reservations"].as_array().map(Vec::len), Some(1));
    let strict = edge.another(&[name, ("GATEWAY_TRUST_USER_HEADER", "0")]);
    let told = strict.client().send("POST", FCFS, &[("X-Forwarded-User", "bob"), JSON], BODY).await;
    assert_eq!(told.status, 401);
    let mine = strict.client().send("GET", "/api/v1/reservations", &[("X-Forwarded-User", "alice")], "").await;
    assert_eq!(mine.reason(), "missing_user");
}

/// G2: which address a request is counted against.
#[tokio::test(flavor = "multi_thread")]
async fn budget_is_spent_by_the_trusted_address() {
    let limit = [("FCFS_IP_LIMIT", "1"), ("FCFS_IP_WINDOW", "3600"), ("FCFS_SEATS", "100")];
    let edge = Edge::new(&limit).await;
    edge.warm().await;
    let mut users = 0;
    let mut ask = async |client: &mut TestClient, forwarded: &[&str]| -> TestResponse {
        users += 1;
        let user = format!("u{users}");
        let mut headers = vec![("X-User-Id", user.as_str()), JSON];
        headers.extend(forwarded.iter().map(|from| ("X-Forwarded-For", *from)));
        client.send("POST", FCFS, &headers, BODY).await
    };
    // Nobody is trusted: it is the socket's, whatever anybody claims.
    let mut client = edge.client();
    assert_eq!(ask(&mut client, &["1.1.1.1"]).await.status, 200);
    for forged in [&["2.2.2.2"][..], &["nonsense"], &["3.3.3.3, 127.0.0.1"], &["4.4.4.4", "5.5.5.5"], &["::1"], &[]] {
        let told = ask(&mut client, forged).await;
        assert_eq!(told.json()["scope"], "ip", "{forged:?}: {}", told.text());
    }
    let settings: Vec<_> = limit.into_iter().chain([("TRUSTED_PROXIES", "127.0.0.1,10.0.0.0/8")]).collect();
    let gate = edge.another(&settings);
    let mut client = gate.client();
    for (forwarded, free) in [
        (&["8.8.8.8"][..], true),
        (&["8.8.8.8"][..], false),
        // Only the last hop that is not ours counts: what a client puts before it is its own tale.
        (&["6.6.6.6, 8.8.8.8"][..], false),
        (&["7.7.7.7, 8.8.8.8, 10.1.2.3"][..], false),
        (&["8.8.8.9, 10.1.2.3"][..], true),
        (&["nonsense, 8.8.8.9"][..], false),
        // IPv6 by /64, however it is written.
        (&["2001:db8::1"][..], true),
        (&["2001:db8::ffff:2"][..], false),
        (&["2001:DB8:0:0:9::9"][..], false),
        (&["2001:db8:0:1::1"][..], true),
        // An IPv4 address in IPv6 clothes.
        (&["::ffff:8.8.8.8"][..], false),
    ] {
        let told = ask(&mut client, forwarded).await;
        assert_eq!(told.status == 200, free, "{forwarded:?}: {}", told.text());
        assert!(free || told.json()["scope"] == "ip", "{forwarded:?}: {}", told.text());
    }
    // Where the gateway gives no number, the server counts the same address.
    let mut passed =
        vec![("Api-Version", "1.1"), ("X-Forwarded-For", "8.8.4.4"), JSON, ("X-User-Id", "odd\u{3000}one")];
    assert_eq!(client.send("POST", FCFS, &passed, BODY).await.status, 200);
    passed[3].1 = "odd\u{3000}two";
    assert_eq!(client.send("POST", FCFS, &passed, BODY).await.json()["scope"], "ip");
    let count: u64 = edge.redis.ask(&["HGET", "dup:ip:{e:1}:2001:db8:0:0", "count"]);
    assert_eq!(count, 3);
}

/// G3: a header that hides behind a hundred others.
async fn a_hundred_headers(gate: &TestGateway) -> Result<(), String> {
    let names: Vec<String> = (0..120).map(|i| format!("X-Filler-{i}")).collect();
    for hidden in [("X-Fcfs-Seq", "777"), ("X-User-Id", "alice")] {
        // A hundred in all, with Host and Content-Length; then one more, and many more.
        for (fillers, most) in [(94, true), (95, false), (120, false)] {
            let mut headers = vec![("X-User-Id", "u"), JSON];
            headers.extend(names[..fillers].iter().map(|name| (name.as_str(), "x")));
            headers.extend([("X-Gateway-Request", NAME), hidden]);
            let told = raw_tcp::request(gate.address(), "POST", FCFS, &headers, BODY).await;
            if told.body.is_empty() {
                return Err("a server that refuses without a word".into());
            }
            let clear = told.status == 400 && told.json()["field"] == "headers";
            let unharmed = told.sequence() < Some(100) && told.json()["field"] != "headers";
            if !(if most { unharmed } else { clear }) {
                return Err(told.text());
            }
        }
        let mut headers: Vec<_> = names.iter().map(|name| (name.as_str(), "x")).collect();
        headers.push(hidden);
        let told = raw_tcp::request(gate.address(), "GET", "/api/v1/seats", &headers, "").await;
        if (told.status, told.reason().as_str()) != (400, "validation") {
            return Err(told.text());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn spoofed_headers_beyond_the_lua_limit_are_removed() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    assert_eq!(a_hundred_headers(&edge.gate).await, Ok(()));
    let blind = [("lua/gateway.lua", "if truncated then return", "if false then return")];
    let edge = Edge::with(1, &[], &blind).await;
    a_hundred_headers(&edge.gate).await.expect_err("the test sees nothing");
}
