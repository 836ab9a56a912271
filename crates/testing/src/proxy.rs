//! A wire that can be cut: TCP from a test's server to one of its services, with faults on demand.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What happens to what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFault {
    None,
    /// Connections are closed, and new ones too.
    Reset,
    /// Nothing passes and nothing is said: a cable that was pulled.
    Silence,
    /// Everything takes this much longer.
    Delay(Duration),
}

/// What happens to one in `every` messages that carry `word`.
#[derive(Clone, Debug)]
pub struct Cut {
    pub word: &'static [u8],
    pub every: u64,
    /// The message reaches the service this much after the caller lost its connection; none: never.
    pub forwarded_after: Option<Duration>,
}

pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: Mutex<SocketAddr>,
    fault: watch::Sender<WireFault>,
    cut: Mutex<Option<Cut>>,
    seen: AtomicU64,
    fired: AtomicU64,
}

impl Proxy {
    pub async fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            to: Mutex::new(([127, 0, 0, 1], port).into()),
            fault: watch::Sender::new(WireFault::None),
            cut: Mutex::default(),
            seen: AtomicU64::new(0),
            fired: AtomicU64::new(0),
        });
        tokio::spawn(accept(listener, shared.clone()));
        Proxy { address, shared }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn set(&self, fault: WireFault) {
        self.shared.fault.send_replace(fault);
    }

    /// New connections go there: a failover behind one address.
    pub fn redirect(&self, port: u16) {
        *self.shared.to.lock().expect("no panic under it") = ([127, 0, 0, 1], port).into();
    }

    pub fn cut(&self, cut: Option<Cut>) {
        *self.shared.cut.lock().expect("no panic under it") = cut;
    }

    /// How often something was cut: the proof that the fault fired.
    pub fn fired(&self) -> u64 {
        self.shared.fired.load(SeqCst)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((caller, _)) = listener.accept().await {
        if *shared.fault.borrow() == WireFault::Reset {
            shared.fired.fetch_add(1, SeqCst);
            continue;
        }
        tokio::spawn(carry(caller, shared.clone()));
    }
}

async fn carry(caller: TcpStream, shared: Arc<Shared>) {
    let to = *shared.to.lock().expect("no panic under it");
    let Ok(service) = TcpStream::connect(to).await else { return };
    let _ = (caller.set_nodelay(true), service.set_nodelay(true));
    let (from_caller, to_caller) = caller.into_split();
    let (from_service, to_service) = service.into_split();
    let mut fault = shared.fault.subscribe();
    let forth = forth(from_caller, to_service, &shared);
    let back = back(from_service, to_caller, &shared);
    tokio::select! {
        _ = forth => {}
        _ = back => {}
        _ = fault.wait_for(|fault| *fault == WireFault::Reset) => { shared.fired.fetch_add(1, SeqCst); }
    }
}

/// Waits as the fault of the moment says.
async fn pass(shared: &Shared) {
    let mut fault = shared.fault.subscribe();
    let now = *fault.borrow_and_update();
    match now {
        WireFault::Silence => {
            shared.fired.fetch_add(1, SeqCst);
            let _ = fault.wait_for(|fault| *fault != WireFault::Silence).await;
        }
        WireFault::Delay(time) => {
            shared.fired.fetch_add(1, SeqCst);
            tokio::time::sleep(time).await;
        }
        WireFault::None | WireFault::Reset => {}
    }
}

async fn forth(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Arc<Shared>) -> std::io::Result<()> {
    let mut bytes = vec![0; 256 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        pass(shared).await;
        if let Some(cut) = shared.to_cut(&bytes[..count]) {
            shared.fired.fetch_add(1, SeqCst);
            if let Some(after) = cut.forwarded_after {
                let message = bytes[..count].to_vec();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    let _ = to.write_all(&message).await;
                    // The service reads it before it sees that nobody is there any more.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                });
            }
            return Ok(());
        }
        to.write_all(&bytes[..count]).await?;
    }
}

async fn back(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) -> std::io::Result<()> {
    let mut bytes = vec![0; 256 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        pass(shared).await;
        to.write_all(&bytes[..count]).await?;
    }
}

impl Shared {
    fn to_cut(&self, message: &[u8]) -> Option<Cut> {
        let cut = self.cut.lock().expect("no panic under it").clone()?;
        let carries = message.windows(cut.word.len()).any(|part| part == cut.word);
        let nth = if carries { self.seen.fetch_add(1, SeqCst) } else { return None };
        (nth % cut.every == cut.every - 1).then_some(cut)
    }
}
