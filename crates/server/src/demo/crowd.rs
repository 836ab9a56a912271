//! A rush inside the demo, and its verdict: numbers that were counted, and how.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{HttpRequest, Target};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::control::{DemoControl, DemoCrowd, DemoPhase, DemoState};
use super::stock;
use crate::rush::buyer::user;
use crate::rush::crowd::{CrowdStop, Live, come};
use crate::rush::goodput::Goodput;
use crate::rush::plan::{EventChoice, RushPlan};
use crate::rush::proof::{Listed, Proof, audited, listed, prove};
use crate::rush::report;
use crate::rush::shop::Shop;
use crate::rush::tally::{Memory, RushFigures, RushOutcome};

const RATE: f64 = 2_000.0;
/// How often the server is asked for its list while it may still be starting.
const LIST_TRIES: u32 = 40;
const ASK_TIME: Duration = Duration::from_secs(15);
const LIST_AGAIN: Duration = Duration::from_millis(500);

/// How it goes, told to the console with every change.
pub struct DemoBoard {
    control: DemoControl,
    state: Mutex<DemoState>,
}

impl DemoBoard {
    pub fn new(control: DemoControl) -> DemoBoard {
        DemoBoard { control, state: Mutex::default() }
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut DemoState) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(|p| p.into_inner());
        let changed = change(&mut state);
        // The next change tells it again.
        let _ = self.control.tell(&state);
        changed
    }
}

pub struct DemoRush {
    pub target: Target,
    pub admin_token: String,
    pub crowd: DemoCrowd,
    pub board: Arc<DemoBoard>,
    /// Set when the plug is to be pulled.
    pub pull: Arc<AtomicBool>,
}

impl DemoRush {
    pub async fn run(self) {
        let board = self.board.clone();
        match self.verdict().await {
            Ok(verdict) => board.change(|state| {
                state.phase = DemoPhase::Done;
                state.verdict = Some(verdict);
            }),
            Err(why) => board.change(|state| {
                state.phase = DemoPhase::Failed;
                state.error = Some(why);
            }),
        }
    }

    async fn verdict(self) -> Result<Value, String> {
        let crowd = self.crowd;
        let run = self.board.change(|state| {
            let run = state.run + 1;
            *state = DemoState { phase: DemoPhase::Rushing, run, crowd: Some(crowd), ..DemoState::default() };
            run
        });
        let event = self.make_event(run).await?;
        self.board.change(|state| state.event_id = Some(event));
        let plan = Arc::new(self.plan(event));
        let shop = Arc::new(Shop::visit(&plan).await?);
        let name: Arc<str> = uuid::Uuid::new_v4().simple().to_string()[..8].into();
        let stop = CrowdStop::default();
        let memories = come(plan.clone(), shop.clone(), name.clone(), &stop, |live| self.watch(live)).await;
        self.board.change(|state| state.phase = DemoPhase::Counting);
        let listed = self.list(&shop).await?;
        let mut proof = prove(&name, &memories, Some(&listed));
        proof.invariants_broken = audited(&shop).await;
        let figures = RushFigures::of(&memories, memories.len() as u64);
        let goodput = Goodput::of(&memories, plan.arrivals(), plan.due(plan.arrivals()));
        let mut verdict = report::machine(&figures, &goodput, &proof);
        add(&mut verdict, &counted(&name, &memories, &listed, &proof, u64::from(crowd.buyers)));
        Ok(verdict)
    }

    fn watch(&self, live: &Live) {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let reserved = count(&live.reserved);
        self.board.change(|state| {
            (state.arrived, state.settled, state.reserved) = (count(&live.arrived), count(&live.settled), reserved);
        });
        let quarter = u64::from(self.crowd.seats.min(self.crowd.buyers)).div_ceil(4);
        if self.crowd.pull_the_plug && reserved >= quarter && self.board.change(|state| state.plug.is_none()) {
            self.pull.store(true, Ordering::Release);
        }
    }

    async fn make_event(&self, run: u32) -> Result<i64, String> {
        let body = stock::rush_event(run, self.crowd.seats);
        let made = ask(&self.target, &self.admin_token, "/api/v1/admin/events", &body).await?;
        made["event"]["id"].as_i64().ok_or_else(|| "the server showed no event".into())
    }

    fn plan(&self, event: i64) -> RushPlan {
        let share = |percent: u32| f64::from(percent) / 100.0;
        RushPlan {
            target: self.target.clone(),
            sale: EventChoice::Event(event),
            buyers: u64::from(self.crowd.buyers),
            rate: RATE,
            ramp: Duration::from_secs(1),
            duration: None,
            double_click: share(self.crowd.double_click),
            lost_answers: share(self.crowd.lost_answers),
            cancel: share(self.crowd.cancel),
            admin_token: Some(self.admin_token.clone()),
        }
    }

    /// Everything the ledger sold. The server may be on its way back.
    async fn list(&self, shop: &Shop) -> Result<Vec<Listed>, String> {
        let mut tries = 1;
        loop {
            match listed(shop).await {
                Err(_) if tries < LIST_TRIES => sleep(LIST_AGAIN).await,
                told => return told,
            }
            tries += 1;
        }
    }
}

/// Creates something through the admin API.
pub async fn ask(target: &Target, token: &str, path: &str, body: &Value) -> Result<Value, String> {
    send(target, token, HttpRequest::post(path).json(body.to_string())).await
}

/// As the operator.
pub async fn send(target: &Target, token: &str, request: HttpRequest) -> Result<Value, String> {
    let request = request.header("Authorization", format!("Bearer {token}"));
    let answer = client::ask_once(target, request, ASK_TIME).await.map_err(|e| format!("{target}: {e}"))?;
    let told = answer.json().map_err(|e| format!("{target}: {e}"))?;
    if answer.is_success() { Ok(told) } else { Err(format!("{target}: {}", told["message"])) }
}

/// People, not answers: whoever clicked twice is one.
fn counted(run: &str, memories: &[Memory], listed: &[Listed], proof: &Proof, buyers: u64) -> Value {
    let who = |wanted: fn(&RushOutcome) -> bool| -> HashSet<u64> {
        memories.iter().filter(|memory| wanted(&memory.outcome)).map(|memory| memory.buyer).collect()
    };
    let owners: HashSet<&str> = listed.iter().map(|one| one.user.as_str()).collect();
    let mut with_seat = who(|outcome| matches!(outcome, RushOutcome::Reserved { .. }));
    with_seat.extend((0..buyers).filter(|buyer| owners.contains(user(run, *buyer).as_str())));
    let sold_out = who(|outcome| outcome.name() == "sold_out");
    json!({
        "buyers": buyers,
        "soldByLedger": listed.len(),
        "receipts": proof.sold,
        "gaveUp": buyers - with_seat.union(&sold_out).count() as u64,
        "sentence": format!(
            "{} sold, {} sold twice, {} lost, {} told sold out",
            report::grouped(listed.len() as u64),
            report::grouped(proof.sold_twice),
            report::grouped(proof.lost),
            report::grouped(proof.told_sold_out)
        ),
    })
}

fn add(verdict: &mut Value, more: &Value) {
    if let (Some(verdict), Some(more)) = (verdict.as_object_mut(), more.as_object()) {
        verdict.extend(more.clone());
    }
}
