//! The stored form of a history row's details: a JSON object, built by hand around metadata that is already JSON.

use std::collections::BTreeMap;

use rules::buyer::Metadata;
use rules::history::Details;
use serde_json::value::RawValue;

pub fn write_details(details: &Details) -> String {
    let reason = details.reason.as_deref().map(|reason| format!("\"reason\":{}", serde_json::Value::from(reason)));
    let metadata = details.metadata.as_ref().map(|metadata| format!("\"metadata\":{}", metadata.as_str()));
    let reservation = details.reservation.map(|n| format!("\"reservation\":{n}"));
    let fields: Vec<String> = metadata.into_iter().chain(reason).chain(reservation).collect();
    format!("{{{}}}", fields.join(","))
}

/// Details that cannot be parsed are no reason to withhold the row.
pub fn read_details(text: Option<&str>) -> Option<Box<Details>> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text?).ok()?;
    let metadata = fields.get("metadata").map(|raw| Metadata::stored(raw.get()));
    let reason: Option<String> = fields.get("reason").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let reservation: Option<u64> = fields.get("reservation").and_then(|raw| serde_json::from_str(raw.get()).ok());
    match reservation {
        Some(n) => Details::of_cancelled(n, metadata.as_ref(), reason.as_deref()),
        None => Details::of(metadata.as_ref(), reason.as_deref()),
    }
}

/// Columns of a multi-row statement that are mostly null: if all values are null, the array is empty.
pub fn sparse<T>(values: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let values: Vec<Option<T>> = values.collect();
    if values.iter().all(Option::is_none) { Vec::new() } else { values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read_back() {
        let metadata = Metadata::stored(r#"{"order":"A-1","n":1.50,"gift":true}"#);
        for (metadata, reason) in
            [(Some(&metadata), None), (None, Some("ill \"again\"\n")), (Some(&metadata), Some("병가")), (None, None)]
        {
            let details = Details::of(metadata, reason);
            let stored = details.as_deref().map(write_details);
            assert_eq!(read_details(stored.as_deref()), details, "{stored:?}");
            let cancelled = Details::of_cancelled(43, metadata, reason);
            assert_eq!(read_details(cancelled.as_deref().map(write_details).as_deref()), cancelled);
        }
        assert_eq!(read_details(Some("not json")), None);
    }
}
