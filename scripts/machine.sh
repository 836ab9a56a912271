# shellcheck shell=bash
# A fresh Debian in systemd-nspawn, with a systemd of its own and no network. For scripts that source it; they define
# `fail`, and $work is a folder that goes with them. Needs root.

for tool in debootstrap:debootstrap systemd-nspawn:systemd-container nsenter:util-linux; do
    command -v "${tool%%:*}" >/dev/null || fail "${tool%%:*} is not there: apt-get install ${tool##*:}"
done

# Makes $root, a copy of a Debian with these packages beside the system itself. The first part of every run is kept under
# target/package-test, because it has nothing but packages of Debian. ROOT is one that is unpacked already.
fresh_debian() {
    local name=$1 base packages=systemd,systemd-sysv,dbus,ca-certificates,curl,procps${2:+,$2}
    base=${ROOT:-$PWD/target/package-test/$name}
    if [ ! -e "$base/etc/debian_version" ]; then
        mkdir -p "$(dirname "$base")"
        rm -rf "$base.part"
        debootstrap --variant=minbase --include="$packages" bookworm "$base.part" >"$base.log" 2>&1 ||
            fail "debootstrap failed: $base.log"
        mv "$base.part" "$base"
    fi
    root=${work:?a folder}/root
    cp -a "$base" "$root"
}

nspawn="" leader=""
machine_off() {
    [ -z "$nspawn" ] || { kill "$nspawn" 2>/dev/null || true; wait "$nspawn" 2>/dev/null || true; }
    nspawn=""
}

# Runs a command on the machine.
on() {
    nsenter --target "$leader" --mount --uts --ipc --net --pid --cgroup --root --wd -- "$@"
}

machine_on() {
    systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$root" --boot \
        </dev/null >>"$work/console" 2>&1 &
    nspawn=$!
    for _ in $(seq 300); do
        leader=$(pgrep -P "$nspawn" || true)
        if [ -n "$leader" ] && [ "$(on systemctl is-system-running 2>/dev/null)" = running ]; then return; fi
        kill -0 "$nspawn" 2>/dev/null || break
        sleep 0.2
    done
    tail -20 "$work/console" >&2
    fail "the machine did not start"
}
