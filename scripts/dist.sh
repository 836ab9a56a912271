#!/usr/bin/env bash
# Builds what is given to others into target/dist: the stripped binary as tar.gz with completions, manual pages and
# the files of deploy/, a Debian package, a bill of materials (CycloneDX) and checksums. Called by `make dist`.
# With BINARY nothing is built; OUT is where it goes; LEVEL is how hard it is packed. Static where the musl target of Rust is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-$PWD/target/dist}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=$(uname -m)
level=${LEVEL:-9}
# The same source gives the same archive.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

binary=${BINARY:-}
if [ -z "$binary" ]; then
    target=$machine-unknown-linux-musl
    if rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        cargo build --locked --release --bin tickettock --target "$target"
        binary=target/$target/release/tickettock
    else
        echo "The target $target is not installed: the binary needs this machine's libc. (rustup target add $target)" >&2
        cargo build --locked --release --bin tickettock
        binary=target/release/tickettock
    fi
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"

name=tickettock-$version-linux-$machine
root=$work/$name
mkdir -p "$root"/{bin,completions,man,deploy}
install -m 755 "$binary" "$root/bin/tickettock"
strip "$root/bin/tickettock"
tickettock=$root/bin/tickettock
"$tickettock" completions bash >"$root/completions/tickettock.bash"
"$tickettock" completions zsh >"$root/completions/_tickettock"
"$tickettock" completions fish >"$root/completions/tickettock.fish"
"$tickettock" man "$root/man"
cp -r deploy/systemd deploy/tls deploy/prometheus deploy/grafana deploy/kubernetes "$root/deploy/"
cp LICENSE README.md CHANGELOG.md "$root/"

archive() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$1" -cf - "$2" | gzip -n"$level"
}
archive "$work" "$name" >"$out/$name.tar.gz"

# The Debian package, as crates/server/Cargo.toml describes it. Its data folder belongs to the service and stays when
# the package goes. One at a time: it is made from what lies under target/package.
deb=$(scripts/cargo-deb.sh)
mkdir -p target
exec 9>target/package.lock
flock 9
rm -rf target/package
mkdir target/package
cp -r "$tickettock" "$root/completions" "$root/man" target/package/
arch=$(dpkg --print-architecture 2>/dev/null || case $machine in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) echo "$machine" ;; esac)
speed=()
[ "$level" -ge 6 ] || speed=(--fast)
"$deb" --no-build --no-strip --quiet --locked -p tickettock "${speed[@]}" --output "$out/tickettock_${version}_$arch.deb" >/dev/null
rm -rf target/package
flock -u 9

python3 scripts/sbom.py "$version" >"$out/tickettock-$version.cdx.json"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
