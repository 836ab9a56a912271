//! Every setting, on one page.

#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
    pub secret: bool,
}

impl Setting {
    /// `APP_PORT` is `--app-port`.
    pub fn flag(&self) -> String {
        self.name.to_ascii_lowercase().replace('_', "-")
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
        "Address to listen on. One that is not loopback needs GATEWAY_KEY or ALLOW_TRUSTED_HEADER=1.",
    ),
    setting("APP_PORT", "5800", "Port to listen on; 0 takes a free one and prints it."),
    setting(
        "DATA_DIR",
        "./tickettock-data",
        "Folder of the embedded ledger, and of the admin token made at first start.",
    ),
    secret(
        "DATABASE_URL",
        "Ledger: postgres://user:password@host:port/database (sslmode=disable, prefer, require or verify-full). \
         Unset: SQLite in DATA_DIR.",
    ),
    setting("DB_POOL", "8", "Connections to PostgreSQL at most."),
    secret(
        "REDIS_URL",
        "Door: redis://:password@host:port, or rediss:// with TLS; needs DATABASE_URL. Unset: in the process, one server only.",
    ),
    setting("REDIS_HOST", "", "Host of Redis, in place of REDIS_URL."),
    setting("REDIS_PORT", "6379", "Port of Redis, with REDIS_HOST."),
    secret("REDIS_PASSWORD", "Password of Redis, with REDIS_HOST."),
    setting(
        "REDIS_CLUSTER",
        "0",
        "1: REDIS_URL is a Redis Cluster; several nodes may be given with commas between them.",
    ),
    setting("FCFS_SEATS", "9", "Seats of event 1, which is made at first start."),
    setting("FCFS_USER_HEADER", "X-User-Id", "Header that names the user in AUTH_MODE=header."),
    setting(
        "FCFS_USER_TTL",
        "900",
        "Seconds after a sale in which the same user's next request is called duplicate; 0: for ever.",
    ),
    setting("FCFS_IP_LIMIT", "0", "Reservation requests per address and window; 0: no limit."),
    setting("FCFS_IP_WINDOW", "5", "Seconds of that window."),
    setting("FCFS_MAX_RETRIES", "5", "How often a batch is tried again when the ledger's lock cannot be had."),
    setting(
        "FCFS_ANONYMOUS",
        "",
        "1: dialect 2025-08-17 may reserve without a user header, by phone or as nobody, on the short paths. \
         Unset: 1 on loopback without GATEWAY_KEY, else 0.",
    ),
    setting("HOLD_TTL", "600", "Seconds that a hold lasts."),
    setting(
        "HOLD_MAX_AGE",
        "1800",
        "Seconds from the first hold of the same nights or seats to the end of its last extension.",
    ),
    setting(
        "HOLD_REPEAT",
        "same",
        "What the same clientHoldKey gets again: same, the hold that is there, or replace, a new one in its place.",
    ),
    setting("HOLDS_PER_USER", "5", "Live holds per user and room type or event."),
    setting("CONFIRM_BY", "owner", "Who confirms a hold: owner, or service, with ADMIN_TOKEN, after payment."),
    setting("MAX_DAYS_AHEAD", "730", "How many days ahead nights are sold."),
    setting("DEFAULT_REGION", "KR", "Region (ISO 3166) of telephone numbers without a country code."),
    setting("AUTH_MODE", "header", "header: FCFS_USER_HEADER is believed, from loopback or with GATEWAY_KEY."),
    secret(
        "ADMIN_TOKEN",
        "Bearer token of the admin paths, at least 16 characters. Unset, with SQLite: one is made at first start.",
    ),
    secret(
        "GATEWAY_KEY",
        "Secret that the gateway shows to the servers, the same on all of them, at least 32 characters.",
    ),
    setting(
        "ALLOW_TRUSTED_HEADER",
        "0",
        "1: believe the user header from any address. Only behind something that sets it.",
    ),
    setting("QUEUE_DEPTH", "8192", "Requests that may wait per event; beyond it the answer is 503 at once."),
    setting("GATEWAY_HOST", "0.0.0.0", "Gateway: address to listen on."),
    setting("GATEWAY_PORT", "8080", "Gateway: port to listen on."),
    setting(
        "GATEWAY_UPSTREAMS",
        "",
        "Gateway: the servers behind it, host:port with commas between them. Names are looked up when its files are written.",
    ),
    setting(
        "GATEWAY_TRUST_USER_HEADER",
        "0",
        "Gateway: 1 believes FCFS_USER_HEADER from every client; 0 from TRUSTED_PROXIES only.",
    ),
    setting(
        "TRUSTED_PROXIES",
        "",
        "Gateway: addresses and networks (10.0.0.0/8, 2001:db8::/32) of what stands in front of it, with commas between \
         them. Their X-Forwarded-For and FCFS_USER_HEADER are believed.",
    ),
    setting("GATEWAY_USER_RATE", "20", "Gateway: requests per second and user, twice that at once; 0: no limit."),
    setting(
        "GATEWAY_ADDRESS_RATE",
        "2000",
        "Gateway: requests per second and address (IPv6 by /64), twice that at once; 0: no limit.",
    ),
    setting("GATEWAY_WRAP", "0", "Gateway: 1 lets ?wrap=1 put status, number and body into one body, for debugging."),
    setting("GATEWAY_WORKERS", "auto", "Gateway: nginx worker processes; auto: one per core."),
    setting("RUST_LOG", "info", "What to log: error, warn, info, debug, trace, or filters per module."),
    setting("LOG_FORMAT", "text", "text or json."),
];
