//! Finds whole words in source: `operand` is not `rand`.

/// The first of `words` in `line`. A word that begins or ends like a name is found as a whole.
pub fn find<'a>(line: &str, words: &[&'a str]) -> Option<&'a str> {
    words.iter().copied().find(|word| has(line, word))
}

fn has(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let longer_before = joins(before) && joins(word.chars().next());
        let longer_after = joins(after) && joins(word.chars().next_back());
        !longer_before && !longer_after
    })
}

fn joins(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// A line of Rust without its comment: a comment may name what is absent.
pub fn code(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        return "";
    }
    line.split_once(" // ").map_or(line, |(code, _)| code)
}

#[test]
fn words_are_whole() {
    assert_eq!(find("use rand::Rng;", &["rand"]), Some("rand"));
    assert_eq!(find("let operand = random;", &["rand"]), None);
    assert_eq!(find("dbg!(x)", &["dbg!"]), Some("dbg!"));
    assert_eq!(find("mktemp -d XXXXXX", &["XXX"]), None);
}

#[test]
fn comments_are_not_code() {
    assert_eq!(code("    // no tokio here"), "");
    assert_eq!(code("let a = 1; // tokio"), "let a = 1;");
    assert_eq!(code("tokio::spawn(a)"), "tokio::spawn(a)");
}
