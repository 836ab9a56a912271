//! A deployment under overload: the server and all that belongs to it on one core.

use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::probe::Probing;
use super::{GATEWAY_GOALS, GOALS};
use crate::crowd::{Coming, CrowdFigures, CrowdLoad, Manners};
use crate::gateway::Gateway;
use crate::measure::{Bench, MANY_SEATS, myself};
use crate::processor::{self, GENERATOR_CORE, PartCore, SERVER_CORE};
use crate::product::ServerData;
use crate::running::Running;
use crate::services::free_port;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverloadPlace {
    Embedded,
    /// With a part of its core, so that the generator can send ten times the peak.
    Part,
    /// One server on Redis and PostgreSQL.
    Scaled,
    /// The same behind the gateway, and all of it with half a core, for the same reason.
    Gateway,
}

impl OverloadPlace {
    pub fn name(self) -> &'static str {
        match self {
            OverloadPlace::Embedded => "embedded",
            OverloadPlace::Part => "embedded, an eighth of a core",
            OverloadPlace::Scaled => "scaled",
            OverloadPlace::Gateway => "gateway, half a core",
        }
    }

    pub fn goals(self) -> [f64; 5] {
        if self == OverloadPlace::Gateway { GATEWAY_GOALS } else { GOALS }
    }
}

pub struct OverloadStand<'a> {
    bench: &'a Bench,
    server: Running,
    gateway: Option<Gateway>,
    operators: SocketAddr,
    data: ServerData,
    part: Option<PartCore>,
    _folders: Vec<TempDir>,
}

impl<'a> OverloadStand<'a> {
    pub fn start(bench: &'a Bench, place: OverloadPlace) -> OverloadStand<'a> {
        let operators = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let (mut data, folder) = match place {
            OverloadPlace::Embedded | OverloadPlace::Part => {
                let folder = bench.empty();
                (ServerData::embedded(folder.path()), folder)
            }
            OverloadPlace::Scaled | OverloadPlace::Gateway => {
                bench.pin_services(SERVER_CORE);
                bench.scaled()
            }
        };
        data.services.push(("ADMIN_LISTEN", operators.to_string()));
        let (server, _) = data.serve_on(Some(SERVER_CORE), MANY_SEATS);
        let mut folders = vec![folder];
        let gateway = (place == OverloadPlace::Gateway).then(|| {
            let folder = bench.empty();
            let gateway = Gateway::start(folder.path(), &[server.address], &bench.redis_url());
            gateway.pin(SERVER_CORE);
            folders.push(folder);
            gateway
        });
        let part = match place {
            OverloadPlace::Embedded | OverloadPlace::Scaled => None,
            OverloadPlace::Part => Some(PartCore::new(8, &[server.id()])),
            OverloadPlace::Gateway => {
                let all = [server.id()].into_iter().chain(bench.service_ids()).chain(gateway.as_ref().map(Gateway::id));
                Some(PartCore::new(2, &all.collect::<Vec<_>>()))
            }
        };
        let part = part.map(|part| part.expect("a control group, which takes root"));
        OverloadStand { bench, server, gateway, operators, data, part, _folders: folders }
    }

    /// The generator, as processes of its own on its own core.
    pub fn crowd(&self, come: Coming, time: Duration, manners: Manners) -> CrowdFigures {
        let target = self.gateway.as_ref().map_or(self.server.address, |gateway| gateway.address);
        let load = CrowdLoad { target, come, time, manners, seed: self.bench.next_seed(), part: false };
        // At a whole core several processes would only fill the generator's own.
        let parts = if self.part.is_some() { load.parts(|| self.bench.next_seed()) } else { vec![load] };
        let running: Vec<Child> = parts.iter().map(generator).collect();
        let ended = running.into_iter().map(|child| {
            let output = child.wait_with_output().expect("its output");
            assert!(output.status.success(), "the generator: {}", String::from_utf8_lossy(&output.stderr));
            serde_json::from_slice(&output.stdout).expect("figures")
        });
        CrowdFigures::together(ended.collect())
    }

    pub fn probe(&self) -> Probing {
        Probing::start(self.operators)
    }

    /// Of the server alone.
    pub fn processor_seconds(&self) -> f64 {
        processor::seconds(self.server.id())
    }

    /// Of the server: now, and at its highest.
    pub fn memory_mib(&self) -> (f64, f64) {
        self.server.memory_mib()
    }

    /// Kills it, and checks its ledger: nothing sold twice, order kept.
    pub fn end(self) {
        let OverloadStand { server, gateway, data, part, _folders, .. } = self;
        drop((gateway, server, part));
        data.verify();
    }
}

fn generator(load: &CrowdLoad) -> Child {
    let load = serde_json::to_string(load).expect("JSON");
    let mut command = processor::pinned(GENERATOR_CORE, myself().args(["crowd", &load]));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("taskset runs")
}
