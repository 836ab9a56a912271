//! Faults planted into every step of the lane, on a real SQLite ledger, for both kinds of subject.
//! Whatever fails: every request is answered or its channel closes, the depth returns to 0, and the
//! subject serves on.

mod faulty;
mod fixture;
mod planted;
mod queue;

pub use self::faulty::Planted;

/// Runs a test for each kind of subject: `for_both_kinds!(name, other, ...)`.
macro_rules! for_both_kinds {
    ($($test:ident),+ $(,)?) => {
        mod event {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test::<rules::event::Event>().await;
            })+
        }
        mod room_type {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test::<rules::room_type::RoomType>().await;
            })+
        }
    };
}
use for_both_kinds;
