//! Which secrets can be guessed by trying: those of a few characters repeated, and those that examples print.

use std::collections::HashSet;

/// How long an admin token is where strangers can guess.
pub const EXPOSED_TOKEN_CHARS: usize = 32;
/// How many different characters a secret needs.
pub const VARIETY: usize = 8;
/// What the examples in `deploy/` begin with.
const EXAMPLE: &str = "change-me";

pub fn guessable(secret: &str) -> bool {
    let different: HashSet<char> = secret.chars().collect();
    different.len() < VARIETY || secret.to_ascii_lowercase().contains(EXAMPLE)
}

/// What a server makes has 64 characters; the file in the data folder may have been written by hand.
pub fn guessable_token(token: &str) -> bool {
    token.len() < EXPOSED_TOKEN_CHARS || guessable(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_examples_can_be_guessed() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let mut seen = 0;
        for file in ["compose/example.env", "kubernetes/secrets.example.yaml"] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            for line in text.lines().map(str::trim) {
                for name in ["ADMIN_TOKEN", "GATEWAY_KEY"] {
                    if let Some(secret) = line.strip_prefix(name) {
                        assert!(guessable(secret.trim_start_matches(['=', ':', ' '])), "{file}: {line}");
                        seen += 1;
                    }
                }
            }
        }
        assert_eq!(seen, 4);
    }

    #[test]
    fn random_secrets_cannot() {
        assert!(guessable("") && guessable(&"abcd".repeat(16)));
        assert!(!guessable("5f4dcc3b5aa765d61d8327deb882cf99"));
    }
}
