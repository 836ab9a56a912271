//! The table of all settings: name, default and meaning. `docs/configuration.md` is generated from it.

#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
    pub secret: bool,
}

impl Setting {
    /// `APP_PORT` is `--app-port`.
    ///
    /// A secret has none: flags show in the list of processes.
    pub fn flag(&self) -> Option<String> {
        (!self.secret).then(|| self.name.to_ascii_lowercase().replace('_', "-"))
    }
}

const fn setting(name: &'static str, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, default, meaning, secret: false }
}

const fn secret(name: &'static str, meaning: &'static str) -> Setting {
    Setting { name, default: "", meaning, secret: true }
}

pub const SETTINGS: &[Setting] = &[
    setting(
        "APP_HOST",
        "127.0.0.1",
        "IP address to listen on. An address other than loopback requires GATEWAY_KEY or ALLOW_TRUSTED_HEADER=1.",
    ),
    setting("APP_PORT", "5800", "Port to listen on. 0 chooses a free port and prints it."),
    setting(
        "DATA_DIR",
        "./tickettock-data",
        "Data folder: the embedded ledger, and the admin token that is created at first start.",
    ),
    secret(
        "DATABASE_URL",
        "PostgreSQL as the ledger: postgres://user:password@host:port/database (sslmode=disable, prefer, require or \
         verify-full; if unset: prefer on this machine, else verify-full). If unset, the ledger is SQLite in DATA_DIR.",
    ),
    setting("DATABASE_URL_FILE", "", "File that contains DATABASE_URL, instead of the setting itself."),
    setting("DB_POOL", "8", "Maximum number of connections to PostgreSQL."),
    secret(
        "REDIS_URL",
        "Redis as the door: redis://:password@host:port, or rediss:// for TLS. Requires DATABASE_URL. If unset, the door is \
         in the process, and there can be one server only.",
    ),
    setting("REDIS_URL_FILE", "", "File that contains REDIS_URL, instead of the setting itself."),
    setting("REDIS_HOST", "", "Redis host, instead of REDIS_URL."),
    setting("REDIS_PORT", "6379", "Redis port, with REDIS_HOST."),
    secret("REDIS_PASSWORD", "Redis password, with REDIS_HOST."),
    setting("REDIS_PASSWORD_FILE", "", "File that contains REDIS_PASSWORD, instead of the setting itself."),
    setting("REDIS_CLUSTER", "0", "1: REDIS_URL is a Redis Cluster. Separate several nodes with commas."),
    setting("FCFS_SEATS", "9", "Number of seats of event 1, which is created at first start."),
    setting("FCFS_USER_HEADER", "X-User-Id", "Header that contains the user id in AUTH_MODE=header."),
    setting(
        "FCFS_USER_TTL",
        "900",
        "Seconds after a reservation during which another request of the same user gets duplicate; 0: for ever.",
    ),
    setting("FCFS_IP_LIMIT", "0", "Reservation requests per client address and window; 0: no limit."),
    setting("FCFS_IP_WINDOW", "5", "Length of the FCFS_IP_LIMIT window in seconds."),
    setting(
        "FCFS_MAX_RETRIES",
        "5",
        "How often a batch is retried after a lock timeout or a transient error of the ledger.",
    ),
    setting(
        "FCFS_ANONYMOUS",
        "",
        "1: dialect 2025-08-17 allows reservations without a user header on the short paths, by phone number or \
         anonymous: whoever knows a number learns whether it has a seat. If unset: 1 on loopback without GATEWAY_KEY, \
         else 0.",
    ),
    setting("HOLD_TTL", "600", "Duration of a hold in seconds."),
    setting(
        "HOLD_MAX_AGE",
        "1800",
        "Maximum total duration in seconds, with extensions and replacements, of a user's holds on the same nights or seats.",
    ),
    setting(
        "HOLD_REPEAT",
        "same",
        "Response to a repeated clientHoldKey: same returns the existing hold, replace creates a new one in its place.",
    ),
    setting("HOLDS_PER_USER", "5", "Maximum number of live holds per user and room type or event."),
    setting(
        "HOLD_AGAIN_AFTER",
        "0",
        "Seconds after a hold was cancelled or expired before the same user can hold the same nights or seats again, so \
         that others get their chance; 0: at once.",
    ),
    setting(
        "CONFIRM_BY",
        "owner",
        "Who may confirm a hold: owner, or service (your backend, after payment, with a token of the role service or admin).",
    ),
    setting("MAX_DAYS_AHEAD", "730", "How many days ahead nights can be reserved."),
    setting("DEFAULT_REGION", "KR", "Region (ISO 3166) for telephone numbers without a country code."),
    setting(
        "WEBHOOK_PRIVATE",
        "0",
        "1: webhooks may go to private, loopback and link-local addresses, and over http. Otherwise only over https to \
         public addresses.",
    ),
    setting(
        "AUTH_MODE",
        "header",
        "header: trust FCFS_USER_HEADER in requests with GATEWAY_KEY, and without such a key from loopback. jwt: the user is \
         the sub of the bearer token, which is verified with the JWT_ settings. The gateway and its servers compare their \
         modes; a server in another mode gets no requests.",
    ),
    secret(
        "JWT_SECRET",
        "Secret of HS256 tokens, at least 32 characters of some variety, and not the text of an example. Set exactly one of \
         JWT_SECRET, JWT_PUBLIC_KEY_FILE, JWT_JWKS_FILE and JWT_JWKS_URL with AUTH_MODE=jwt.",
    ),
    setting("JWT_SECRET_FILE", "", "File that contains JWT_SECRET, instead of the setting itself."),
    setting(
        "JWT_PUBLIC_KEY_FILE",
        "",
        "File with the public key of tokens in PEM. An RSA key (2048 bits or more) verifies RS256, a P-256 key ES256, an \
         Ed25519 key EdDSA, and nothing else.",
    ),
    setting(
        "JWT_JWKS_FILE",
        "",
        "File with the keys of tokens as a JSON Web Key Set, at most 16. It is read again when it changes; a file that cannot \
         be read leaves the keys as they were.",
    ),
    setting(
        "JWT_JWKS_URL",
        "",
        "Address of the issuer's JSON Web Key Set (https://; http:// on loopback only), as its OpenID configuration names it \
         in jwks_uri. Fetched every 5 minutes, and at most every 5 seconds for a token with an unknown key. Requires JWT_ISSUER \
         and JWT_AUDIENCE. The system's certificates verify it; SSL_CERT_FILE names others.",
    ),
    setting(
        "JWT_ISSUER",
        "",
        "Issuers whose tokens are accepted (iss), separated by commas. If unset: any, if the key is right.",
    ),
    setting(
        "JWT_AUDIENCE",
        "",
        "Audiences of which a token must name one (aud), separated by commas. If unset: tokens that name an audience are \
         refused.",
    ),
    setting("JWT_LEEWAY", "30", "Seconds by which the clocks of issuer and server may differ: for exp and nbf."),
    secret(
        "ADMIN_TOKEN",
        "Bearer token of the admin API, under the name admin (tickettock token makes others): at least 16 characters, and at least 32 \
         of some variety, and not the text of an example, where others than this machine can reach the server. Required with DATABASE_URL. If unset with SQLite, a token is created at first start.",
    ),
    setting("ADMIN_TOKEN_FILE", "", "File that contains ADMIN_TOKEN, instead of the setting itself."),
    secret(
        "GATEWAY_KEY",
        "Shared secret that the gateway sends to the servers, at least 32 characters of some variety, and not the text of an \
         example. Use the same value on all of them.",
    ),
    setting("GATEWAY_KEY_FILE", "", "File that contains GATEWAY_KEY, instead of the setting itself."),
    setting(
        "ALLOW_TRUSTED_HEADER",
        "0",
        "1: trust the user header from any address. Use it only behind a proxy that sets the header.",
    ),
    setting(
        "CORS_ORIGINS",
        "",
        "Origins whose pages may use the API from a browser, separated by commas, such as https://shop.example. Exact, \
         without *. Set it at the gateway too. If unset: none.",
    ),
    setting(
        "QUEUE_DEPTH",
        "8192",
        "Maximum number of waiting requests per event or room type. Further requests get 503 at once. If they wait longer \
         than 0.6 s, or more are in progress than are served in 0.25 s, a sixteenth of it stays and the others get 503.",
    ),
    setting(
        "MAX_CONNECTIONS",
        "",
        "Maximum number of connections. Further ones wait in the kernel's backlog; idle ones are closed to make room. If \
         unset: what the limit of open files leaves after a sixteenth and 64 more are kept back, at most 20,000.",
    ),
    setting(
        "ADDRESS_CONNECTIONS",
        "",
        "Maximum number of connections per client address (IPv6 by /64); further ones are closed. 0: no limit. If unset: a \
         quarter of MAX_CONNECTIONS; no limit for loopback, with GATEWAY_KEY, or with ALLOW_TRUSTED_HEADER=1.",
    ),
    setting(
        "MAX_WATCHERS",
        "20000",
        "Maximum number of live streams. Further ones get 503; clients fall back to polling. Each takes a connection of \
         MAX_CONNECTIONS.",
    ),
    setting(
        "USER_RATE",
        "20",
        "Requests per second and user that one server takes of each kind (reserve, cancel, hold, join), with a burst of ten \
         times that; 0: no limit. Further ones get 429. Nobody clicks as fast; a program that retries without a pause does.",
    ),
    setting(
        "ADDRESS_RATE",
        "",
        "The same per client address (IPv6 by /64); 0: no limit. If unset: 2000, as at the gateway, so that 20,000 buyers \
         behind one NAT may ask at the same moment; no limit for loopback, where load tests and rush have many users on one \
         address, nor for requests whose client address is unknown (ALLOW_TRUSTED_HEADER=1 without a gateway).",
    ),
    setting(
        "ADMIN_LISTEN",
        "",
        "Address and port of a second listener for health checks, metrics and the admin API, such as 127.0.0.1:5900. Health \
         checks and metrics have a thread of their own there, which a crowd cannot reach. If unset: there is none.",
    ),
    setting("GATEWAY_HOST", "0.0.0.0", "Gateway: IP address to listen on."),
    setting("GATEWAY_PORT", "8080", "Gateway: port to listen on."),
    setting(
        "GATEWAY_UPSTREAMS",
        "",
        "Gateway: the servers, as comma-separated host:port, or https://host:port with TLS. Names are resolved when the gateway's files are written.",
    ),
    setting(
        "GATEWAY_TRUST_USER_HEADER",
        "0",
        "Gateway: 1 trusts FCFS_USER_HEADER from every client, 0 from TRUSTED_PROXIES only.",
    ),
    setting(
        "TRUSTED_PROXIES",
        "",
        "Gateway: comma-separated addresses and networks (10.0.0.0/8, 2001:db8::/32) of the proxies in front of it. Their \
         X-Forwarded-For and FCFS_USER_HEADER are trusted.",
    ),
    setting(
        "GATEWAY_USER_RATE",
        "20",
        "Gateway: requests per second and user, with a burst of twice that; 0: no limit.",
    ),
    setting(
        "GATEWAY_ADDRESS_RATE",
        "2000",
        "Gateway: requests per second and client address (IPv6 by /64), with a burst of twice that; 0: no limit.",
    ),
    setting(
        "GATEWAY_ADDRESS_CONNECTIONS",
        "4096",
        "Gateway: requests in progress per client address (IPv6 by /64), live streams included; 0: no limit.",
    ),
    setting(
        "GATEWAY_CONNECTIONS",
        "16384",
        "Gateway: connections per worker, to clients and servers together. nginx needs a limit of open files that is a \
         sixteenth higher.",
    ),
    setting(
        "GATEWAY_SERVER_REQUESTS",
        "256",
        "Gateway: reservation requests in progress per worker and server. As many as get a place within \
         an eighth of a second wait for it; further ones get 503.",
    ),
    setting(
        "GATEWAY_TLS_CA",
        "/etc/ssl/certs/ca-certificates.crt",
        "Gateway: file of the authorities (PEM) that sign the certificates of Redis (rediss://) and the servers (https://).",
    ),
    setting(
        "GATEWAY_REDIS_TLS_NAME",
        "",
        "Gateway: DNS name in the certificate of Redis, of every node. Unset: the first host in REDIS_URL.",
    ),
    setting(
        "GATEWAY_UPSTREAM_TLS_NAME",
        "",
        "Gateway: DNS name in the certificates of the servers. Unset: the first host in GATEWAY_UPSTREAMS.",
    ),
    setting(
        "GATEWAY_BODY_TIME",
        "10",
        "Gateway: seconds in which a client must have sent the whole body of a request.",
    ),
    setting(
        "GATEWAY_WRAP",
        "0",
        "Gateway: 1 enables ?wrap=1, which wraps status, number and body into one JSON body, for debugging.",
    ),
    setting(
        "GATEWAY_METRICS_LISTEN",
        "",
        "Gateway: address and port at which Prometheus reads its metrics (/metrics), such as 127.0.0.1:9145; also for probes (/livez, \
         /readyz), which an overload does not keep out there. Others should not reach it. If unset: there is none.",
    ),
    setting("GATEWAY_WORKERS", "auto", "Gateway: number of nginx worker processes; auto: one per core."),
    setting("KEY_KEEP", "86400", "Seconds for which the response to an Idempotency-Key is kept and repeated."),
    setting(
        "HOLD_KEEP",
        "604800",
        "Seconds for which a hold that ended without a sale can be looked up. Confirmed holds stay.",
    ),
    setting(
        "QUEUE_KEEP",
        "86400",
        "Seconds after which a user who was passed over in a waiting room is forgotten. The ticket still proves the place.",
    ),
    setting(
        "DELETED_KEEP",
        "3600",
        "Seconds after which the seats, holds, entries, responses and Redis keys of a deleted event are removed. Its \
         history stays.",
    ),
    setting(
        "PERSONAL_DATA_DAYS",
        "0",
        "Days after which names, phones, emails, addresses, metadata and reasons are removed from sales, holds, stays and \
         history; 0: never. Counted from when each was given. Counts, seats and history stay.",
    ),
    setting(
        "CACHE_KEEP",
        "600",
        "Seconds after which a server forgets events, room types and metric series that nobody used; they are read again \
         when asked for.",
    ),
    setting(
        "AUDIT_EVERY",
        "300",
        "Seconds between two audits of the whole ledger in the background (tickettock_oversell_total). Each rests fifty times as \
         long as it took, at least; 0: none.",
    ),
    setting(
        "BACKUP_DIR",
        "",
        "Folder for scheduled backups of the embedded ledger, best on another disk. If unset: there are none. With \
         DATABASE_URL use the means of PostgreSQL.",
    ),
    setting("BACKUP_EVERY", "3600", "Seconds between two scheduled backups."),
    setting("BACKUP_KEEP", "24", "How many scheduled backups stay; older ones are removed."),
    setting(
        "REPLICATE_TO",
        "",
        "Folder in a second place, on another disk or machine, that always has a recent copy of the embedded ledger. If unset: \
         there is none. With DATABASE_URL use a standby.",
    ),
    setting(
        "REPLICATE_EVERY",
        "5",
        "Seconds between two copies to REPLICATE_TO: what is sold in this time is lost with the machine. A copy is made only \
         after a change, and rests four times as long as it took.",
    ),
    setting("RUST_LOG", "info", "Log level: error, warn, info, debug, trace, or filters per module."),
    setting("LOG_FORMAT", "text", "Log format: text or json."),
    setting(
        "SLOW_REQUEST_MS",
        "1000",
        "Requests that take longer than so many milliseconds, without the time that the client took to send its body, are \
         logged with the time of each step; at most one line a second. 0: none.",
    ),
    setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "",
        "Where traces go: the OTLP/HTTP endpoint of a collector, such as http://127.0.0.1:4318; /v1/traces is appended. Sent as \
         JSON. If unset: there are no traces.",
    ),
    secret(
        "OTEL_EXPORTER_OTLP_HEADERS",
        "Headers of every export, such as a key of the collector: name=value, separated by commas.",
    ),
    setting("OTEL_EXPORTER_OTLP_HEADERS_FILE", "", "File that contains OTEL_EXPORTER_OTLP_HEADERS."),
    setting(
        "OTEL_TRACES_SAMPLER_ARG",
        "0.01",
        "Share of requests whose traces are kept, from 0 to 1. A request with a traceparent header follows its flag instead.",
    ),
    setting("OTEL_SERVICE_NAME", "tickettock", "Name of this service in traces."),
];
