//! Settings of what operators see: slow requests and traces.

use std::fmt;
use std::time::Duration;

use salvo::http::{HeaderName, HeaderValue};
use url::Url;

use super::BadSetting;
use super::typed::Reading;

#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// Requests that take longer are logged. None: none is.
    pub slow: Option<Duration>,
    /// None: there are no traces.
    pub traces: Option<TraceSettings>,
}

#[derive(Clone)]
pub struct TraceSettings {
    /// With its path.
    pub endpoint: Url,
    /// They may hold secrets.
    pub headers: Vec<(String, String)>,
    /// Of the requests whose callers do not decide.
    pub ratio: f64,
    pub service: String,
}

impl fmt::Debug for TraceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSettings").field("endpoint", &self.endpoint.as_str()).finish_non_exhaustive()
    }
}

impl WatchSettings {
    pub(super) fn understand(read: &Reading<'_>) -> Result<WatchSettings, BadSetting> {
        let slow = read.within("SLOW_REQUEST_MS", 0, 3_600_000)? as u64;
        Ok(WatchSettings { slow: (slow > 0).then(|| Duration::from_millis(slow)), traces: traces(read)? })
    }
}

fn traces(read: &Reading<'_>) -> Result<Option<TraceSettings>, BadSetting> {
    let ratio: f64 = read.parsed("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1")?;
    if !(0.0..=1.0).contains(&ratio) {
        return Err(read.bad("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1"));
    }
    let headers = headers(read)?;
    let name = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let text = read.text(name).trim();
    if text.is_empty() {
        return Ok(None);
    }
    let expected = || read.bad(name, "http://host:port or https://host:port");
    let endpoint = Url::parse(&format!("{}/v1/traces", text.trim_end_matches('/'))).map_err(|_| expected())?;
    let bare = endpoint.username().is_empty() && endpoint.password().is_none() && endpoint.query().is_none();
    if !matches!(endpoint.scheme(), "http" | "https") || !endpoint.has_host() || !bare {
        return Err(expected());
    }
    Ok(Some(TraceSettings { endpoint, headers, ratio, service: read.text("OTEL_SERVICE_NAME").trim().to_owned() }))
}

/// `name=value,name=value`. A value may have `=`.
fn headers(read: &Reading<'_>) -> Result<Vec<(String, String)>, BadSetting> {
    let name = "OTEL_EXPORTER_OTLP_HEADERS";
    let all = read.text(name).split(',').map(str::trim).filter(|one| !one.is_empty());
    let one = |text: &str| {
        let (key, value) = text.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        let sound = key.parse::<HeaderName>().is_ok() && HeaderValue::from_str(value).is_ok();
        sound.then(|| (key.to_owned(), value.to_owned()))
    };
    all.map(|text| one(text).ok_or_else(|| read.bad(name, "name=value, separated by commas"))).collect()
}

#[cfg(test)]
mod tests {
    use crate::settings::{Settings, Values};

    fn with(pairs: &[(&str, &str)]) -> Result<Option<super::TraceSettings>, String> {
        let environment = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        let settings = Settings::understand(&Values::gather(|_| None, environment, None).unwrap());
        settings.map(|settings| settings.watching.traces).map_err(|bad| bad.to_string())
    }

    #[test]
    fn endpoint_gets_its_path_and_headers() {
        assert!(with(&[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a=b, other = c");
        let traces = with(&[endpoint, headers, ("OTEL_TRACES_SAMPLER_ARG", "0.5")]).unwrap().unwrap();
        assert_eq!((traces.endpoint.as_str(), traces.ratio), ("http://collector:4318/v1/traces", 0.5));
        let two = [("x-key".to_owned(), "a=b".to_owned()), ("other".into(), "c".into())];
        assert_eq!(traces.headers, two);
        assert!(!format!("{traces:?}").contains("a=b"));
        let within = with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://host/otlp")]).unwrap().unwrap();
        assert_eq!(within.endpoint.as_str(), "https://host/otlp/v1/traces");
        for (name, bad) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:word@collector"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "no value"),
            ("OTEL_TRACES_SAMPLER_ARG", "1.5"),
            ("OTEL_TRACES_SAMPLER_ARG", "NaN"),
        ] {
            let why = with(&[(name, bad)]).unwrap_err();
            assert!(why.starts_with(name) && !why.contains("no value"), "{why}");
        }
    }

    #[test]
    fn slow_requests_are_those_of_a_second_unless_switched_off() {
        let with = |value: Option<&str>| {
            let environment = |name: &str| value.filter(|_| name == "SLOW_REQUEST_MS").map(str::to_owned);
            Settings::understand(&Values::gather(|_| None, environment, None).unwrap()).map(|s| s.watching.slow)
        };
        assert_eq!(with(None).unwrap().unwrap().as_millis(), 1_000);
        assert_eq!(with(Some("0")).unwrap(), None);
        assert!(with(Some("fast")).is_err());
    }
}
