//! What the product is measured against. These live here only.

pub mod ceiling;
