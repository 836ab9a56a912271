//! Signatures according to Standard Webhooks: HMAC-SHA256 over id, timestamp and body, with every secret that is
//! currently valid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use rules::time::Moment;
use sha2::Sha256;
use stores::ledger::webhooks::Webhook;

/// The secret as shown to a receiver: `whsec_` and base64.
pub fn shown(secret: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(secret))
}

/// The header `webhook-signature`: one signature per secret, the newest first.
pub fn signatures(webhook: &Webhook, now: Moment, id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut all = vec![signature(&webhook.secret, id, timestamp, body)];
    if let Some((old, ends_at)) = &webhook.old_secret
        && now < *ends_at
    {
        all.push(signature(old, id, timestamp, body));
    }
    all.join(" ")
}

fn signature(secret: &[u8], id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn the_published_example_is_met() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
