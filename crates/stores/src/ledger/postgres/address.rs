//! The address of the database, from `DATABASE_URL`, and the encryption of the connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

#[derive(Clone)]
pub struct PostgresAddress {
    pub config: Config,
    pub tls: MakeRustlsConnect,
}

impl PostgresAddress {
    /// `sslmode` as in libpq: disable, prefer, require (encrypted, without verification) and verify-full (with
    /// `sslrootcert` or the system's authorities), which the driver does not know. The default is prefer for this
    /// machine, else verify-full, so that a password is never sent to a man in the middle.
    pub fn read(url: &str) -> Result<PostgresAddress, String> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("expected postgres://user:password@host:port/database".into());
        }
        let (mode, authority, rest) = take_tls(url);
        let mut config: Config = rest.parse().map_err(|e| super::trouble::words(&e))?;
        let mode = mode.or_else(|| {
            let far = config.get_hosts().iter().any(|host| !on_this_machine(host));
            far.then(|| {
                tracing::info!(
                    "DATABASE_URL names another machine and no sslmode: its certificate is verified (verify-full). Name its \
                     authority with sslrootcert, or choose another sslmode"
                );
                "verify-full".to_owned()
            })
        });
        let verify = match (mode.as_deref(), &authority) {
            (Some("disable"), _) => {
                config.ssl_mode(SslMode::Disable);
                false
            }
            (None | Some("prefer"), _) => {
                config.ssl_mode(SslMode::Prefer);
                false
            }
            (Some("require"), None) => {
                config.ssl_mode(SslMode::Require);
                false
            }
            (Some("require" | "verify-full"), _) => {
                config.ssl_mode(SslMode::Require);
                true
            }
            (Some(other), _) => {
                return Err(format!("sslmode is {other:?}: expected disable, prefer, require or verify-full"));
            }
        };
        config
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(Duration::from_secs(2))
            .keepalives_idle(Duration::from_secs(10))
            .tcp_user_timeout(Duration::from_secs(5));
        if config.get_application_name().is_none() {
            config.application_name("tickettock");
        }
        let tls = if verify { verifying(authority.as_deref())? } else { believing()? };
        Ok(PostgresAddress { config, tls: MakeRustlsConnect::new(tls) })
    }
}

fn on_this_machine(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Removes `sslmode` and `sslrootcert` from the URL.
fn take_tls(url: &str) -> (Option<String>, Option<String>, String) {
    let Some((base, query)) = url.split_once('?') else { return (None, None, url.to_owned()) };
    let (mut mode, mut authority, mut rest) = (None, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => authority = Some(value.replace("%2F", "/").replace("%2f", "/")),
            _ => rest.push(pair),
        }
    }
    let rest = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    (mode, authority, rest)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn verifying(authority: Option<&str>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(file) => {
            let read = CertificateDer::pem_file_iter(file).map_err(|e| format!("sslrootcert {file}: {e}"))?;
            for certificate in read {
                let certificate = certificate.map_err(|e| format!("sslrootcert {file}: {e}"))?;
                roots.add(certificate).map_err(|e| format!("sslrootcert {file}: {e}"))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("sslmode=verify-full: there is no authority to verify with; name one with sslrootcert".into());
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    Ok(builder.map_err(|e| e.to_string())?.with_root_certificates(roots).with_no_client_auth())
}

/// Encrypts without verifying the server, as `prefer` and `require` do.
fn believing() -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|e| e.to_string())?;
    let anybody = Arc::new(Anybody(provider()));
    Ok(builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth())
}

#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sslmode_is_read_as_libpq_reads_it() {
        let at = |host: &str, query: &str| {
            PostgresAddress::read(&format!("postgres://u@{host}/db{query}")).map(|a| a.config.get_ssl_mode())
        };
        let mode = |query: &str| at("h", query);
        for near in ["localhost", "127.0.0.1:5432", "%2Fvar%2Frun%2Fpostgresql"] {
            assert_eq!(at(near, ""), Ok(SslMode::Prefer), "{near}");
        }
        for far in ["h", "10.0.0.1", "localhost,h"] {
            assert_ne!(at(far, ""), Ok(SslMode::Prefer), "{far}");
        }
        assert!(mode("?sslrootcert=/no/such/file").unwrap_err().contains("/no/such/file"), "verified");
        assert_eq!(mode("?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("?sslmode=require&connect_timeout=1"), Ok(SslMode::Require));
        assert!(mode("?sslmode=verify-full&sslrootcert=/no/such/file").unwrap_err().contains("/no/such/file"));
        assert!(mode("?sslmode=allow").unwrap_err().contains("verify-full"));
        assert!(PostgresAddress::read("mysql://h/db").is_err());
    }
}
