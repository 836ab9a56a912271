//! Pages of other sites (`CORS_ORIGINS`). A browser lets a page read an answer only if the answer names the
//! page's origin, and asks first (preflight) before it sends anything but a plain request. Origins are exact;
//! there is no wildcard, so cookies may be sent.

use salvo::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    CACHE_CONTROL, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, Method, ResBody, StatusCode};
use salvo::hyper::Response;

/// Response headers that pages may read, beside those that every page may.
pub const EXPOSED: &str =
    "Retry-After, ETag, X-Request-Id, Idempotent-Replayed, WWW-Authenticate, Content-Language, Allow, X-Next";
/// Request headers that the API knows; the user header comes on top.
const SENT: &str = "Authorization, Content-Type, Api-Version, Idempotency-Key, X-Idempotency-Key, X-Entry-Token, \
                    X-Queue-Ticket, X-Request-Id, If-None-Match, Last-Event-ID, Accept-Language";
const METHODS: &str = "GET, HEAD, POST, PATCH, DELETE";
/// Seconds for which a browser need not ask again. Chromium takes no more.
const MAX_AGE: &str = "7200";

#[derive(Debug)]
pub struct CrossOrigin {
    origins: Vec<HeaderValue>,
    sent: HeaderValue,
}

impl CrossOrigin {
    /// None: pages of other sites get nothing.
    pub fn new(origins: &[String], user_header: &HeaderName) -> Option<CrossOrigin> {
        let origins: Vec<_> = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
        let sent = HeaderValue::from_str(&format!("{SENT}, {user_header}")).unwrap_or(HeaderValue::from_static(SENT));
        (!origins.is_empty()).then_some(CrossOrigin { origins, sent })
    }

    /// The origin of the request, if its pages may read the answer.
    pub fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut shown = headers.get_all(ORIGIN).iter();
        let (Some(origin), None) = (shown.next(), shown.next()) else { return None };
        self.origins.iter().find(|known| *known == origin).cloned()
    }

    /// The answer to a browser that asks before it sends a request of an allowed page.
    pub fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response<ResBody>> {
        if method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let origin = self.allowed(headers)?;
        let mut answer = Response::new(ResBody::None);
        *answer.status_mut() = StatusCode::NO_CONTENT;
        let head = answer.headers_mut();
        head.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        head.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.sent.clone());
        head.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
        head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        head.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        self.mark(head, Some(origin));
        Some(answer)
    }

    /// Says who may read an answer. A cache must keep the answers to different pages apart, also those to none.
    pub fn mark(&self, head: &mut HeaderMap, origin: Option<HeaderValue>) {
        head.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = origin else { return };
        head.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        head.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        head.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
}
