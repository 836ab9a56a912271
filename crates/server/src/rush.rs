//! The crowd in a box: buyers who come when they come, whether or not the last one was answered;
//! who click twice, lose answers and change their minds; and who compare what they were told with
//! what the server says at the end.

pub mod buyer;
pub mod crowd;
pub mod line;
pub mod page;
pub mod plan;
pub mod proof;
pub mod report;
pub mod shop;
pub mod tally;
