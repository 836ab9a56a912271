#!/usr/bin/env python3
"""Prints the bill of materials of the binary as CycloneDX 1.5, from cargo's own list of what it is built from.

Only crates that end up in the binary: no tests, no build scripts of other packages.
Usage: scripts/sbom.py VERSION
"""
import json
import os
import subprocess
import sys
import uuid

version = sys.argv[1]
metadata = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"],
        check=True, stdout=subprocess.PIPE,
    ).stdout
)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
checksums, name, found = {}, None, None
for line in open("Cargo.lock"):
    if line.startswith("name = "):
        name = line.split('"')[1]
    elif line.startswith("version = \""):
        found = line.split('"')[1]
    elif line.startswith("checksum = "):
        checksums[name, found] = line.split('"')[1]

root = next(package["id"] for package in metadata["packages"] if package["name"] == "tickettock")
used, open_ids = {}, [root]
while open_ids:
    one = open_ids.pop()
    if one in used:
        continue
    below = [
        dependency["pkg"] for dependency in nodes[one]["deps"]
        if any(kind["kind"] is None for kind in dependency["dep_kinds"])
    ]
    used[one] = below
    open_ids.extend(below)


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package):
    made = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package.get("license"):
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return made


lock = subprocess.run(["sha256sum", "Cargo.lock"], check=True, stdout=subprocess.PIPE, text=True).stdout
seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
stamp = subprocess.run(["date", "-u", "-d", f"@{seconds}", "+%Y-%m-%dT%H:%M:%SZ"], check=True, stdout=subprocess.PIPE, text=True)
main = component(packages[root]) | {"type": "application"}
others = sorted((component(packages[one]) for one in used if one != root), key=lambda made: made["bom-ref"])
document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, version + lock)}",
    "version": 1,
    "metadata": {"timestamp": stamp.stdout.strip(), "component": main},
    "components": others,
    "dependencies": sorted(
        (
            {"ref": reference(packages[one]), "dependsOn": sorted({reference(packages[other]) for other in below})}
            for one, below in used.items()
        ),
        key=lambda dependency: dependency["ref"],
    ),
}
json.dump(document, sys.stdout, indent=1)
print()
