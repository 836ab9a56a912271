"""A soak: events are made, sold, closed and deleted, by users who never come back. Nothing may grow.

    python3 load/soak.py target/quick/tickettock      (or: make soak)

Runs an embedded server, and two servers on PostgreSQL and Redis of their own, at a low rate. Samples what each
of them uses, prints a table, and exits with 1 if anything rises in the second half of the run. What is a record
(history, rows of events, stays) grows with the sales and is shown apart. Settings: MINUTES (60), RATE (requests
per second and deployment, 50), SAMPLE (seconds between samples, 60), SOAK_DIR (where the data goes).
"""

import http.client, itertools, json, os, pathlib, random, re, shutil, signal, sqlite3, subprocess, sys, threading, time

from services import Services, free_port

MINUTES = float(os.environ.get("MINUTES", "60"))
RATE = float(os.environ.get("RATE", "50"))
SAMPLE = float(os.environ.get("SAMPLE", "60"))
DIR = pathlib.Path(os.environ.get("SOAK_DIR", "target/soak")).resolve()
TOKEN = "the-token-of-the-soak"
# Short, so that an hour shows the steady state.
KEEP = {"KEY_KEEP": "120", "HOLD_KEEP": "120", "QUEUE_KEEP": "120", "DELETED_KEEP": "60", "CACHE_KEEP": "60"}
HOLD_TTL_S = 5
# Rows that are kept for ever: the record of what happened.
RECORD = ("history", "event", "stay", "room_type", "night", "ticket_key", "ledger", "refinery_schema_history")
MIB = 1024.0 * 1024.0
names = itertools.count(1)
RUN = "%08x" % random.getrandbits(32)


def user():
    return "soak-%s-%d" % (RUN, next(names))


class Caller:
    """One connection, and a share of the rate."""

    def __init__(self, addresses, pace, counts):
        self.addresses, self.pace, self.counts, self.kept = addresses, pace, counts, {}

    def __call__(self, method, path, who=None, body=None, headers=()):
        time.sleep(random.expovariate(1.0 / self.pace))
        sent = dict(headers)
        if body is not None:
            sent["Content-Type"] = "application/json"
        if who == "admin":
            sent["Authorization"] = "Bearer " + TOKEN
        elif who:
            sent["X-User-Id"] = who
        address = random.choice(self.addresses)
        for attempt in (0, 1):
            try:
                if address not in self.kept:
                    self.kept[address] = http.client.HTTPConnection(*address, timeout=15)
                connection = self.kept[address]
                connection.request(method, path, None if body is None else json.dumps(body), sent)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.kept.pop(address).close()
                if attempt:
                    self.counts["no answer"] = self.counts.get("no answer", 0) + 1
                    return 0, {}
        self.counts[answer.status] = self.counts.get(answer.status, 0) + 1
        if answer.status >= 500:
            self.counts["last 5xx"] = "%s %s: %s" % (method, path, text[:200].decode(errors="replace"))
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, {}


BUYER = {"userName": "Soak", "phone": "010-1234-5678"}


def key():
    return "%032x" % random.getrandbits(128)


def client_key():
    k = key()
    return "-".join((k[:8], k[8:12], "4" + k[13:16], "8" + k[17:20], k[20:]))


def new_event(call, waits):
    seats = random.randint(20, 60)
    if random.random() < 0.5:
        rows = [{"name": "R%d" % i, "seats": seats} for i in range(random.randint(1, 40))]
        body = {"name": "Soak", "seats": {"sections": [{"name": "S", "rows": rows}]}}
    else:
        body = {"name": "Soak", "seats": seats}
    body["maxPerUser"] = 2
    if waits:
        body["waitingRoom"] = {"maxConcurrent": 5, "tokenTtl": 30, "tokenMaxAge": 60, "idleTimeout": 10}
    status, made = call("POST", "/api/v1/admin/events", "admin", body)
    return made["event"]["id"] if status == 201 else None


def life_of_an_event(call):
    """Made, waited for, sold, held, read, cancelled, closed and deleted."""
    waits = random.random() < 0.5
    event = new_event(call, waits)
    if event is None:
        return
    at = "/api/v1/events/%d" % event
    sold = []
    for _ in range(random.randint(10, 30)):
        who, headers = user(), {}
        if waits:
            status, stands = call("POST", at + "/queue", who)
            # Most are never seen again.
            if status != 200 or random.random() < 0.6:
                continue
            status, entered = call("POST", at + "/queue/enter", who, headers={"X-Queue-Ticket": stands.get("ticket", "")})
            if status != 200:
                continue
            headers["X-Entry-Token"] = entered["token"]
        kind = random.random()
        if kind < 0.3:
            body = {"eventId": event, "seatIds": random.sample(range(1, 21), 2), "clientHoldKey": client_key()}
            status, held = call("POST", "/v1/holds", who, body, headers)
            if status == 201:
                hold, what = held["hold"]["holdId"], random.random()
                if what < 0.3:
                    status, done = call("POST", "/v1/holds/%s/confirm" % hold, who, {})
                    if status == 200:
                        sold += [(r, who) for r in ids_in(done)]
                elif what < 0.5:
                    call("DELETE", "/v1/holds/%s" % hold, who)
            continue
        if kind < 0.6:
            headers["Idempotency-Key"] = key()
        if kind < 0.8:
            status, done = call("POST", at + "/seats/reservation/fcfs", who, BUYER, headers)
        else:
            status, done = call("POST", at + "/seats/%d/reservation" % random.randint(1, 20), who, BUYER, headers)
        if status == 200:
            sold += [(r, who) for r in ids_in(done)]
        if random.random() < 0.1:
            call("GET", at + "/seats")
    for reservation, who in sold:
        if random.random() < 0.8:
            call("DELETE", "/api/v1/reservations/%s" % reservation, who)
        else:
            call("DELETE", "/api/v1/admin/reservations/%s" % reservation, "admin")
    call("POST", "/api/v1/admin/events/%d/close" % event, "admin")
    return event, time.time() + HOLD_TTL_S + 2


def ids_in(done):
    """Every reservation id in an answer, wherever it is."""
    if isinstance(done, dict):
        found = [done["reservationId"]] if "reservationId" in done else []
        return found + [i for k, v in done.items() if k != "reservationId" for i in ids_in(v)]
    return [i for v in done for i in ids_in(v)] if isinstance(done, list) else []


def nights(call, room_types):
    """A hold on nights: it lapses, is cancelled, or is confirmed and cancelled."""
    who, first = user(), random.randint(2, 20)
    day = lambda n: time.strftime("%Y-%m-%d", time.gmtime(time.time() + n * 86400))
    body = {"roomTypeId": random.choice(room_types), "checkIn": day(first), "checkOut": day(first + random.randint(1, 4)),
            "clientHoldKey": client_key()}
    status, held = call("POST", "/v1/holds", who, body, {"Idempotency-Key": key()} if random.random() < 0.5 else {})
    if status != 201:
        return
    hold, what = held["hold"]["holdId"], random.random()
    if what < 0.4:
        call("DELETE", "/v1/holds/%s" % hold, who)
    elif what < 0.42:
        status, done = call("POST", "/v1/holds/%s/confirm" % hold, who, {})
        for reservation in ids_in(done):
            call("DELETE", "/api/v1/reservations/%s" % reservation, who)


class Deployment:
    """Servers on the same stores, and the crowd in front of them."""

    def __init__(self, name, binary, servers, settings, stores):
        self.name, self.stores, self.counts, self.servers, self.undeleted = name, stores, {}, [], 0
        for i in range(servers):
            folder = DIR / ("%s-%d" % (name, i))
            folder.mkdir(parents=True)
            port = free_port()
            env = {"PATH": os.environ["PATH"], "APP_PORT": str(port), "DATA_DIR": str(folder), "ADMIN_TOKEN": TOKEN,
                   "HOLD_TTL": str(HOLD_TTL_S), "RUST_LOG": "warn", **KEEP, **settings}
            log = open(DIR / ("%s-%d.log" % (name, i)), "w")
            process = subprocess.Popen([binary, "serve"], env=env, stdout=log, stderr=log)
            self.servers.append((process, ("127.0.0.1", port), folder))
        self.addresses = [address for _, address, _ in self.servers]

    def begin(self, threads=4):
        wait_for(self.addresses)
        call = Caller(self.addresses, 0.001, self.counts)
        made = [call("POST", "/api/v1/admin/room-types", "admin", {"name": "Room %d" % i, "totalQuantity": 50,
                                                                  "timeZone": "Asia/Seoul"}) for i in range(5)]
        room_types = [answer["roomType"]["id"] for status, answer in made if status == 201]
        for _ in range(threads):
            threading.Thread(target=self.live, args=(threads / RATE, room_types), daemon=True).start()

    def live(self, pace, room_types):
        call, closed = Caller(self.addresses, pace, self.counts), []
        while not stopping.is_set():
            lived = life_of_an_event(call)
            if lived:
                closed.append(lived)
            for _ in range(random.randint(2, 8)):
                nights(call, room_types)
            ripe = [one for one in closed if one[1] <= time.time()]
            for one in ripe:
                status, _ = call("DELETE", "/api/v1/admin/events/%d" % one[0], "admin")
                if status in (200, 404):
                    closed.remove(one)
                elif time.time() - one[1] > 60:
                    closed.remove(one)
                    self.undeleted += 1

    def sample(self):
        found = {}
        for i, (process, address, folder) in enumerate(self.servers):
            if process.poll() is not None:
                sys.exit("soak: a server of %s ended with %s" % (self.name, process.returncode))
            status = pathlib.Path("/proc/%d/status" % process.pid).read_text()
            found["rss%d MiB" % i] = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024.0
            connection = http.client.HTTPConnection(*address, timeout=15)
            connection.request("GET", "/metrics")
            metrics = connection.getresponse().read().decode()
            connection.close()
            lines = [line for line in metrics.splitlines() if line and not line.startswith("#")]
            found["series%d" % i] = float(len(lines))
            for name in ("lanes", "boards", "lines", "halls"):
                value = re.search(r"^tickettock_remembered\{kind=\"%s\"\} (\d+)" % name, metrics, re.M)
                if value:
                    found["%s%d" % (name, i)] = float(value.group(1))
        found.update(self.stores(self))
        return found


def wait_for(addresses):
    for address in addresses:
        for _ in range(300):
            try:
                connection = http.client.HTTPConnection(*address, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        else:
            sys.exit("soak: %s:%d does not become ready" % address)


def sqlite_sizes(deployment):
    folder = deployment.servers[0][2]
    file = next(folder.glob("*.db"), None) or next(f for f in folder.iterdir() if f.suffix in (".sqlite", ".sqlite3", ".db"))
    wal = pathlib.Path(str(file) + "-wal")
    connection = sqlite3.connect("file:%s?mode=ro" % file, uri=True, timeout=10)
    try:
        owner = dict(connection.execute("SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')"))
        sizes = {}
        for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
            table = owner.get(name, name)
            sizes[table] = sizes.get(table, 0) + size
    finally:
        connection.close()
    return of_tables(sizes, {"wal MiB": wal.stat().st_size / MIB if wal.exists() else 0.0})


def of_tables(sizes, found):
    found["record MiB"] = sum(size for table, size in sizes.items() if table in RECORD) / MIB
    for table in ("answer", "taken", "hold", "entry", "hall"):
        found["%s KiB" % table] = sizes.get(table, 0) / 1024.0
    return found


def stored_sizes(services):
    rows = services.sql("SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' "
                        "AND relnamespace = 'public'::regnamespace")
    sizes = {name: int(size) for name, size in (row.split("|") for row in rows.splitlines())}
    wal = int(services.sql("SELECT coalesce(sum(size), 0) FROM pg_ls_waldir()"))
    said = services.redis_cli("INFO")
    keys = re.search(r"db0:keys=(\d+)", said)
    memory = int(re.search(r"used_memory:(\d+)", said).group(1))
    return of_tables(sizes, {"wal MiB": wal / MIB, "keys": float(keys.group(1)) if keys else 0.0, "redis MiB": memory / MIB})


# What may rise in half of a run without being called growth: noise of the allocator, one more page, a late tidy.
SLACK = {"MiB": 8.0, "KiB": 512.0, "keys": 300.0, "": 60.0}


def slope(values):
    n = len(values)
    mean_x, mean_y = (n - 1) / 2.0, sum(values) / n
    spread = sum((x - mean_x) ** 2 for x in range(n))
    return sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / spread if spread else 0.0


def judge(name, samples):
    """What grew in the second half, by least squares."""
    late = samples[len(samples) // 2:]
    grew = []
    if len(late) < 3:
        return ["%s: too few samples" % name]
    # Some are first told after a while.
    columns = [column for column in late[-1] if all(column in s for s in late)]
    first = {column: next(s[column] for s in samples if column in s) for column in columns}
    rise = {column: slope([s[column] for s in late]) * (len(late) - 1) for column in columns}
    for column, rose in rise.items():
        if column == "record MiB":
            continue
        mean = sum(s[column] for s in late) / len(late)
        unit = column.split()[-1] if " " in column else ("keys" if column == "keys" else "")
        most = max(SLACK[unit], 0.1 * mean)
        if name == "embedded" and column.startswith("rss"):
            # SQLite keeps up to 64 MiB of pages, also of the record.
            most = SLACK["MiB"] + min(64.0, rise["record MiB"])
        verdict = "GROWS" if rose > most else "flat"
        print("  %-10s %-12s from %9.1f to %9.1f, rises by %8.1f in the second half (at most %.1f): %s"
              % (name, column, first[column], samples[-1][column], rose, most, verdict))
        if rose > most:
            grew.append("%s: %s" % (name, column))
    print("  %-10s %-12s from %9.1f to %9.1f: the record grows with what is sold"
          % (name, "record MiB", first["record MiB"], samples[-1]["record MiB"]))
    return grew


stopping = threading.Event()


def verify(binary, env, folder):
    said = subprocess.run([binary, "verify"], env={"PATH": os.environ["PATH"], "DATA_DIR": str(folder), **env},
                          capture_output=True, text=True)
    print(said.stdout.strip().splitlines()[-1] if said.stdout.strip() else said.stderr.strip())
    return said.returncode


def main(binary):
    # So that nothing is left behind by a kill either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    shutil.rmtree(DIR, ignore_errors=True)
    DIR.mkdir(parents=True)
    services = Services(DIR / "services")
    deployments, grew = [], []
    try:
        deployments.append(Deployment("embedded", binary, 1, {}, sqlite_sizes))
        deployments.append(Deployment("scaled", binary, 2, services.settings(), lambda _: stored_sizes(services)))
        for deployment in deployments:
            deployment.begin()
        samples, began = {d.name: [] for d in deployments}, time.time()
        while time.time() - began < MINUTES * 60:
            time.sleep(SAMPLE)
            for deployment in deployments:
                seen = deployment.sample()
                samples[deployment.name].append(seen)
                shown = " ".join("%s=%.1f" % (column, value) for column, value in seen.items())
                print("%5.1f min %s %s" % ((time.time() - began) / 60, deployment.name, shown), flush=True)
        stopping.set()
        for deployment in deployments:
            print("%s: %s, %d events could not be deleted" % (deployment.name, deployment.counts, deployment.undeleted))
            grew += judge(deployment.name, samples[deployment.name])
        time.sleep(2)
        broken = verify(binary, {}, deployments[0].servers[0][2]) + verify(binary, services.settings(), DIR)
    finally:
        for deployment in deployments:
            for process, _, _ in deployment.servers:
                process.terminate()
        for deployment in deployments:
            for process, _, _ in deployment.servers:
                process.wait()
        services.stop()
    if broken:
        sys.exit("soak: verify found something")
    if grew:
        sys.exit("soak: grows without end: " + ", ".join(grew))
    print("Everything is flat after %g minutes." % MINUTES)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
