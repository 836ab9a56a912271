#!/usr/bin/env bash
# Installs the Debian package on a machine that has nothing of ours, and sees that it starts under a user of its own,
# survives restarts and a reboot, keeps its data through upgrade, removal and purge, and leaves nothing else behind.
# The machine is a fresh Debian in systemd-nspawn, with a systemd of its own and no network.
# Called by `make distcheck`. Needs root. ROOT is an unpacked Debian; without it debootstrap makes one (two minutes).
# Usage: scripts/package-test.sh [PACKAGE], by default the package in target/dist
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "package-test: $1" >&2
    exit 1
}

package=${1:-$(ls target/dist/*.deb 2>/dev/null || true)}
[ -f "$package" ] || fail "there is no package; make dist builds one"
[ "$(id -u)" = 0 ] || fail "root is needed, for a machine of its own"
. scripts/machine.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-package.XXXXXX")
trap 'machine_off; rm -rf "$work"' EXIT
fresh_debian bookworm

said=""
ask() {
    said=$(on curl -s --max-time 10 -H 'X-User-Id: alice' -H 'Content-Type: application/json' "http://127.0.0.1:5800$1" "${@:2}") ||
        fail "no answer to $1"
}

serves() {
    on systemctl is-active --quiet tickettock || {
        on journalctl -u tickettock --no-pager | tail -20 >&2
        fail "$1: the unit does not run"
    }
    for _ in $(seq 100); do
        on tickettock healthcheck >/dev/null 2>&1 && break
        sleep 0.1
    done
    ask /api/v1/reservations
    [[ $said == *"$reservation"* ]] || fail "$1: the reservation is gone: $said"
    echo "  $1"
}

# Every file of the machine but what the system itself writes.
files() {
    (cd "$root" && find etc usr var -xdev -not -path 'var/log/*' -not -path 'var/cache/*' -not -path 'var/lib/dpkg/*' \
        -not -path 'var/lib/apt/*' -not -path 'var/lib/systemd/*' -not -path 'var/tmp/*' -not -path 'etc/machine-id' |
        sort)
}

machine_on
files >"$work/before"
if grep -i tickettock "$work/before"; then fail "the machine is not fresh"; fi
cp "$package" "$root/srv/tickettock.deb"

echo "installed:"
on apt-get -y install /srv/tickettock.deb >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not install"; }
on systemctl is-enabled --quiet tickettock || fail "it does not start with the machine"
if on systemctl is-enabled --quiet tickettock-gateway; then fail "the gateway starts where nobody asked for it"; fi
ask /api/v1/seats/reservation/fcfs -d '{"userName":"Alice","phone":"010-1234-5678"}'
reservation=$(sed -n 's/.*"reservationId":"\([^"]*\)".*/\1/p' <<<"$said")
[ -n "$reservation" ] || fail "no seat: $said"
serves "it starts at once and sells"

main=$(on systemctl show -p MainPID --value tickettock)
status=$(on cat "/proc/$main/status")
uid=$(awk '/^Uid:/ { print $2 }' <<<"$status")
# The range of DynamicUser.
if [ "$uid" -lt 61184 ] || [ "$uid" -gt 65519 ]; then fail "it runs as user $uid"; fi
for wanted in 'CapEff:.0000000000000000' 'CapBnd:.0000000000000000' 'NoNewPrivs:.1' 'Seccomp:.2'; do
    grep -q "$wanted" <<<"$status" || fail "the process is not confined: no $wanted"
done
[ "$(on stat -c %u:%a /var/lib/private/tickettock)" = "$uid:700" ] || fail "others can read the ledger"
echo "  it runs as user $uid, which exists while it runs, without a capability"
exposure=$(on systemd-analyze security tickettock --no-pager | sed -n 's/.*exposure level for tickettock.service: \([0-9.]*\).*/\1/p')
awk -v level="$exposure" 'BEGIN { exit !(level != "" && level < 2) }' || fail "systemd-analyze security says $exposure"
echo "  systemd-analyze security says $exposure"
on test -e /usr/share/man/man1/tickettock-serve.1.gz || fail "no manual page"
on bash -n /usr/share/bash-completion/completions/tickettock || fail "the completion is no bash"

on systemctl restart tickettock
serves "systemctl restart"
on systemctl reload tickettock
serves "systemctl reload"
before=$(on systemctl show -p MainPID --value tickettock)
on kill -9 "$before"
for _ in $(seq 100); do
    now=$(on systemctl show -p MainPID --value tickettock)
    [ "$now" != 0 ] && [ "$now" != "$before" ] && on systemctl is-active --quiet tickettock && break
    sleep 0.1
done
serves "kill -9"
machine_off
machine_on
serves "a reboot of the machine"

# The same again as a later version, with settings that somebody changed.
echo '# ours' >>"$root/etc/tickettock/tickettock.toml"
dpkg-deb -R "$package" "$work/later"
sed -i 's/^Version: .*/&+later/' "$work/later/DEBIAN/control"
dpkg-deb --root-owner-group -Znone -b "$work/later" "$root/srv/later.deb" >/dev/null
before=$(on systemctl show -p MainPID --value tickettock)
on apt-get -y install /srv/later.deb >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not upgrade"; }
[ "$(on systemctl show -p MainPID --value tickettock)" != "$before" ] || fail "after the upgrade the old binary runs"
grep -q '# ours' "$root/etc/tickettock/tickettock.toml" || fail "the upgrade replaced the settings"
serves "an upgrade, with the settings that were changed"

echo "removed:"
on apt-get -y remove tickettock >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not go"; }
if on pgrep -x tickettock; then fail "it still runs"; fi
[ -z "$(on systemctl list-unit-files --no-legend 'tickettock*')" ] || fail "the unit is still there"
[ -s "$root/var/lib/private/tickettock/tickettock.db" ] || fail "the ledger is gone"
[ -e "$root/etc/tickettock/tickettock.toml" ] || fail "the settings are gone; only a purge removes them"
echo "  the service is gone; ledger and settings are kept"
on apt-get -y install /srv/tickettock.deb >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it does not install again"; }
serves "installed again, with the ledger that was kept"

on apt-get -y purge tickettock >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it is not purged"; }
grep -q 'The ledger stays in /var/lib/private/tickettock' "$work/apt" || fail "the purge does not say where the ledger is"
[ "$(on systemctl is-system-running)" = running ] || fail "the machine is degraded: $(on systemctl --failed --no-legend)"
files >"$work/after"
left=$(comm -13 "$work/before" "$work/after" | grep -Ev '^var/lib/(private($|/tickettock($|/))|tickettock$)' || true)
[ -z "$left" ] || fail "a purge leaves: $left"
[ -s "$root/var/lib/private/tickettock/tickettock.db" ] || fail "a purge took the ledger"
echo "  a purge leaves the ledger and nothing else"
