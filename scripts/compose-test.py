#!/usr/bin/env python3
"""The second part of scripts/compose-test.sh: starts the services that WORK/compose.yaml describes, and sells through them.
Usage: scripts/compose-test.py WORK BINARY
"""
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

import yaml

work, binary, *rest = sys.argv[1:]
repository = os.getcwd()
services = yaml.safe_load(open(f"{work}/compose.yaml"))["services"]
# The name of an interface has 15 letters at most.
prefix = f"tt{os.getpid() % 100000}"
postgres = sorted(os.listdir("/usr/lib/postgresql"))[-1]
PATH = f"/usr/lib/postgresql/{postgres}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin"
places = ["client"] + [name for name in services if name != "grafana"]
running = {}


def fail(what):
    for name in running:
        print(f"--- {name}\n" + open(f"{work}/{name}.log", errors="replace").read()[-2000:], file=sys.stderr)
    sys.exit(f"compose-test: {what}")


def sh(command, **more):
    return subprocess.run(command, check=True, **more)


def image_environment(file):
    lines = re.findall(r"^ENV (.*)$", open(file).read(), re.M)
    return dict(pair.split("=", 1) for line in lines for pair in line.split())


def image_check(file):
    words = json.loads(re.search(r"HEALTHCHECK [^\[]*CMD (\[.*\])$", open(file).read().replace("\\\n", ""), re.M).group(1))
    return [binary, *words[1:]]


def networks():
    """A bridge, and a network per service; all know each other by name."""
    sh(["ip", "netns", "add", f"{prefix}-hub"])
    hub = ["ip", "-n", f"{prefix}-hub"]
    sh([*hub, "link", "add", "br0", "type", "bridge"])
    sh([*hub, "link", "set", "br0", "up"])
    hosts = ["127.0.0.1 localhost"]
    for number, name in enumerate(places, 10):
        space, link = f"{prefix}-{name}", f"{prefix}-{number}"
        sh(["ip", "netns", "add", space])
        sh([*hub, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space])
        sh([*hub, "link", "set", link, "master", "br0", "up"])
        sh(["ip", "-n", space, "address", "add", f"10.91.7.{number}/24", "dev", "eth0"])
        for device in ("lo", "eth0"):
            sh(["ip", "-n", space, "link", "set", device, "up"])
        hosts.append(f"10.91.7.{number} {name}")
    open(f"{work}/hosts", "w").write("\n".join(hosts) + "\n")
    sh([*hub, "address", "add", "10.91.7.1/24", "dev", "br0"])
    open(f"{work}/resolv.conf", "w").write("nameserver 10.91.7.1\n")
    log = open(f"{work}/names.log", "ab")
    running["names"] = subprocess.Popen(["ip", "netns", "exec", f"{prefix}-hub", sys.executable, __file__, work, binary,
                                         "names"], stdout=log, stderr=log)


def names():
    """The gateway asks a name server, as it would find in a container. Runs until it is killed."""
    hosts = dict(reversed(line.split()) for line in open(f"{work}/hosts"))
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind(("10.91.7.1", 53))
    while True:
        question, who = here.recvfrom(512)
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        kind, address = question[at + 1:at + 3], hosts.get(".".join(labels))
        found = kind == b"\0\1" and address
        head = question[:2] + (b"\x81\x80" if address else b"\x81\x83") + b"\0\1" + (b"\0\1" if found else b"\0\0")
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) if found else b""
        here.sendto(head + b"\0\0\0\0" + question[12:at + 5] + answer, who)


def inside(name, environment, command, mounts=(), user=None, setup=""):
    """The command in the service's network, on a root of its own over this machine's."""
    service = services.get(name, {})
    root = f"{work}/roots/{name}"
    for part in ("upper", "work", "root"):
        os.makedirs(f"{root}/{part}", exist_ok=True)
    lines = ["set -e", f"cd {root}",
             f"mount -t overlay overlay -o lowerdir=/,upperdir={root}/upper,workdir={root}/work root",
             "mount --rbind /dev root/dev", "mount -t proc proc root/proc", "mount -t tmpfs -o mode=1777 tmpfs root/tmp",
             f"mount --bind {work}/hosts root/etc/hosts", f"mount --bind {work}/resolv.conf root/etc/resolv.conf", "mkdir -p root/usr/local/bin",
             f"install -m 755 {shlex.quote(os.path.abspath(binary))} root/usr/local/bin/tickettock",
             "ln -sf usr/local/bin/tickettock root/tickettock"]
    for place in service.get("tmpfs", []):
        path, _, options = place.partition(":")
        if path != "/tmp":
            lines.append(f"mkdir -p root{path}; mount -t tmpfs -o {options or 'mode=1777'} tmpfs root{path}")
    for source, target, options in mounts:
        made = "mkdir -p" if os.path.isdir(source) else "touch"
        lines += [f"mkdir -p root{os.path.dirname(target)}; {made} root{target}", f"mount --bind {source} root{target}"]
        if "ro" in options:
            lines.append(f"mount -o remount,ro,bind root{target}")
    for key, value in service.get("sysctls", {}).items():
        lines.append(f"echo {value} >/proc/sys/{key.replace('.', '/')}")
    lines.append(setup)
    if service.get("read_only"):
        lines.append("mount -o remount,ro root")
    confined = ["chroot"] + ([f"--userspec={user}"] if user else []) + ["root"]
    if "nofile" in service.get("ulimits", {}):
        # A confined root may give less.
        most = min(service["ulimits"]["nofile"], resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        confined = ["prlimit", f"--nofile={most}"] + confined
    if "ALL" in service.get("cap_drop", []):
        # Users other than root have none, and get none back.
        confined += ["setpriv", "--no-new-privs"]
    lines.append("exec " + shlex.join([*confined, "env", "-i", f"PATH={PATH}",
                                       *(f"{key}={value}" for key, value in environment.items()), *command]))
    script = f"{work}/{name}.sh"
    open(script, "w").write("\n".join(lines) + "\n")
    log = open(f"{work}/{name}.log", "ab")
    # ip mounts /sys anew, so it makes a space of mounts that ends with the process.
    return subprocess.Popen(["ip", "netns", "exec", f"{prefix}-{name}", "bash", script], stdout=log, stderr=log,
                            stdin=subprocess.DEVNULL)


def ask(name, *command, **more):
    """A command in the network of a service; not in its file system."""
    full = ["ip", "netns", "exec", f"{prefix}-{name}", "bash", "-c",
            f'mount --bind {work}/hosts /etc/hosts; exec "$@"', "-", *command]
    return subprocess.run(full, capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": PATH}, **more)


def until(what, check, seconds=90):
    end = time.monotonic() + seconds
    while not check():
        ended = [name for name, process in running.items() if process.poll() is not None]
        if ended or time.monotonic() > end:
            fail(f"never: {what}" + (f" ({', '.join(ended)} has ended)" if ended else ""))
        time.sleep(0.2)


def mounts(name):
    """Of the file; named volumes are folders here."""
    found = []
    for volume in services[name].get("volumes", []):
        if isinstance(volume, str):
            source, target, *options = volume.split(":")
        else:
            source, target, options = volume["source"], volume["target"], ["ro"] if volume.get("read_only") else []
        if source.startswith((".", "/")):
            source = os.path.normpath(os.path.join(repository, "deploy", source))
        else:
            source = f"{work}/volumes/{source}"
            os.makedirs(source, exist_ok=True)
            if name.startswith("postgres"):
                shutil.chown(source, "postgres", "postgres")
                os.chmod(source, 0o700)
        found.append((source, target, options))
    return found


def command_of(name):
    given = services[name].get("entrypoint", []), services[name].get("command", [])
    return [part for one in given for part in (shlex.split(one) if isinstance(one, str) else one)]


def healthy(name, check):
    said = []

    def good():
        done = ask(name, *check)
        said[:] = [done.stdout + done.stderr]
        return done.returncode == 0

    try:
        until(f"{name} is healthy", good)
    except SystemExit:
        print(f"its check says: {said[0]}", file=sys.stderr)
        raise
    print(f"  {name} is healthy")


def check_of(name):
    test = services[name]["healthcheck"]["test"]
    return ["bash", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]


def start_postgres():
    """What the entry point of PostgreSQL's image does with these variables."""
    data = "/var/lib/postgresql/data"
    first = f"""export PGDATA={data}
        printf %s "$POSTGRES_PASSWORD" >/tmp/password
        initdb -D {data} --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust \\
            --auth-host=scram-sha-256 >/tmp/initdb
        echo "host all all all scram-sha-256" >>{data}/pg_hba.conf
        echo "listen_addresses = '*'" >>{data}/postgresql.conf
        echo "unix_socket_directories = '/tmp'" >>{data}/postgresql.conf
        pg_ctl -D {data} -o "-c listen_addresses=''" -w start >/tmp/first
        export PGHOST=/tmp
        createdb --username="$POSTGRES_USER" "$POSTGRES_DB" 2>/tmp/made || grep -q exists /tmp/made
        for script in /docker-entrypoint-initdb.d/*.sh; do bash "$script"; done
        pg_ctl -D {data} -w -m fast stop >/tmp/last
        exec "$@" -D {data}"""
    command = ["bash", "-euc", first, "-", *command_of("postgres")]
    running["postgres"] = inside("postgres", services["postgres"]["environment"], command, mounts("postgres"), "postgres")
    test = check_of("postgres")[2] + " -h postgres"
    until("postgres is healthy", lambda: ask("postgres", "bash", "-c", test).returncode == 0)
    print("  postgres is healthy")


def sql(name, text):
    password = services["postgres"]["environment"]["POSTGRES_PASSWORD"]
    done = ask("client", "psql", "-AtX", f"postgres://tickettock:{password}@{name}:5432/tickettock", "-c", text)
    return done.stdout.strip() if done.returncode == 0 else done.stderr


def start_server(name):
    environment = {**image_environment("deploy/Dockerfile"), **services[name]["environment"]}
    running[name] = inside(name, environment, ["/tickettock", "serve"], user="65532:65532")
    healthy(name, image_check("deploy/Dockerfile"))


def start_gateway():
    words = re.search(r"^CMD (\[.*\])$", open("deploy/Dockerfile.gateway").read(), re.M)
    environment = {**image_environment("deploy/Dockerfile.gateway"), **services["gateway"]["environment"]}
    # Debian's nginx with its Lua takes the place of OpenResty.
    running["gateway"] = inside("gateway", environment, json.loads(words.group(1)),
                                setup="ln -sf /usr/sbin/nginx root/usr/local/bin/openresty")
    healthy("gateway", image_check("deploy/Dockerfile.gateway"))


def prometheus(path):
    url = yaml.safe_load(open("deploy/grafana/provisioning/datasources/prometheus.yml"))["datasources"][0]["url"]
    said = ask("client", "curl", "-s", "--max-time", "10", url + path).stdout
    return json.loads(said)["data"] if said.startswith("{") else {}


def reserve(user):
    body = '{"userName":"A","phone":"010-1234-5678"}'
    said = ask("client", "curl", "-s", "--max-time", "20", "-w", " %{http_code}", "-H", f"X-User-Id: {user}",
               "-H", "Content-Type: application/json", "-d", body, "http://gateway:8080/api/v1/seats/reservation/fcfs")
    return said.stdout.rsplit(" ", 1)


def main():
    networks()
    # The image's Redis is built without protected mode; Debian's is not.
    running["redis"] = inside("redis", {}, [*command_of("redis"), "--protected-mode", "no"], user="redis")
    healthy("redis", check_of("redis"))
    start_postgres()
    standby = services["postgres-standby"]
    running["postgres-standby"] = inside("postgres-standby", standby["environment"], command_of("postgres-standby"),
                                         mounts("postgres-standby"), standby["user"])
    until("the standby follows, and is waited for",
          lambda: sql("postgres", "SELECT application_name, sync_state FROM pg_stat_replication") == "standby|sync")
    print("  the standby follows, and is waited for")
    for name in ("server-1", "server-2"):
        start_server(name)
    start_gateway()
    running["prometheus"] = inside("prometheus", {}, ["prometheus", *command_of("prometheus"),
                                                      "--storage.tsdb.path=/prometheus"], mounts("prometheus"))

    answers = [reserve(f"user-{i}") for i in range(12)]
    sold = [status for _, status in answers if status == "200"]
    if len(sold) != 9:
        fail(f"of 9 seats {len(sold)} were sold: {answers}")
    count = "SELECT count(*) FROM taken WHERE kind = 'sold'"
    if (sql("postgres", count), sql("postgres-standby", count)) != ("9", "9"):
        fail(f"on the standby: {sql('postgres-standby', count)}")
    print("  twelve people, nine seats, nine sold; the standby has them")
    policy = ask("client", "redis-cli", "-h", "redis", "config", "get", "maxmemory-policy").stdout.split()
    if policy[1:] != ["noeviction"]:
        fail(f"Redis: {policy}")
    targets = lambda: [(t["labels"]["job"], t["health"]) for t in prometheus("/api/v1/targets").get("activeTargets", [])]
    until("Prometheus reads all three", lambda: sorted(targets()) == [
        ("tickettock", "up"), ("tickettock", "up"), ("tickettock-gateway", "up")])
    rules = [rule["name"] for group in prometheus("/api/v1/rules")["groups"] for rule in group["rules"]]
    seen = lambda: prometheus("/api/v1/query?query=sum(tickettock_outcomes_total{outcome=\"reserved\"})".replace(
        "{", "%7B").replace("}", "%7D").replace('"', "%22")).get("result", [])
    until("the sales are in Prometheus", lambda: seen() and seen()[0]["value"][1] == "9")
    print(f"  Prometheus reads both servers and the gateway, has {len(rules)} rules, and saw nine sales")

    began = time.monotonic()
    stopped = running.pop("server-1")
    # `ip` became the shell, which became the server.
    stopped.send_signal(signal.SIGTERM)
    code = stopped.wait(timeout=float(re.match(r"\d+", str(services["server-1"]["stop_grace_period"])).group()))
    if code != 0:
        fail(f"server-1 ended with {code}")
    body, status = reserve("user-late")
    if status != "409":
        fail(f"with one server: {status} {body}")
    print(f"  server-1 stops in {time.monotonic() - began:.1f} s of its {services['server-1']['stop_grace_period']}; "
          "the gateway goes on with the other")


if rest == ["names"]:
    names()
try:
    main()
finally:
    for process in running.values():
        process.terminate()
    for process in running.values():
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    for name in ["hub", *places]:
        subprocess.run(["ip", "netns", "del", f"{prefix}-{name}"], stderr=subprocess.DEVNULL)
