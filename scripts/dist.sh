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

# The Debian package. Its data folder belongs to the service and stays when the package goes.
arch=$(dpkg --print-architecture 2>/dev/null || case $machine in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) echo "$machine" ;; esac)
package=$work/deb
mkdir -p "$package"/{DEBIAN,usr/bin,usr/lib/systemd/system,usr/lib/sysctl.d,etc/tickettock} \
    "$package"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,man/man1,doc/tickettock}
install -m 755 "$tickettock" "$package/usr/bin/tickettock"
install -m 644 deploy/systemd/tickettock.service "$package/usr/lib/systemd/system/"
install -m 644 deploy/systemd/90-tickettock.conf "$package/usr/lib/sysctl.d/"
install -m 644 deploy/systemd/tickettock.toml "$package/etc/tickettock/"
install -m 644 "$root/completions/tickettock.bash" "$package/usr/share/bash-completion/completions/tickettock"
install -m 644 "$root/completions/_tickettock" "$package/usr/share/zsh/vendor-completions/"
install -m 644 "$root/completions/tickettock.fish" "$package/usr/share/fish/vendor_completions.d/"
for page in "$root"/man/*.1; do
    install -m 644 "$page" "$package/usr/share/man/man1/"
done
gzip -n9 "$package"/usr/share/man/man1/*.1
install -m 644 LICENSE "$package/usr/share/doc/tickettock/copyright"
install -m 755 deploy/debian/preinst deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$package/DEBIAN/"
echo /etc/tickettock/tickettock.toml >"$package/DEBIAN/conffiles"
size=$(du -sk --exclude=DEBIAN "$package" | cut -f1)
# The oldest libc that has every symbol the binary needs; a static one needs none.
libc=$({ objdump -T "$tickettock" 2>/dev/null | grep -o 'GLIBC_[0-9.]*' || true; } | sort -Vu | tail -1)
cat >"$package/DEBIAN/control" <<TEXT
Package: tickettock
Version: $version
Architecture: $arch
Maintainer: Tickettock <maintainers@tickettock.example>
Installed-Size: $size
Section: net
Priority: optional
${libc:+Depends: libc6 (>= ${libc#GLIBC_}), libgcc-s1
}Recommends: ca-certificates
Description: First come, first served reservations
 A reservation backend for sales where demand far exceeds stock: one binary,
 exact stock, every reservation durable before it is confirmed.
TEXT
find "$package" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz -z"$level" --build "$package" "$out/tickettock_${version}_$arch.deb" >/dev/null

python3 scripts/sbom.py "$version" >"$out/tickettock-$version.cdx.json"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
