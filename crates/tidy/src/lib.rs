//! Keeps true what ARCHITECTURE.md says is absent: this crate has tests only, and they read the
//! source tree.
//!
//! A check takes files and returns complaints, so a test can run it on a planted fault: a check that cannot
//! fail proves nothing. The checks skip this crate, because it has to name what it forbids.

#[cfg(test)]
mod absences;
#[cfg(test)]
mod glossary;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod links;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod sql;
#[cfg(test)]
mod tree;
#[cfg(test)]
mod unique;
#[cfg(test)]
mod words;
