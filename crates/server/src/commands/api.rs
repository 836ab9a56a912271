//! The running server's API, for the commands that use it.

use std::time::Duration;

use client::{HttpRequest, HttpResponse, Target};
use serde_json::{Value, json};

const TIME: Duration = Duration::from_secs(15);

pub struct Api {
    target: Target,
    /// `Bearer` and the token.
    authorization: Option<String>,
}

impl Api {
    pub fn at(url: &str, token: Option<String>) -> Result<Api, String> {
        let target = Target::resolve(url).map_err(|why| format!("--url {why}"))?;
        Ok(Api { target, authorization: token.map(|token| format!("Bearer {token}")) })
    }

    pub fn get(&self, path: &str) -> Result<Value, String> {
        self.ask(HttpRequest::get(path))
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.ask(HttpRequest::post(path).json(body.to_string()))
    }

    pub fn patch(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.ask(HttpRequest::new("PATCH", path).json(body.to_string()))
    }

    pub fn delete(&self, path: &str) -> Result<Value, String> {
        self.ask(HttpRequest::new("DELETE", path))
    }

    /// All pages of a list, as one.
    pub fn every(&self, path: &str, list: &str) -> Result<Value, String> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let mut page = self.get(&format!("{path}?limit=1000{after}"))?;
            if let Value::Array(some) = page[list].take() {
                all.extend(some);
            }
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return Ok(json!({ "success": true, list: all })),
            }
        }
    }

    /// What must be there, by its kind and number.
    pub fn existing(&self, kind: &str, id: u64, path: &str) -> Result<Value, String> {
        self.find(path)?.ok_or_else(|| format!("{kind} {id} does not exist"))
    }

    /// None: there is nothing at that path. The caller knows what it looked for.
    pub fn find(&self, path: &str) -> Result<Option<Value>, String> {
        let answer = self.answer(HttpRequest::get(path))?;
        match self.read(&answer) {
            Err(_) if answer.status == 404 && read(&answer).is_some() => Ok(None),
            told => told.map(Some),
        }
    }

    fn ask(&self, request: HttpRequest) -> Result<Value, String> {
        self.read(&self.answer(request)?)
    }

    pub fn answer(&self, request: HttpRequest) -> Result<HttpResponse, String> {
        let target = &self.target;
        let request = match &self.authorization {
            Some(shown) => request.header("Authorization", shown),
            None => request,
        };
        client::blocking::ask_once(target, request, TIME).map_err(|why| match why.is_not_http() {
            true => self.stranger(),
            false => format!("no server answers at {target}: {why}"),
        })
    }

    /// The JSON of a success, or the message of a refusal.
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
