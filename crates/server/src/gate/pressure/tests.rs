use futures_util::FutureExt;
use salvo::http::Method;

use super::*;

fn asked(path: &str) -> GateRequest {
    GateRequest::of(&Method::POST, path)
}

#[test]
fn requests_wait_unread_in_order_when_refusing_costs_too_much() {
    let (gate, waker) = (Gate::new(1, OverloadBug::None), Waker::noop());
    let reserve = asked("/api/v1/events/7/seats/reservation/fcfs");
    gate.limit.store(1, Ordering::Relaxed);
    assert_eq!(gate.before_reading(reserve), Unread::Serve);
    let admitted = gate.enter(reserve).unwrap();
    assert_eq!(gate.before_reading(reserve), Unread::Refuse, "there is time to refuse it");
    gate.refusals.spend_all();
    assert_eq!(gate.before_reading(reserve), Unread::Park);
    for important in ["/api/v1/holds/x/confirm", "/api/v1/holds", "/api/v1/admin/events"] {
        assert_eq!(gate.before_reading(asked(important)), Unread::Serve, "{important}");
    }
    let (first, second) = (gate.park(waker), gate.park(waker));
    drop(admitted);
    assert_eq!((first.is_called(waker), second.is_called(waker)), (true, false), "one answer calls one");
    assert_eq!(gate.before_reading(reserve), Unread::Park, "nobody passes those who wait");
    drop(first);
    let admitted = gate.admit(reserve);
    assert!(gate.enter(reserve).is_err());
    drop(admitted);
    assert!(second.is_called(waker) && gate.unread() == 0);
}

#[test]
fn quiet_event_passes_the_crowd_of_another() {
    let gate = Gate::new(1, OverloadBug::None);
    gate.limit.store(4, Ordering::Relaxed);
    let crowd = asked("/api/v1/events/7/seats/reservation/fcfs");
    let _crowd: Vec<_> = (0..4).map(|_| gate.enter(crowd).unwrap()).collect();
    gate.refusals.spend_all();
    assert_eq!(gate.before_reading(crowd), Unread::Park);
    assert_eq!(gate.before_reading(asked("/api/v1/events/8/seats/reservation/fcfs")), Unread::Serve);
}

#[tokio::test]
async fn connections_are_accepted_for_the_room_there_is() {
    let gate = Gate::new(1, OverloadBug::None);
    assert_eq!(gate.accepting().await, Accepting::ToServe);
    gate.calm_beats.store(0, Ordering::Relaxed);
    gate.limit.store(2, Ordering::Relaxed);
    assert_eq!(gate.accepting().await, Accepting::ToAdmit);
    let reserve = asked("/api/v1/events/7/seats/reservation/fcfs");
    let (coming, admitted) = (gate.expect(), gate.admit(reserve));
    assert_eq!(gate.accepting().await, Accepting::ToRefuse, "one is served and one is on its way");
    gate.refusals.spend_all();
    assert!(gate.accepting().now_or_never().is_none(), "the next waits in the backlog");
    drop(admitted);
    assert_eq!(gate.accepting().await, Accepting::ToAdmit);
    let _admitted = gate.admit(reserve);
    drop(coming);
    assert_eq!(gate.accepting().await, Accepting::ToAdmit);
}

#[tokio::test]
async fn sudden_crowd_waits_in_the_backlog_until_the_rate_is_known() {
    let gate = Gate::new(2, OverloadBug::None);
    let reserve = asked("/api/v1/events/7/seats/reservation/fcfs");
    let mut admitted: Vec<_> = (0..3).map(|_| gate.enter(reserve).unwrap()).collect();
    assert_eq!(gate.accepting().await, Accepting::ToServe);
    let coming = gate.expect();
    assert!(gate.accepting().now_or_never().is_none(), "it is neither accepted nor refused");
    drop(coming);
    assert_eq!(gate.accepting().await, Accepting::ToServe);
    admitted.push(gate.enter(reserve).unwrap());
    for _ in 0..=STANDING_BEATS {
        assert!(gate.accepting().now_or_never().is_none());
        assert!(!gate.is_busy());
        gate.measure(BEAT);
    }
    assert!(gate.is_busy(), "the backlog is a standing queue");
    assert_eq!(gate.accepting().await, Accepting::ToRefuse);
    drop(admitted.pop());
    assert_eq!(gate.accepting().await, Accepting::ToAdmit);
}
