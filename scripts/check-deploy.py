#!/usr/bin/env python3
"""Checks the files under deploy/ without the programs that would run them: references resolve, selectors match,
every image runs as somebody, every setting that is given exists. Prints complaints; exit 1 if there are any.
Usage: scripts/check-deploy.py SETTINGS, a file with one name of a setting per line
"""
import glob
import json
import os
import re
import sys

import yaml

complaints = []


def complain(where, what):
    complaints.append(f"{where}: {what}")


settings = set(open(sys.argv[1]).read().split())
OTHER = {"SSL_CERT_FILE", "POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "REPLICATION_PASSWORD", "PGPASSWORD",
         "GF_SECURITY_ADMIN_PASSWORD", "GF_USERS_ALLOW_SIGN_UP"}


def known(where, names):
    for name in names:
        if name not in settings | OTHER:
            complain(where, f"{name} is no setting")


# Compose: everything that is named is there.
path = "deploy/compose.yaml"
compose = yaml.safe_load(open(path))
variables = set(re.findall(r"\$\{([A-Z_]+)", open(path).read()))
given = {line.split("=")[0] for line in open("deploy/compose/example.env") if "=" in line and not line.startswith("#")}
needed = set(re.findall(r"\$\{([A-Z_]+):\?", open(path).read()))
for name in sorted(needed - given):
    complain("deploy/compose/example.env", f"{name} is missing")
for name in sorted(given - variables):
    complain("deploy/compose/example.env", f"nobody uses {name}")
for name, service in compose["services"].items():
    where = f"{path}: {name}"
    if not service.get("image"):
        complain(where, "no image")
    known(where, service.get("environment", {}))
    for other, condition in service.get("depends_on", {}).items():
        target = compose["services"].get(other)
        if target is None:
            complain(where, f"depends on {other}, which is not there")
        # Our own images have a check of their own.
        elif condition["condition"] == "service_healthy" and "healthcheck" not in target \
                and target["image"] not in ("tickettock", "tickettock-gateway"):
            complain(where, f"waits for the health of {other}, which has no check")
    for volume in service.get("volumes", []):
        if isinstance(volume, str):
            source = volume.split(":")[0]
            if source.startswith("."):
                if not os.path.exists(os.path.join("deploy", source)):
                    complain(where, f"{source} is not there")
            elif source not in compose["volumes"]:
                complain(where, f"the volume {source} is not declared")
    if "build" in service and not os.path.exists(service["build"]["dockerfile"]):
        complain(where, f"{service['build']['dockerfile']} is not there")

# Images: not as root, with a check.
dockerfile = open("deploy/Dockerfile").read()
last = dockerfile[dockerfile.rindex("\nFROM "):]
for wanted in ["FROM scratch", "USER 65532:65532", "HEALTHCHECK", 'ENTRYPOINT ["/tickettock"]']:
    if wanted not in last:
        complain("deploy/Dockerfile", f"no {wanted}")
known("deploy/Dockerfile", re.findall(r"([A-Z_]+)=\S", re.search(r"^ENV (.*)$", last, re.M).group(1)))

# Kubernetes.
objects = []
for file in sorted(glob.glob("deploy/kubernetes/*.yaml")):
    for one in yaml.safe_load_all(open(file)):
        where = f"{file}: {one.get('kind')} {one.get('metadata', {}).get('name')}"
        for field in ["apiVersion", "kind", "metadata"]:
            if field not in one:
                complain(where, f"no {field}")
        objects.append((where, one))
VERSIONS = {"Secret": "v1", "Service": "v1", "ServiceAccount": "v1", "Deployment": "apps/v1",
            "PodDisruptionBudget": "policy/v1", "HorizontalPodAutoscaler": "autoscaling/v2",
            "NetworkPolicy": "networking.k8s.io/v1"}
secrets = {one["metadata"]["name"]: one["stringData"] for _, one in objects if one["kind"] == "Secret"}
for _, one in objects:
    if one["kind"] == "Secret":
        known("deploy/kubernetes: Secret", one["stringData"])
pods = [one["spec"]["template"]["metadata"]["labels"] for _, one in objects if one["kind"] == "Deployment"]
names = {(one["kind"], one["metadata"]["name"]) for _, one in objects}


def selected(where, labels):
    if not any(labels.items() <= pod.items() for pod in pods):
        complain(where, f"selects no pod: {labels}")


for where, one in objects:
    kind, spec = one["kind"], one.get("spec", {})
    if VERSIONS.get(kind) != one["apiVersion"]:
        complain(where, f"apiVersion {one['apiVersion']}")
    if kind == "Service":
        selected(where, spec["selector"])
    if kind == "PodDisruptionBudget":
        selected(where, spec["selector"]["matchLabels"])
    if kind == "NetworkPolicy":
        selected(where, spec["podSelector"]["matchLabels"])
    if kind == "HorizontalPodAutoscaler":
        target = spec["scaleTargetRef"]
        if (target["kind"], target["name"]) not in names:
            complain(where, f"scales nothing: {target}")
        if not spec["minReplicas"] < spec["maxReplicas"]:
            complain(where, "minReplicas is not below maxReplicas")
    if kind == "Deployment":
        template = spec["template"]
        if not spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items():
            complain(where, "the selector does not match its pods")
        if not template["spec"]["securityContext"].get("runAsNonRoot"):
            complain(where, "may run as root")
        volumes = {volume["name"] for volume in template["spec"].get("volumes", [])}
        for container in template["spec"]["containers"]:
            security = container["securityContext"]
            if security["allowPrivilegeEscalation"] or not security["readOnlyRootFilesystem"] \
                    or security["capabilities"] != {"drop": ["ALL"]}:
                complain(where, f"{container['name']} may do more than it must")
            ports = {port["name"] for port in container["ports"]}
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
                if probe in container and container[probe]["httpGet"]["port"] not in ports:
                    complain(where, f"{probe} asks a port that is not there")
            if "readinessProbe" not in container:
                complain(where, "no readinessProbe")
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    complain(where, f"the volume {mount['name']} is not there")
            known(where, [variable["name"] for variable in container.get("env", [])])
            for variable in container.get("env", []):
                reference = variable.get("valueFrom", {}).get("secretKeyRef")
                if reference and reference["key"] not in secrets.get(reference["name"], {}):
                    complain(where, f"the secret has no {reference['key']}")
            if "memory" not in container["resources"]["limits"]:
                complain(where, "no limit of memory")

# Dashboards: valid, and every query is about a metric.
for file in sorted(glob.glob("deploy/grafana/dashboards/*.json")):
    board = json.load(open(file))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            if "tickettock_" not in target["expr"] and "process_" not in target["expr"]:
                complain(file, f"{panel['title']}: {target['expr']}")

for complaint in complaints:
    print(complaint)
print(f"{len(objects)} objects of Kubernetes, {len(compose['services'])} services of compose")
sys.exit(1 if complaints else 0)
