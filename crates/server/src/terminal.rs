//! What commands print. If nobody reads it any more (a closed pipe), it is dropped: `println!` would panic.

use std::fmt::Arguments;
use std::io::{self, Write};

/// To standard output.
pub fn print(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    let _ = out.write_fmt(text).and_then(|()| out.flush());
}

/// To standard error.
pub fn print_error(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// A line on standard output.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::terminal::print(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// A line on standard error.
macro_rules! complain {
    ($($text:tt)*) => {
        $crate::terminal::print_error(format_args!("{}\n", format_args!($($text)*)))
    };
}

pub(crate) use {complain, say};
