//! The scripts, each in a file with its contract on top.

use redis::Script;

pub struct Scripts {
    pub arrive: Script,
    pub open: Script,
    pub settle: Script,
    pub left: Script,
    pub holds: Script,
}

impl Scripts {
    pub fn new() -> Scripts {
        Scripts {
            arrive: Script::new(include_str!("scripts/arrive.lua")),
            open: Script::new(include_str!("scripts/open.lua")),
            settle: Script::new(include_str!("scripts/settle.lua")),
            left: Script::new(include_str!("scripts/left.lua")),
            holds: Script::new(include_str!("scripts/holds.lua")),
        }
    }
}
