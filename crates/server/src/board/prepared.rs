//! The list at one moment: its pages, and the bodies that readers have asked for so far.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt, unfold};
use rules::history::{EventRecord, Happened};
use rules::ids::Seat;
use rules::outcome::Refusal;
use rules::seats::Hall;
use rules::time::Moment;
use salvo::hyper::body::Bytes;
use stores::ledger::Snapshot;
use stores::ledger::holds::At;
use tokio::sync::OnceCell;

use super::gzip::{Deflated, Member};
use super::page::{PAGE_SEATS, SeatPage, SeatState, Writing};

/// A longer list is sent compressed, or in pages. Its texts would take ten times the memory of its states, and its
/// plain text up to a hundred megabytes per reader.
pub const PLAIN_SEATS_MOST: u32 = 20_000;

pub struct Prepared {
    /// The history number of that moment.
    pub n: u64,
    /// Seats whose hold has lapsed while the history has no row for it yet, in order. They are shown as free.
    lapsed: Vec<Seat>,
    hall: Arc<Hall>,
    pages: Vec<Arc<SeatPage>>,
    /// The same pages by the history alone: lapsed holds still count as held.
    told: Vec<Arc<SeatPage>>,
    /// Seats that are held by the history.
    held: BTreeSet<Seat>,
    keep_texts: bool,
    read_at: Instant,
    /// By format; plain and compressed.
    bodies: [[OnceCell<Body>; 2]; 2],
}

/// A list with more pages than this is streamed: it is not assembled before the first byte is sent.
const TOGETHER_PAGES: usize = 2_000;
/// Pages made at a time for a reader of a streamed list.
const GROUP_PAGES: usize = 16;

/// A list as it is sent: parts in order, shared with other readers.
#[derive(Clone)]
pub enum Body {
    Parts(Arc<[Bytes]>),
    /// Too large to cache or to wait for: parts are generated while it is sent.
    Flowing,
}

impl Prepared {
    pub fn whole(hall: Arc<Hall>, snapshot: &Snapshot, read_at: Instant) -> Prepared {
        let mut states = vec![SeatState::Free; snapshot.seat_count as usize];
        for seat in &snapshot.sold {
            if let Some(state) = states.get_mut(place(*seat)) {
                *state = SeatState::Sold;
            }
        }
        let pages = states.chunks(PAGE_SEATS).enumerate();
        let pages: Vec<_> =
            pages.map(|(i, states)| Arc::new(SeatPage::new((i * PAGE_SEATS) as u32, states.to_vec()))).collect();
        let keep_texts = hall.seat_count() <= PLAIN_SEATS_MOST;
        let (n, told) = (snapshot.n, pages.clone());
        let (lapsed, held, bodies) = Default::default();
        Prepared { n, lapsed, hall, pages, told, held, keep_texts, read_at, bodies }
    }

    /// The list after `changes`. Pages without a change are shared with this one.
    pub fn changed(&self, changes: &[EventRecord], read_at: Instant) -> Prepared {
        let mut touched: Vec<(usize, SeatState)> = Vec::with_capacity(changes.len());
        for change in changes {
            let state = match change.what {
                Happened::Reserved => SeatState::Sold,
                Happened::Held => SeatState::Held,
                Happened::Cancelled | Happened::Released | Happened::Expired | Happened::Replaced => SeatState::Free,
                _ => continue,
            };
            touched.extend(change.seat.map(|seat| (place(seat), state)));
        }
        let pages = turned(&self.told, &mut touched);
        let mut held = self.held.clone();
        for (place, state) in touched {
            let seat = Seat(place as u32 + 1);
            if state == SeatState::Held {
                held.insert(seat)
            } else {
                held.remove(&seat)
            };
        }
        let n = changes.last().map_or(self.n, |change| change.n);
        let same = n == self.n && self.lapsed.is_empty();
        let bodies = if same { self.bodies.clone() } else { Default::default() };
        let (hall, told, keep_texts) = (self.hall.clone(), pages.clone(), self.keep_texts);
        Prepared { n, lapsed: Vec::new(), hall, pages, told, held, keep_texts, read_at, bodies }
    }

    /// Whether some seat is held. Only the ledger's clock knows whether its hold has lapsed.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// The list with these seats on hold. A list just read from a snapshot does not know of any.
    pub fn holding(mut self, seats: &[(Seat, Moment)]) -> Prepared {
        let mut touched: Vec<_> = seats.iter().map(|(seat, _)| (place(*seat), SeatState::Held)).collect();
        self.told = turned(&self.told, &mut touched);
        self.pages = self.told.clone();
        self.held = seats.iter().map(|(seat, _)| *seat).collect();
        self
    }

    /// The list with lapsed holds shown as free, although no history row says so yet. `before` is the list shown
    /// until now: its pages are reused if nothing differs.
    pub fn without_lapsed(mut self, ends: &At<Vec<(Seat, Moment)>>, before: Option<&Prepared>) -> Prepared {
        let lapsed = ends.found.iter().filter(|(seat, end)| *end <= ends.now && self.held.contains(seat));
        self.lapsed = lapsed.map(|(seat, _)| *seat).collect();
        self.lapsed.sort_unstable();
        match before {
            Some(before) if before.n == self.n && before.lapsed == self.lapsed => {
                self.pages = before.pages.clone();
                self.bodies = before.bodies.clone();
            }
            _ => {
                let mut touched: Vec<_> = self.lapsed.iter().map(|seat| (place(*seat), SeatState::Free)).collect();
                self.pages = turned(&self.told, &mut touched);
                // `changed` kept them for an unchanged history, but they show the lapsed seats as held.
                self.bodies = Default::default();
            }
        }
        self
    }

    /// Identifies what is shown: the history number, and how many seats have lapsed since.
    pub fn etag(&self) -> String {
        format!("\"{}.{}\"", self.n, self.lapsed.len())
    }

    pub fn age(&self) -> Duration {
        self.read_at.elapsed()
    }

    /// The list as it is sent. It is generated once, on a blocking thread.
    pub async fn body(self: &Arc<Self>, writing: Writing, gzipped: bool) -> Result<Body, Refusal> {
        if self.pages.len() > TOGETHER_PAGES {
            return Ok(Body::Flowing);
        }
        let making = || async {
            let prepared = self.clone();
            let made = tokio::task::spawn_blocking(move || prepared.parts(writing, gzipped));
            made.await.map(|parts| Body::Parts(parts.into())).map_err(|_| Refusal::Internal)
        };
        self.bodies[writing as usize][usize::from(gzipped)].get_or_try_init(making).await.cloned()
    }

    /// This many seats from `first` on, and where the next page begins.
    pub fn range(&self, writing: Writing, first: Seat, count: usize) -> Vec<u8> {
        let (head, tail) = frame(writing);
        let (from, all) = (place(first), self.hall.seat_count() as usize);
        let to = from.saturating_add(count).min(all);
        let mut text = head.to_vec();
        let pages = self.pages.iter().skip(from / PAGE_SEATS).take_while(|page| page.first_place() < to);
        for page in pages {
            page.write_range(&mut text, &self.hall, writing, from, to);
        }
        if to < all && writing == Writing::Full {
            text.push(b']');
            text.extend_from_slice(format!(r#","next":{}}}"#, to + 1).as_bytes());
        } else {
            text.extend_from_slice(tail);
        }
        text
    }

    fn parts(&self, writing: Writing, gzipped: bool) -> Vec<Bytes> {
        let (head, tail) = frame(writing);
        let mut joining = Joining::new(gzipped);
        let mut parts = joining.text(head);
        for page in &self.pages {
            parts.push(self.page(page, writing, &mut joining));
        }
        parts.extend(joining.text(tail));
        parts.extend(joining.end());
        parts
    }

    fn page(&self, page: &SeatPage, writing: Writing, joining: &mut Joining) -> Bytes {
        match &mut joining.member {
            Some(member) => member.join(page.deflated(&self.hall, writing, self.keep_texts)),
            None => page.text(&self.hall, writing, self.keep_texts),
        }
    }

    /// The same parts as a stream, some pages at a time. No thread waits for a slow reader.
    pub fn flowing(self: Arc<Self>, writing: Writing, gzipped: bool) -> impl Stream<Item = Bytes> + Send + 'static {
        let begin = Flow { prepared: self, joining: Some(Joining::new(gzipped)), writing, next: 0 };
        unfold(begin, |mut flow| async move {
            flow.joining.as_ref()?;
            let made = tokio::task::spawn_blocking(move || (flow.group(), flow));
            made.await.ok()
        })
        .flat_map(stream::iter)
    }
}

struct Flow {
    prepared: Arc<Prepared>,
    /// None: the end was sent.
    joining: Option<Joining>,
    writing: Writing,
    next: usize,
}

impl Flow {
    fn group(&mut self) -> Vec<Bytes> {
        let Some(joining) = &mut self.joining else { return Vec::new() };
        let (head, tail) = frame(self.writing);
        let mut parts = if self.next == 0 { joining.text(head) } else { Vec::new() };
        let prepared = &self.prepared;
        for page in prepared.pages.iter().skip(self.next).take(GROUP_PAGES) {
            parts.push(prepared.page(page, self.writing, joining));
        }
        self.next += GROUP_PAGES;
        if self.next >= prepared.pages.len() {
            parts.extend(joining.text(tail));
            parts.extend(joining.end());
            self.joining = None;
        }
        parts
    }
}

/// Plain parts, or the parts of a gzip member.
struct Joining {
    member: Option<Member>,
}

impl Joining {
    fn new(gzipped: bool) -> Joining {
        Joining { member: gzipped.then(Member::default) }
    }

    fn text(&mut self, text: &'static [u8]) -> Vec<Bytes> {
        match &mut self.member {
            None => vec![Bytes::from_static(text)],
            Some(member) => {
                let begins = member.begins();
                begins.into_iter().chain([member.join(&Deflated::of(text))]).collect()
            }
        }
    }

    fn end(&mut self) -> Option<Bytes> {
        self.member.take().map(Member::end)
    }
}

fn place(seat: Seat) -> usize {
    (seat.0 as usize).wrapping_sub(1)
}

fn frame(writing: Writing) -> (&'static [u8], &'static [u8]) {
    match writing {
        Writing::Full => (br#"{"success":true,"seats":["#, b"]}"),
        Writing::Bare => (b"[", b"]"),
    }
}

/// The pages with changed states. Pages without a change are shared.
fn turned(pages: &[Arc<SeatPage>], touched: &mut [(usize, SeatState)]) -> Vec<Arc<SeatPage>> {
    // A stable sort: the last of several changes of a seat stays last.
    touched.sort_by_key(|(place, _)| *place);
    let mut pages = pages.to_vec();
    for group in touched.chunk_by(|(a, _), (b, _)| a / PAGE_SEATS == b / PAGE_SEATS) {
        let page = group[0].0 / PAGE_SEATS;
        let within: Vec<_> = group.iter().map(|(place, state)| (place % PAGE_SEATS, *state)).collect();
        if let Some(known) = pages.get_mut(page) {
            *known = known.with(&within);
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn snapshot(seat_count: u32, sold: &[u32]) -> Snapshot {
        Snapshot { n: 1, seat_count, sold: sold.iter().copied().map(Seat).collect() }
    }

    fn entry(n: u64, what: Happened, seat: u32) -> EventRecord {
        EventRecord {
            n,
            what,
            seat: Some(Seat(seat)),
            owner: None,
            admin: None,
            number: None,
            at: Moment(0),
            hold: None,
            origin: rules::history::RequestOrigin::default(),
            details: None,
        }
    }

    fn text(prepared: &Arc<Prepared>, writing: Writing) -> String {
        let plain: Vec<u8> = prepared.parts(writing, false).concat();
        let packed: Vec<u8> = prepared.parts(writing, true).concat();
        let mut unpacked = Vec::new();
        flate2::bufread::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert!(plain == unpacked, "both encodings say the same");
        for (gzipped, whole) in [(false, &plain), (true, &packed)] {
            let mut flow = Flow { prepared: prepared.clone(), joining: Some(Joining::new(gzipped)), writing, next: 0 };
            let mut flowed = Vec::new();
            while flow.joining.is_some() {
                flowed.extend(flow.group().concat());
            }
            assert!(flowed == *whole, "what flows is the same");
        }
        String::from_utf8(plain).unwrap()
    }

    #[test]
    fn both_writings_are_json() {
        for seats in [0, 1, 999, 1_000, 1_001, 2_500, 16_000, 33_001] {
            let hall = Arc::new(Hall::Count(seats));
            let list = Arc::new(Prepared::whole(hall, &snapshot(seats, &[1, 1_000]), Instant::now()));
            let full: serde_json::Value = serde_json::from_str(&text(&list, Writing::Full)).unwrap();
            let bare: serde_json::Value = serde_json::from_str(&text(&list, Writing::Bare)).unwrap();
            let (full, bare) = (full["seats"].as_array().unwrap(), bare.as_array().unwrap());
            assert_eq!((full.len(), bare.len()), (seats as usize, seats as usize));
            for (i, (full, bare)) in full.iter().zip(bare).enumerate() {
                let sold = i == 0 || i == 999;
                let state = if sold { "sold" } else { "free" };
                let name = format!("A{}", i + 1);
                assert_eq!(*full, serde_json::json!({"id": i + 1, "name": name, "status": sold, "state": state}));
                assert_eq!(*bare, serde_json::json!({"id": i + 1, "status": sold}));
            }
        }
    }

    #[test]
    fn ranges_are_parts_of_the_list() {
        let hall = Arc::new(Hall::Count(2_500));
        let list = Arc::new(Prepared::whole(hall, &snapshot(2_500, &[1, 1_000, 2_500]), Instant::now()));
        let read = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
        for writing in Writing::ALL {
            let whole = read(text(&list, writing).as_bytes());
            let whole = if writing == Writing::Full { &whole["seats"] } else { &whole };
            for (from, count, next) in [
                (1, 1_000, Some(1_001)),
                (1, 1, Some(2)),
                (999, 3, Some(1_002)),
                (500, 1_000, Some(1_500)),
                (1_501, 1_000, None),
                (2_500, 1_000, None),
                (2_501, 1_000, None),
                (u32::MAX, 1_000, None),
            ] {
                let page = read(&list.range(writing, Seat(from), count));
                let full = writing == Writing::Full;
                assert_eq!(page.get("next").and_then(|n| n.as_u64()), next.filter(|_| full), "{from} {count}");
                let seats = if full { page["seats"].as_array() } else { page.as_array() }.unwrap();
                let wanted: Vec<_> = whole.as_array().unwrap().iter().skip(from as usize - 1).take(count).collect();
                assert_eq!(seats.iter().collect::<Vec<_>>(), wanted, "{from} {count}");
            }
        }
    }

    #[test]
    fn lapsed_holds_are_shown_free_and_change_the_etag() {
        let hall = Arc::new(Hall::Count(3_000));
        let states = |list: &Arc<Prepared>| {
            let list: serde_json::Value = serde_json::from_str(&text(list, Writing::Full)).unwrap();
            [1, 2, 2_500].map(|seat: usize| list["seats"][seat - 1]["state"].as_str().unwrap().to_owned())
        };
        let ends = |now: i64| {
            let found = vec![(Seat(1), Moment(10)), (Seat(2_500), Moment(20))];
            At { found, now: Moment(now) }
        };
        let fresh = Prepared::whole(hall, &snapshot(3_000, &[2]), Instant::now()).holding(&ends(0).found);
        let list = Arc::new(fresh.without_lapsed(&ends(9), None));
        assert_eq!((states(&list), list.etag()), (["held", "sold", "held"].map(str::to_owned), "\"1.0\"".into()));
        let later = Arc::new(list.changed(&[], Instant::now()).without_lapsed(&ends(10), Some(&list)));
        assert_eq!((states(&later), later.etag()), (["free", "sold", "held"].map(str::to_owned), "\"1.1\"".into()));
        let same = Arc::new(later.changed(&[], Instant::now()).without_lapsed(&ends(11), Some(&later)));
        assert!(same.pages.iter().zip(&later.pages).all(|(a, b)| Arc::ptr_eq(a, b)), "nothing is made again");
        let turned = [entry(2, Happened::Expired, 1), entry(3, Happened::Held, 2), entry(4, Happened::Reserved, 2_500)];
        let turned = Arc::new(same.changed(&turned, Instant::now()));
        assert_eq!((states(&turned), turned.etag()), (["free", "held", "sold"].map(str::to_owned), "\"4.0\"".into()));
        assert!(turned.holds());
    }

    /// A body that was sent while a hold lived is not sent again once it has lapsed, although the history
    /// has not changed.
    #[tokio::test]
    async fn bodies_are_made_again_when_a_hold_lapses() {
        let ends = |now: i64| At { found: vec![(Seat(2), Moment(10))], now: Moment(now) };
        let held = Prepared::whole(Arc::new(Hall::Count(3)), &snapshot(3, &[]), Instant::now()).holding(&ends(0).found);
        let sent = async |list: &Arc<Prepared>| match list.body(Writing::Bare, false).await.unwrap() {
            Body::Parts(parts) => parts.concat(),
            Body::Flowing => panic!("a small list is kept"),
        };
        let list = Arc::new(held.without_lapsed(&ends(9), None));
        assert_eq!(sent(&list).await, br#"[{"id":1,"status":false},{"id":2,"status":true},{"id":3,"status":false}]"#);
        let same = Arc::new(list.changed(&[], Instant::now()).without_lapsed(&ends(9), Some(&list)));
        assert!(same.bodies[Writing::Bare as usize][0].get().is_some(), "nothing changed, so it is kept");
        let lapsed = Arc::new(same.changed(&[], Instant::now()).without_lapsed(&ends(10), Some(&same)));
        assert_eq!(
            sent(&lapsed).await,
            br#"[{"id":1,"status":false},{"id":2,"status":false},{"id":3,"status":false}]"#
        );
    }

    #[test]
    fn unchanged_pages_are_shared() {
        let hall = Arc::new(Hall::Count(5_000));
        let list = Arc::new(Prepared::whole(hall.clone(), &snapshot(5_000, &[]), Instant::now()));
        let before = text(&list, Writing::Full);
        let changes = [
            entry(2, Happened::Reserved, 1_001),
            entry(3, Happened::Reserved, 4_999),
            entry(4, Happened::Cancelled, 1_001),
            entry(5, Happened::Reserved, 1_002),
            entry(6, Happened::Amended, 1),
            entry(7, Happened::Reserved, 3),
            entry(8, Happened::Cancelled, 3),
        ];
        let after = Arc::new(list.changed(&changes, Instant::now()));
        assert_eq!(after.n, 8);
        let same: Vec<bool> = list.pages.iter().zip(&after.pages).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
        assert_eq!(same, [false, false, true, true, false], "page 0 was touched and came back");
        let whole = Arc::new(Prepared::whole(hall, &snapshot(5_000, &[1_002, 4_999]), Instant::now()));
        assert_eq!(text(&after, Writing::Full), text(&whole, Writing::Full));
        assert_eq!(text(&list, Writing::Full), before, "who reads the older list goes on undisturbed");
    }
}
