//! The ceiling: a bare Salvo handler that parses and validates the same request and answers the
//! same body, and remembers nothing.

use rules::phone::{self, Reading};
use salvo::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    user_name: String,
    phone: String,
}

#[handler]
async fn reserve(request: &mut Request, response: &mut Response) {
    let user = request.headers().get("x-user-id").and_then(|v| v.to_str().ok()).and_then(rules::ids::User::new);
    let body = request.payload_with_max_size(16 * 1024).await.ok().and_then(|b| serde_json::from_slice::<Body>(b).ok());
    let valid = match (&user, &body) {
        (Some(_), Some(body)) => {
            rules::ids::printable(&body.user_name, 100) && matches!(phone::read(&body.phone, "KR"), Reading::Number(_))
        }
        _ => false,
    };
    if !valid {
        response.status_code(StatusCode::BAD_REQUEST);
        return;
    }
    response.headers_mut().insert("content-type", "application/json; charset=utf-8".parse().unwrap());
    let body = serde_json::json!({
        "success": true, "seat": { "id": 123_456, "name": "A123456", "status": true }, "remainingSeats": 876_544,
        "userTtlRemaining": 900, "sequence": 123_456, "reservationId": "e1-123457",
    });
    response.write_body(body.to_string()).ok();
}

pub fn serve() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        println!("listens on http://{}", acceptor.local_addr().expect("an address"));
        let router = Router::with_path("api/v1/seats/reservation/fcfs").post(reserve);
        Server::new(acceptor).serve(router).await;
    });
}
