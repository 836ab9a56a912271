//! The scripts, each in a file with its contract at the top. The gateway runs the same files.

use redis::Script;

pub const ARRIVE: &str = include_str!("scripts/arrive.lua");
pub const OPEN: &str = include_str!("scripts/open.lua");
pub const SETTLE: &str = include_str!("scripts/settle.lua");
pub const LEFT: &str = include_str!("scripts/left.lua");

pub(super) struct Scripts {
    pub arrive: Script,
    pub open: Script,
    pub settle: Script,
    pub left: Script,
    pub queue_ask: Script,
    pub queue_serving: Script,
    pub queue_begin: Script,
    pub queue_moved: Script,
    pub queue_inside: Script,
    pub queue_forget: Script,
    pub queue_number: Script,
    pub forget: Script,
}

/// The code that the scripts of the line share is prepended to each of them.
macro_rules! of_the_line {
    ($file:literal) => {
        Script::new(concat!(include_str!("scripts/queue_line.lua"), include_str!($file)))
    };
}

impl Scripts {
    pub(super) fn new() -> Scripts {
        Scripts {
            arrive: Script::new(ARRIVE),
            open: Script::new(OPEN),
            settle: Script::new(SETTLE),
            left: Script::new(LEFT),
            queue_ask: of_the_line!("scripts/queue_ask.lua"),
            queue_serving: of_the_line!("scripts/queue_serving.lua"),
            queue_begin: of_the_line!("scripts/queue_begin.lua"),
            queue_moved: of_the_line!("scripts/queue_moved.lua"),
            queue_inside: of_the_line!("scripts/queue_inside.lua"),
            queue_forget: of_the_line!("scripts/queue_forget.lua"),
            queue_number: Script::new(include_str!("scripts/queue_number.lua")),
            forget: Script::new(include_str!("scripts/forget.lua")),
        }
    }
}
