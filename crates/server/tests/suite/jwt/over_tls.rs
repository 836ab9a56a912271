//! An issuer's address over TLS: keys served by `openssl s_server`, with a certificate of an authority made for the
//! test.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use testing::folder::TestFolder;

use super::Issuer;
use super::rotation::set;

pub struct TlsIssuer {
    folder: TestFolder,
    serving: Child,
    pub url: String,
}

impl TlsIssuer {
    pub fn with_keys(keys: &[&Issuer]) -> TlsIssuer {
        let folder = TestFolder::new("tls");
        let run = |arguments: &str| {
            let mut command = Command::new("openssl");
            let output = command.current_dir(folder.path()).args(arguments.split(' ')).output().unwrap();
            assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        for name in ["ca", "other"] {
            run(&format!("req -x509 {key} -keyout {name}.key -out {name}.crt -days 2 -subj /CN={name}"));
        }
        run(&format!("req {key} -keyout issuer.key -out issuer.csr -subj /CN=localhost"));
        std::fs::write(folder.path().join("names"), "subjectAltName=DNS:localhost").unwrap();
        run("x509 -req -in issuer.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out issuer.crt");
        std::fs::write(folder.path().join("jwks"), set(keys)).unwrap();
        let port = testing::free_port().to_string();
        let mut serve = Command::new("openssl");
        serve.current_dir(folder.path()).args(["s_server", "-quiet", "-accept", &port, "-cert", "issuer.crt"]);
        serve.args(["-key", "issuer.key", "-WWW"]).stdin(Stdio::null());
        let serving = serve.spawn().unwrap();
        TlsIssuer { folder, serving, url: format!("https://localhost:{port}/jwks") }
    }

    /// The authority that signed its certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// One that did not.
    pub fn other_authority(&self) -> PathBuf {
        self.folder.path().join("other.crt")
    }
}

impl Drop for TlsIssuer {
    fn drop(&mut self) {
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}
