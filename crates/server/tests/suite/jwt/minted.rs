//! `tickettock token mint`.

use testing::folder::TestFolder;
use testing::process::binary;

use super::{Issuer, mine, server};

fn mint(settings: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = binary();
    command.args(["token", "mint"]).args(arguments).envs(settings.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const TERMS: [(&str, &str); 2] = [("JWT_ISSUER", super::ISSUER), ("JWT_AUDIENCE", super::AUDIENCE)];

#[tokio::test(flavor = "multi_thread")]
async fn minted_tokens_are_accepted() {
    let secret = Issuer::hs256("h");
    let stand = server("JWT_SECRET", secret.secret()).await;
    let settings = [TERMS[0], TERMS[1], ("JWT_SECRET", secret.secret())];
    let (code, token, complaint) = mint(&settings, &["--sub", "alice", "--ttl", "1h"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert_eq!(mine(&mut stand.client(), &token).await.status, 200);

    let folder = TestFolder::new("keys");
    let (public, private) = (folder.path().join("public.pem"), folder.path().join("private.pem"));
    let (public, private) = (public.to_str().unwrap(), private.to_str().unwrap());
    for issuer in [Issuer::rs256("r"), Issuer::es256("e"), Issuer::eddsa("d")] {
        std::fs::write(public, issuer.public_pem()).unwrap();
        std::fs::write(private, issuer.private_pem()).unwrap();
        let stand = server("JWT_PUBLIC_KEY_FILE", public).await;
        let settings = [TERMS[0], TERMS[1], ("JWT_PUBLIC_KEY_FILE", public)];
        let (code, token, complaint) = mint(&settings, &["--sub", "alice", "--private-key", private]);
        assert_eq!(code, Some(0), "{}: {complaint}", issuer.algorithm());
        assert_eq!(mine(&mut stand.client(), &token).await.status, 200, "{}", issuer.algorithm());
    }
}

#[test]
fn what_cannot_be_minted_is_refused() {
    let secret = Issuer::hs256("h");
    let with_secret = ("JWT_SECRET", secret.secret());
    let folder = TestFolder::new("keys");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (one, other) = (Issuer::es256("one"), Issuer::es256("other"));
    let public = file("public.pem", &one.public_pem());
    let (of_other, broken) = (file("other.pem", other.private_pem()), file("broken.pem", "no key"));
    let alice = ["--sub", "alice"];
    for (setting, arguments, complaint) in [
        (("JWT_LEEWAY", "1"), &alice[..], "JWT_SECRET"),
        (("JWT_SECRET", "short"), &alice, "JWT_SECRET"),
        (("JWT_PUBLIC_KEY_FILE", &public), &alice, "--private-key"),
        (("JWT_PUBLIC_KEY_FILE", &public), &["--sub", "alice", "--private-key", &of_other], "would not accept"),
        (("JWT_PUBLIC_KEY_FILE", &public), &["--sub", "alice", "--private-key", &broken], "broken.pem"),
        (("JWT_PUBLIC_KEY_FILE", &broken), &alice, "JWT_PUBLIC_KEY_FILE"),
        (with_secret, &["--sub", "alice", "--private-key", &of_other], "JWT_SECRET"),
        (with_secret, &["--sub", "a\nb"], "--sub"),
        (with_secret, &["--sub", ""], "--sub"),
        (with_secret, &["--sub", "alice", "--ttl", "1y"], "--ttl"),
        (with_secret, &["--sub", "alice", "--ttl", "90d"], "--ttl"),
    ] {
        let (code, token, said) = mint(&[setting], arguments);
        assert_eq!((code, token.as_str()), (Some(2), ""), "{setting:?} {arguments:?}: {said}");
        assert!(said.contains(complaint) && !said.contains("short"), "{setting:?} {arguments:?}: {said}");
    }
}
