//! The scripts, each in a file with its contract on top. A gateway runs the very same ones.

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
    pub holds: Script,
}

impl Scripts {
    pub(super) fn new() -> Scripts {
        Scripts {
            arrive: Script::new(ARRIVE),
            open: Script::new(OPEN),
            settle: Script::new(SETTLE),
            left: Script::new(LEFT),
            holds: Script::new(include_str!("scripts/holds.lua")),
        }
    }
}
