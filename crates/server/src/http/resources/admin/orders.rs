//! What an operator says of the orders of an event: what buyers are asked for, and the price that is shown.

use rules::buyer::{AskedFields, FieldNeed};
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use rules::price::{Price, is_amount, is_currency};

use super::fields::AdminFields;
use crate::http::plumbing::json::Node;

pub fn buyer_fields(node: &Node<'_>) -> Result<AskedFields, Refusal> {
    let fields = AdminFields::of(node, ["userName", "phone", "email"])?;
    let need = |name: &str| fields.given(name).map(need).transpose();
    Ok(AskedFields { name: need("userName")?, phone: need("phone")?, email: need("email")? })
}

fn need(node: &Node<'_>) -> Result<FieldNeed, Refusal> {
    let unknown = || FieldError::refused(node.path(), Problem::OneOf(&FieldNeed::NAMES));
    FieldNeed::named(&node.text()?).ok_or_else(unknown)
}

pub fn price(node: &Node<'_>) -> Result<Price, Refusal> {
    let fields = AdminFields::of(node, ["amount", "currency"])?;
    let amount = fields.required("amount")?;
    let text = amount.text()?;
    if !is_amount(&text) {
        return Err(FieldError::refused(amount.path(), Problem::Expected(Expected::Amount)));
    }
    Ok(Price { amount: text.into(), currency: currency(fields.required("currency")?)? })
}

pub fn currency(node: &Node<'_>) -> Result<Box<str>, Refusal> {
    let code = node.text()?;
    if !is_currency(&code) {
        return Err(FieldError::refused(node.path(), Problem::Expected(Expected::Currency)));
    }
    Ok(code.into())
}
