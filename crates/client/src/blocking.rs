//! The same for code without an async runtime, such as a command.

use std::time::Duration;

use crate::api::{ApiCall, ApiClient, ApiError};
use crate::{ClientError, HttpRequest, HttpResponse, Target};

/// [`crate::ask_once`] on the calling thread. Not for use inside a runtime.
pub fn ask_once(target: &Target, request: HttpRequest, time: Duration) -> Result<HttpResponse, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ClientError::Connect)?;
    runtime.block_on(crate::ask_once(target, request, time))
}

/// [`ApiClient::answer`] on the calling thread. Not for use inside a runtime.
pub fn answer<T>(client: &mut ApiClient, call: &ApiCall<T>) -> Result<HttpResponse, ApiError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| ApiError::Unreachable { why: ClientError::Connect(why), key: None })?;
    runtime.block_on(client.answer(call))
}
