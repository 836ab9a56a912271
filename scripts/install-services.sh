#!/bin/sh
# Installs what the tests need beside Rust: PostgreSQL 15 or later, Redis 7 or later, and nginx with its
# Lua module for the gateway.
# Says what to install, and fails, where it may not do so itself.
set -eu

missing=""
ls -d /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null 2>&1 || missing="$missing postgresql"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
command -v redis-cli >/dev/null 2>&1 || missing="$missing redis-tools"
command -v flock >/dev/null 2>&1 && command -v setpriv >/dev/null 2>&1 || missing="$missing util-linux"
if ! command -v openresty >/dev/null 2>&1; then
    command -v nginx >/dev/null 2>&1 || missing="$missing nginx-light"
    [ -e /usr/share/nginx/modules-available/mod-http-lua.conf ] || missing="$missing libnginx-mod-http-lua"
    [ -e /usr/share/lua/5.1/nginx/redis.lua ] || [ -e /usr/share/lua/5.1/resty/redis.lua ] || missing="$missing lua-nginx-redis"
    find /usr/lib -path '*lua/5.1/cjson.so' 2>/dev/null | grep -q . || missing="$missing lua-cjson"
fi
# What the tests of slow clients and of TLS run.
command -v slowhttptest >/dev/null 2>&1 || missing="$missing slowhttptest"
command -v openssl >/dev/null 2>&1 || missing="$missing openssl"
command -v pgrep >/dev/null 2>&1 || missing="$missing procps"
# What the tests of the pages run in, with a font that has Korean.
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || missing="$missing nodejs npm"
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing="$missing chromium"
find /usr/share/fonts /usr/local/share/fonts -name '*CJK*' 2>/dev/null | grep -q . || missing="$missing fonts-noto-cjk"
# What the documents run.
command -v curl >/dev/null 2>&1 || missing="$missing curl"
command -v jq >/dev/null 2>&1 || missing="$missing jq"
# What checks the files under deploy/.
command -v promtool >/dev/null 2>&1 && command -v prometheus >/dev/null 2>&1 || missing="$missing prometheus"
command -v caddy >/dev/null 2>&1 || missing="$missing caddy"
command -v systemd-analyze >/dev/null 2>&1 || missing="$missing systemd"
command -v dpkg-deb >/dev/null 2>&1 || missing="$missing dpkg"
python3 -c 'import yaml' 2>/dev/null || missing="$missing python3-yaml"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    # The packages would start services of their own; the tests start private ones.
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    apt-get install -y --no-install-recommends $missing || { apt-get update && apt-get install -y --no-install-recommends $missing; }
else
    echo "The tests need:$missing" >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing" >&2
    echo "Elsewhere: PostgreSQL 15 or later (postgres, initdb), Redis 7 or later (redis-server, redis-cli), OpenResty or nginx with its Lua module, slowhttptest, openssl, Node 20 with npm, Chromium, a font with Korean, flock, setpriv, prlimit, pgrep, curl, jq, Prometheus with promtool, Caddy, systemd-analyze, dpkg-deb, Python with PyYAML" >&2
    exit 1
fi
