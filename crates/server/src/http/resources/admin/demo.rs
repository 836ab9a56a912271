//! What the console asks the demo for. These operations exist in a demo only.

use std::sync::Arc;

use rules::outcome::Refusal;
use serde_json::json;

use super::fields::AdminFields;
use crate::app::App;
use crate::auth::{Admin, Viewer};
use crate::demo::control::{DemoControl, DemoCrowd, DemoWish};
use crate::http::openapi::operations::read;
use crate::http::openapi::{Doc, Gives};
use crate::http::plumbing::body::{Json, SentBody};
use crate::http::plumbing::call::Call;
use crate::http::plumbing::json::Node;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::{Reply, Success};

const BUYERS_MOST: u32 = 200_000;
const SEATS_MOST: u32 = 20_000;

const GIVES: &[Gives] = &[Gives { status: Success::Ok, kind: "application/json", schema: None }];
pub const STATE: Doc = read("demoState", "demo", "How the rush of the demo goes.", GIVES);
pub const RUSH: Doc = read("demoRush", "demo", "Start a rush.", GIVES);
pub const PLUG: Doc = read("demoPlug", "demo", "Kill the serving process in the middle of a rush.", GIVES);

pub async fn state(app: Arc<App>, _: Call<Viewer>) -> Handled {
    let told = control(&app)?.told();
    Ok(Reply::ok(&json!({ "success": true, "demo": told })))
}

pub async fn rush(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let names = ["buyers", "seats", "doubleClick", "lostAnswers", "cancel", "pullThePlug"];
    let fields = AdminFields::read(&call.sent, names)?;
    let usual = DemoCrowd::default();
    let percent = |name, usual| fields.whole(name, 0, 50).map(|given| given.unwrap_or(usual));
    let crowd = DemoCrowd {
        buyers: fields.whole("buyers", 1, BUYERS_MOST)?.unwrap_or(usual.buyers),
        seats: fields.whole("seats", 1, SEATS_MOST)?.unwrap_or(usual.seats),
        double_click: percent("doubleClick", usual.double_click)?,
        lost_answers: percent("lostAnswers", usual.lost_answers)?,
        cancel: percent("cancel", usual.cancel)?,
        pull_the_plug: fields.given("pullThePlug").map(Node::yes_or_no).transpose()?.unwrap_or(false),
    };
    wish(&app, DemoWish::Rush(crowd))?;
    Ok(Reply::done())
}

pub async fn plug(app: Arc<App>, _: Call<Admin>) -> Handled {
    wish(&app, DemoWish::Plug)?;
    Ok(Reply::done())
}

fn wish(app: &App, wish: DemoWish) -> Result<(), Refusal> {
    control(app)?.ask(wish).map_err(|error| {
        tracing::error!(%error, "the wish cannot be left in the demo's folder");
        Refusal::Internal
    })
}

fn control(app: &App) -> Result<DemoControl, Refusal> {
    app.settings.demo_control.clone().map(DemoControl::at).ok_or(Refusal::NotFound)
}
