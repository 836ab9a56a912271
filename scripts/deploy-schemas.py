"""Validates deploy/ by schema. Called by deploy-schemas.sh, which installs what is imported here.
Prints complaints; exit 1 if there are any.
Usage: deploy-schemas.py WHEEL-OF-DOCKER-COMPOSE [BILL-OF-MATERIALS]
"""
import glob
import json
import os
import re
import sys
import zipfile

import jsonschema
import kubernetes_validate
import yaml

# The suite also checks a copy with faults in it.
deploy = os.environ.get("DEPLOY", "deploy")
complaints = []


def interpolated(text, values):
    """As compose does it: ${NAME}, ${NAME-default}, ${NAME:-default}, ${NAME:?why}."""
    def value(match):
        name, operator, rest = match.group(1), match.group(2), match.group(3)
        if values.get(name) or (name in values and operator == "-"):
            return values[name]
        if operator in ("-", ":-"):
            return rest
        complaints.append(f"compose.yaml: {name} has no value in example.env")
        return "none"
    return re.sub(r"\$\{([A-Z_]+)(:\?|:-|-)?([^}]*)\}", value, text)


lines = open(f"{deploy}/compose/example.env").read().splitlines()
values = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
compose = yaml.safe_load(interpolated(open(f"{deploy}/compose.yaml").read(), values))
with zipfile.ZipFile(sys.argv[1]) as wheel:
    schema = json.loads(wheel.read("compose/config/compose_spec.json"))
# `name` was added to the specification later.
compose.pop("name")
for error in jsonschema.Draft7Validator(schema).iter_errors(compose):
    complaints.append(f"compose.yaml: {'.'.join(map(str, error.absolute_path))}: {error.message}")

objects = 0
for file in sorted(glob.glob(f"{deploy}/kubernetes/*.yaml")):
    for one in yaml.safe_load_all(open(file)):
        objects += 1
        for version in ["1.29", "1.34"]:
            where = f"{file}: {one['kind']} {one['metadata']['name']} in {version}"
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                complaints.append(f"{where}: {'.'.join(map(str, error.path))}: {error.message}")
            except Exception as error:  # no schema of this kind
                complaints.append(f"{where}: {error!r}")

for file in sys.argv[2:]:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(file).read())
    if error:
        complaints.append(f"{file}: {error}")

for complaint in complaints:
    print(complaint)
print(f"by schema: {objects} objects of Kubernetes, {len(compose['services'])} services of compose, "
      f"{len(sys.argv) - 2} bills of materials")
sys.exit(1 if complaints else 0)
