//! JSON as YAML, for people who read the document in review. Every text is quoted as in JSON,
//! which YAML reads as it is.

use std::fmt::Write;

use serde_json::Value;

pub fn yaml(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text
}

// Writing to memory does not fail.
fn write(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let _ = write!(text, "{:1$}", "", depth * 2);
                let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphabetic());
                let _ = if plain { write!(text, "{key}:") } else { write!(text, "{}:", Value::from(key.as_str())) };
                write_behind(value, depth, text);
            }
        }
        Value::Array(list) => {
            for value in list {
                let _ = write!(text, "{:1$}-", "", depth * 2);
                write_behind(value, depth, text);
            }
        }
        scalar => {
            let _ = writeln!(text, "{scalar}");
        }
    }
}

/// Behind a key or a dash: on the same line if it is short, else below and deeper.
fn write_behind(value: &Value, depth: usize, text: &mut String) {
    let nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => list.iter().any(|entry| entry.is_object() || entry.is_array()),
        _ => false,
    };
    if nested {
        text.push('\n');
        write(value, depth + 1, text);
    } else {
        let _ = writeln!(text, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn blocks_and_quotes() {
        let value = json!({"a": {"200": "x: y", "b": []}, "list": [{"c": 1}, [2, "z"], {}], "plain": [1, 2]});
        let text = "a:\n  \"200\": \"x: y\"\n  b: []\nlist:\n  -\n    c: 1\n  - [2,\"z\"]\n  - {}\nplain: [1,2]\n";
        assert_eq!(super::yaml(&value), text);
    }
}
