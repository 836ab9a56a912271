//! The running server's API, for the commands that use it.

use std::time::Duration;

use client::api::answers::ListPage;
use client::api::{ApiCall, ApiClient, ApiError, Persistence};
use client::{HttpResponse, Target};
use serde_json::{Value, json};

/// A busy server is asked again, one that is not there is not waited for.
const PERSISTENCE: Persistence =
    Persistence { attempts: 4, within: Duration::from_secs(20), patience: Duration::from_secs(15), reconnect: false };

pub struct Api {
    target: Target,
    token: Option<String>,
}

impl Api {
    pub fn at(url: &str, token: Option<String>) -> Result<Api, String> {
        let target = Target::resolve(url).map_err(|why| format!("--url {why}"))?;
        Ok(Api { target, token })
    }

    /// The JSON of a success, or the message of a refusal.
    pub fn ask<T>(&self, call: ApiCall<T>) -> Result<Value, String> {
        self.read(&self.answer(call)?)
    }

    /// All pages of a list, as one.
    pub fn every<T>(&self, list: &str, page: impl Fn(Option<&str>) -> ApiCall<ListPage<T>>) -> Result<Value, String> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut found = self.ask(page(after.as_deref()))?;
            if let Value::Array(some) = found[list].take() {
                all.extend(some);
            }
            match found["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => return Ok(json!({ "success": true, list: all })),
            }
        }
    }

    /// What must be there, by its kind and number.
    pub fn existing<T>(&self, kind: &str, id: i64, call: ApiCall<T>) -> Result<Value, String> {
        let answer = self.answer(call)?;
        match self.read(&answer) {
            Err(_) if answer.status == 404 && read(&answer).is_some() => Err(format!("{kind} {id} does not exist")),
            told => told,
        }
    }

    pub fn answer<T>(&self, call: ApiCall<T>) -> Result<HttpResponse, String> {
        let target = &self.target;
        let call = match &self.token {
            Some(token) => call.bearer(token),
            None => call,
        };
        let mut client = ApiClient::new(target.clone()).with_persistence(PERSISTENCE);
        let answer = client::blocking::answer(&mut client, &call);
        answer.map_err(|error| match error {
            ApiError::Unreachable { why, .. } if !why.is_not_http() => format!("no server answers at {target}: {why}"),
            _ => self.stranger(),
        })
    }

    pub fn read(&self, answer: &HttpResponse) -> Result<Value, String> {
        read(answer).ok_or_else(|| self.stranger())?
    }

    fn stranger(&self) -> String {
        format!("what answers at {} is not Tickettock", self.target)
    }
}

/// None: not an answer of ours.
fn read(answer: &HttpResponse) -> Option<Result<Value, String>> {
    let body = answer.json().ok()?;
    if answer.is_success() {
        return Some(Ok(body));
    }
    let message = body["message"].as_str()?;
    let hint = match body["reason"].as_str() {
        Some("unauthorized") => " Give ADMIN_TOKEN, or DATA_DIR as the server has it.",
        _ => "",
    };
    Some(Err(format!("{message}{hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &'static str) -> HttpResponse {
        HttpResponse { status, headers: Default::default(), body: body.into() }
    }

    #[test]
    fn success_is_json_and_a_refusal_its_message() {
        let ok = read(&answer(200, r#"{"success":true}"#)).unwrap();
        assert_eq!(ok.unwrap()["success"], true);
        let no = read(&answer(409, r#"{"reason":"in_use","message":"It is in use."}"#)).unwrap();
        assert_eq!(no.unwrap_err(), "It is in use.");
        assert!(read(&answer(200, "<html>")).is_none(), "something else answers there");
    }
}
