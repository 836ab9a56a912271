//! Keeps true what ARCHITECTURE.md says is absent: this crate has tests only, and they read the
//! source tree.
//!
//! A check takes files and returns complaints, so that each one can be shown a planted fault: a
//! check that cannot fail says nothing. This crate is not checked itself, because it has to name
//! what it forbids.

#[cfg(test)]
mod absences;
#[cfg(test)]
mod glossary;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod links;
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
