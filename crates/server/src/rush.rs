//! The crowd in a box. Buyers arrive on schedule, whether or not earlier ones were answered. They click
//! twice, lose answers and change their minds. At the end the answers they got are compared with what the
//! server lists.

pub mod buyer;
pub mod crowd;
pub mod goodput;
pub mod line;
pub mod page;
pub mod plan;
pub mod proof;
pub mod report;
pub mod shop;
pub mod tally;
pub mod timeline;
