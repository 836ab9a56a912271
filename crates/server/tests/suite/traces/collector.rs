//! A collector of traces: an HTTP server that keeps what it is sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub struct Collector {
    pub address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    exports: Vec<(Vec<String>, Value)>,
    /// The first answers; then 200.
    answers: Vec<&'static str>,
}

impl Collector {
    pub async fn start() -> Collector {
        Collector::answering(Vec::new()).await
    }

    /// Its first answers have these status lines.
    pub async fn answering(answers: Vec<&'static str>) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::new(Mutex::new(Kept { exports: Vec::new(), answers }));
        let shared = kept.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Collector { address, kept }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Head lines and bodies, in order.
    pub fn exports(&self) -> Vec<(Vec<String>, Value)> {
        self.kept.lock().unwrap().exports.clone()
    }

    pub fn spans(&self) -> Vec<Value> {
        let mut spans = Vec::new();
        for (_, body) in self.exports() {
            for resource in body["resourceSpans"].as_array().unwrap() {
                for scope in resource["scopeSpans"].as_array().unwrap() {
                    spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
                }
            }
        }
        spans
    }

    /// The spans, as soon as they are these.
    pub async fn spans_when(&self, what: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "never: {what}; {spans:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn serve(stream: TcpStream, kept: Arc<Mutex<Kept>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (Vec::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            if let Some(given) = line.to_lowercase().strip_prefix("content-length:") {
                length = given.trim().parse().unwrap();
            }
            head.push(line);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let status = {
            let mut kept = kept.lock().unwrap();
            let status = if kept.answers.is_empty() { "200 OK" } else { kept.answers.remove(0) };
            if status.starts_with("200") {
                kept.exports.push((head, serde_json::from_slice(&body).expect("JSON")));
            }
            status
        };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
