#!/usr/bin/env bash
# Runs a command without any setting of Tickettock or its gateway in the environment, so that the
# shell it was started from cannot change what it does. The tidy test compares this list with the
# table of settings.
set -euo pipefail

for name in $(compgen -e); do
    case "$name" in
    APP_HOST | APP_PORT | AUDIT_EVERY | BACKUP_* | REPLICATE_* | MAX_CONNECTIONS | MAX_WATCHERS | ADDRESS_CONNECTIONS | USER_RATE | ADDRESS_RATE | ADMIN_LISTEN | DATA_DIR | DATABASE_URL | DATABASE_URL_FILE | DB_POOL | REDIS_* | FCFS_* | QUEUE_* | \
        KEY_KEEP | DELETED_KEEP | PERSONAL_DATA_DAYS | CACHE_KEEP | \
        HOLD_* | HOLDS_* | WEBHOOK_* | CONFIRM_BY | MAX_DAYS_AHEAD | DEFAULT_REGION | \
        AUTH_MODE | JWT_* | ADMIN_TOKEN | ADMIN_TOKEN_FILE | ALLOW_TRUSTED_HEADER | CORS_ORIGINS | \
        GATEWAY_* | TRUSTED_PROXIES | RUST_LOG | LOG_FORMAT | SLOW_REQUEST_MS | OTEL_*)
        unset "$name"
        ;;
    esac
done

exec "$@"
