#!/usr/bin/env bash
# Runs the gateway as the package installs it: Debian's nginx under systemd, on a machine of its own with Redis and a
# server. It sells, is confined, reloads without a failed request, keeps running when a setting is invalid, comes back
# after a kill -9, and takes over the files of a later version. Called by `make distcheck`. Needs root.
# Usage: scripts/gateway-unit-test.sh [PACKAGE], by default the package in target/dist
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "gateway-unit-test: $1" >&2
    [ -z "${leader:-}" ] || on journalctl -u tickettock-gateway --no-pager 2>&1 | tail -20 >&2 || true
    exit 1
}

package=${1:-$(ls target/dist/*.deb 2>/dev/null || true)}
[ -f "$package" ] || fail "there is no package; make dist builds one"
[ "$(id -u)" = 0 ] || fail "root is needed, for a machine of its own"
. scripts/machine.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-gateway-unit.XXXXXX")
trap 'machine_off; rm -rf "$work"' EXIT
ROOT='' fresh_debian bookworm-gateway nginx-light,libnginx-mod-http-lua,lua-nginx-redis,lua-cjson,redis-server
# nginx's own unit has port 80 and is not ours.
ln -sf /dev/null "$root/etc/systemd/system/nginx.service"
mkdir -p "$root/etc/systemd/system/tickettock-gateway.service.d"
# The server sells from its own disk here, so only the gateway is told of Redis.
printf '[Service]\nEnvironment=REDIS_URL=redis://127.0.0.1:6379\n' \
    >"$root/etc/systemd/system/tickettock-gateway.service.d/redis.conf"
cp "$package" "$root/srv/tickettock.deb"
machine_on

at=http://127.0.0.1:8080
buys() {
    local said
    said=$(on curl -s --max-time 10 "$at/api/v1/seats/reservation/fcfs$2" -H "X-User-Id: $1" \
        -H 'Content-Type: application/json' -d '{"userName":"Somebody","phone":"010-1234-5678"}') || fail "no answer to $1"
    [[ $said == *'"success":true'* ]] || fail "no seat for $1: $said"
    [[ $said == *"$3"* ]] || fail "no $3 in $said"
}
up() {
    for _ in $(seq 100); do
        on tickettock healthcheck --url http://127.0.0.1:9145 >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "$1: it is not ready"
}
main() {
    on systemctl show -p MainPID --value tickettock-gateway
}

on apt-get -y install /srv/tickettock.deb >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not install"; }
if on systemctl is-active --quiet tickettock-gateway; then fail "it runs where nobody asked for it"; fi
key=$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')
cat >>"$root/etc/tickettock/tickettock.toml" <<TEXT
gateway_key = "$key"
gateway_upstreams = "127.0.0.1:5800"
gateway_trust_user_header = 1
gateway_metrics_listen = "127.0.0.1:9145"
TEXT
on systemctl restart tickettock
on systemctl enable --now --quiet tickettock-gateway || fail "it does not start"
up "started"
buys alice '' '"sequence":1'
echo "the gateway's unit starts, and sells"

pid=$(main)
status=$(on cat "/proc/$pid/status")
uid=$(awk '/^Uid:/ { print $2 }' <<<"$status")
# The range of DynamicUser.
if [ "$uid" -lt 61184 ] || [ "$uid" -gt 65519 ]; then fail "it runs as user $uid"; fi
[ "$(on ps -o uid= -C nginx | sort -u | wc -l)" = 1 ] || fail "its workers are another user's: they cannot drop connections"
for wanted in 'CapEff:.0000000000000000' 'CapBnd:.0000000000000000' 'NoNewPrivs:.1' 'Seccomp:.2'; do
    grep -q "$wanted" <<<"$status" || fail "the process is not confined: no $wanted"
done
exposure=$(on systemd-analyze security tickettock-gateway --no-pager |
    sed -n 's/.*exposure level for tickettock-gateway.service: \([0-9.]*\).*/\1/p')
awk -v level="$exposure" 'BEGIN { exit !(level != "" && level < 2) }' || fail "systemd-analyze security says $exposure"
echo "master and workers are user $uid, without a capability; systemd-analyze security says $exposure"

on sh -c 'cp /etc/tickettock/tickettock.toml /srv/good && echo "gateway_port = 0x" >>/etc/tickettock/tickettock.toml'
if on systemctl reload tickettock-gateway 2>/dev/null; then fail "an invalid setting was taken"; fi
buys bob '' '"sequence":2'
on sh -c 'cp /srv/good /etc/tickettock/tickettock.toml && echo "gateway_wrap = 1" >>/etc/tickettock/tickettock.toml'
# Somebody looks all the time.
on sh -c "while [ ! -e /srv/enough ]; do curl -sf -o /dev/null --max-time 10 $at/api/v1/seats || echo failed >>/srv/failed; done" &
looking=$!
on systemctl reload tickettock-gateway || fail "it does not reload"
sleep 2
touch "$root/srv/enough"
wait "$looking"
[ ! -e "$root/srv/failed" ] || fail "$(wc -l <"$root/srv/failed") requests failed in a reload"
[ "$(main)" = "$pid" ] || fail "a reload started it anew"
buys carol '?wrap=1' '"gatewayWrapped":true'
echo "a reload takes over settings without a failed request; an invalid one changes nothing"

on kill -9 "$pid"
for _ in $(seq 100); do
    now=$(main)
    [ "$now" != 0 ] && [ "$now" != "$pid" ] && break
    sleep 0.1
done
up "kill -9"
buys dora '' '"success":true'
echo "it comes back after a kill -9"

pid=$(main)
dpkg-deb -R "$package" "$work/later"
sed -i 's/^Version: .*/&+later/' "$work/later/DEBIAN/control"
dpkg-deb --root-owner-group -Znone -b "$work/later" "$root/srv/later.deb" >/dev/null
written=$(on stat -c %Y /run/tickettock-gateway/nginx.conf)
sleep 1
on apt-get -y install /srv/later.deb >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not upgrade"; }
[ "$(main)" = "$pid" ] || fail "an upgrade ends the gateway that runs"
[ "$(on stat -c %Y /run/tickettock-gateway/nginx.conf)" -gt "$written" ] || fail "an upgrade leaves the old files"
up "an upgrade"
buys erin '' '"success":true'
on apt-get -y remove tickettock >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not go"; }
if on pgrep -x nginx; then fail "it still runs"; fi
[ -z "$(on systemctl list-unit-files --no-legend 'tickettock*')" ] || fail "a unit is still there"
echo "an upgrade gives it new files while it runs; a removal takes it away"
