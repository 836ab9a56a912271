//! The ceiling: a bare Salvo handler that parses and validates the same request, answers the same body and
//! stores nothing.

use salvo::prelude::*;

use super::form;

#[derive(Clone)]
struct Ceiling;

#[async_trait]
impl Handler for Ceiling {
    async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
        match form::read(request).await {
            Some(_) => form::answer(response, form::next_seat()),
            None => form::refuse(response, StatusCode::BAD_REQUEST),
        }
    }
}

pub fn serve() {
    super::serve(async { Ceiling });
}
