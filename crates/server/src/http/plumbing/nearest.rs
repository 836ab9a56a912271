//! Which known name a misspelt one most likely stands for.

/// Longer names are not compared: no field of ours is nearly as long.
const COMPARED_MOST: usize = 64;

/// The known name with the fewest typing errors, if that is few enough to be a misspelling.
/// `max_per_user`, `MaxPerUser` and `maxPerUsr` all stand for `maxPerUser`.
pub fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let name = plain(name);
    if name.len() > COMPARED_MOST {
        return None;
    }
    let near = known.iter().map(|known| (errors(&name, &plain(known)), *known));
    let near = near.filter(|(errors, known)| *errors <= (known.len() / 3).max(1));
    near.min_by_key(|(errors, _)| *errors).map(|(_, known)| known)
}

/// A name that somebody sent, fit to be sent back: short, and printable.
pub fn shown(name: &str) -> String {
    let short = name.chars().take(COMPARED_MOST);
    short.map(|c| if rules::ids::printable(c.encode_utf8(&mut [0; 4]), 1) { c } else { '?' }).collect()
}

/// Without case, `_` and `-`.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).take(COMPARED_MOST + 1).collect()
}

/// Letters to insert, remove, replace or swap with their neighbour.
fn errors(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_have_a_nearest_one() {
        let known = ["name", "seats", "maxPerUser", "opensAt", "holdTtl", "waitingRoom"];
        for (sent, meant) in [
            ("maxPerUsr", Some("maxPerUser")),
            ("max_per_user", Some("maxPerUser")),
            ("MAXPERUSER", Some("maxPerUser")),
            ("maxPreUser", Some("maxPerUser")),
            ("seat", Some("seats")),
            ("nmae", Some("name")),
            ("openAt", Some("opensAt")),
            ("waitingroom", Some("waitingRoom")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(sent, &known), meant, "{sent}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), &known), None);
    }

    #[test]
    fn names_are_shown_short_and_printable() {
        assert_eq!(shown("maxPerUsr"), "maxPerUsr");
        assert_eq!(shown("a\u{1b}[31m\u{202e}"), "a?[31m?");
        assert_eq!(shown(&"x".repeat(1_000)).len(), COMPARED_MOST);
    }
}
