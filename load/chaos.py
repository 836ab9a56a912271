"""Sales while everything fails: whatever was acknowledged must stand, and nothing may be sold twice.

    python3 load/chaos.py target/quick/tickettock      (or: make chaos)

Two servers on PostgreSQL and Redis, the gateway in front of them, and an embedded server of its own. People buy, choose,
hold, confirm, cancel, wait in line and book nights through it; somebody watches the live stream, somebody receives
webhooks. Meanwhile a seeded random number generator kills, stops and empties one part after the other. People repeat
a request with the same key until they know how it ended, as a good client does. In the end nothing fails any more, and
everything that people were told is compared with the ledger.

Settings: MINUTES (10), SEED (of the faults; printed, to run the same ones again), PEOPLE (16, at a time and
deployment), CHAOS_DIR (where data and logs go). Exits with 1 if a promise was broken. With PLANT=1 a reservation of each
deployment is cancelled behind its buyer's back: a run that does not report it is worth nothing.
"""

import collections, http.client, os, pathlib, random, shutil, signal, subprocess, sys, threading, time

from onlookers import Receiver, Watcher
from people import PATIENCE_S, Broken, Person, Unknown, calm, reservations_in, stopping, uuid
from services import Services, free_port

MINUTES = float(os.environ.get("MINUTES", "10"))
SEED = int(os.environ.get("SEED", str(random.randrange(1_000_000))))
PEOPLE = int(os.environ.get("PEOPLE", "16"))
DIR = pathlib.Path(os.environ.get("CHAOS_DIR", "target/chaos")).resolve()
TOKEN = "the-token-of-the-chaos-0123456789"
KEY = "0123456789abcdef0123456789abcdef"
HOLD_TTL_S = 20
BUYER = {"userName": "Chaos", "phone": "010-1234-5678"}


def seat_of(told):
    return told["seat"]["id"]


class Deployment:
    """Servers, what is in front of them, and what people were told by them."""

    def __init__(self, name, binary, random):
        self.name, self.binary, self.random = name, binary, random
        self.counts, self.faults = collections.Counter(), collections.Counter()
        self.lock, self.complaints, self.calm_since = threading.Lock(), [], 0.0
        # Reservation id to user and seat (None: of a hold).
        self.standing, self.cancelled = {}, set()
        self.unknown = []
        self.servers = {}
        self.threads = []

    def broken(self, what):
        with self.lock:
            self.complaints.append(what)

    def serve(self, name, port, settings):
        folder = DIR / self.name / name
        folder.mkdir(parents=True, exist_ok=True)
        env = {"PATH": os.environ["PATH"], "APP_PORT": str(port), "DATA_DIR": str(folder), "ADMIN_TOKEN": TOKEN,
               "HOLD_TTL": str(HOLD_TTL_S), "RUST_LOG": "warn", "WEBHOOK_PRIVATE": "1", "ADDRESS_RATE": "0",
               "ADDRESS_CONNECTIONS": "0", **settings}
        log = open(DIR / self.name / (name + ".log"), "a")
        self.servers[name] = (subprocess.Popen([self.binary, "serve"], env=env, stdout=log, stderr=log), port, settings)

    def again(self, name):
        process, port, settings = self.servers[name]
        process.wait()
        self.serve(name, port, settings)

    def ready(self, port):
        for _ in range(600):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.1)
        sys.exit("chaos: %s does not become ready; see %s" % (self.name, DIR))

    def admin(self, method, path, body=None):
        status, told = Person(self).once(method, "/api/v1/admin/" + path, body, {"Authorization": "Bearer " + TOKEN})
        if status not in (200, 201):
            sys.exit("chaos: %s %s was answered %d %s" % (method, path, status, told))
        return told

    def begin(self):
        event = lambda body: self.admin("POST", "events", body)["event"]["id"]
        self.hall = event({"name": "First come", "seats": 20000, "maxPerUser": 1})
        self.chosen = event({"name": "Chosen", "seats": 800, "maxPerUser": 1})
        self.held = event({"name": "Held", "seats": 800, "maxPerUser": 4})
        self.line = event({"name": "Line", "seats": 20000, "maxPerUser": 1,
                           "waitingRoom": {"maxConcurrent": 20, "tokenTtl": 60, "tokenMaxAge": 120, "idleTimeout": 30}})
        self.room = self.admin("POST", "room-types", {"name": "Room", "totalQuantity": 6, "timeZone": "Asia/Seoul"})["roomType"]["id"]
        self.receiver = Receiver(self)
        self.admin("POST", "webhooks", {"url": "http://127.0.0.1:%d/" % self.receiver.port})
        self.watcher = Watcher(self, self.hall)
        for _ in range(PEOPLE):
            self.threads.append(threading.Thread(target=self.live, daemon=True))
        for thread in self.threads:
            thread.start()

    def live(self):
        lives = (self.buys, self.buys, self.chooses, self.holds, self.waits, self.books)
        while not stopping.is_set():
            person = Person(self)
            try:
                random.choice(lives)(person)
            except Broken as error:
                self.broken(str(error))
            except Unknown as error:
                with self.lock:
                    self.unknown.append(str(error))
            time.sleep(random.uniform(0.0, 0.2))

    def got(self, person, reservation, seat):
        with self.lock:
            if reservation in self.standing or reservation in self.cancelled:
                raise Broken("reservation %s was given twice, now to %s" % (reservation, person.name))
            self.standing[reservation] = (person.name, seat)

    def bought(self, person, path, headers=()):
        status, told, doubt = person.until_known("POST", path, BUYER, {"Idempotency-Key": uuid(), **dict(headers)})
        if status == 200:
            self.got(person, told["reservationId"], seat_of(told))
            return told["reservationId"]
        if told.get("reason") in ("duplicate", "already_reserved", "limit_reached"):
            raise Broken("%s has a seat and no receipt: %s (attempts in doubt: %s)" % (person.name, told, doubt))
        return None

    def may_cancel(self, person, reservation, chance):
        if reservation is None or random.random() > chance:
            return
        status, told, doubt = person.until_known("DELETE", "/api/v1/reservations/%s" % reservation)
        if status == 200 or (status == 404 and doubt):
            with self.lock:
                self.standing.pop(reservation)
                self.cancelled.add(reservation)
        else:
            raise Broken("%s cannot cancel %s: %d %s" % (person.name, reservation, status, told))

    def buys(self, person):
        self.may_cancel(person, self.bought(person, "/api/v1/events/%d/seats/reservation/fcfs" % self.hall), 0.4)

    def chooses(self, person):
        seat = random.randint(1, 800)
        self.may_cancel(person, self.bought(person, "/api/v1/events/%d/seats/%d/reservation" % (self.chosen, seat)), 0.5)

    def waits(self, person):
        at, until = "/api/v1/events/%d" % self.line, time.monotonic() + 30
        status, told, _ = person.until_known("POST", at + "/queue")
        while status == 200 and time.monotonic() < until and not stopping.is_set():
            ticket = {"X-Queue-Ticket": told["ticket"]} if "ticket" in told else {}
            status, entered, _ = person.until_known("POST", at + "/queue/enter", None, ticket)
            if status == 200:
                self.bought(person, at + "/seats/reservation/fcfs", {"X-Entry-Token": entered["token"]})
                return
            time.sleep(1)
            # Also after the door forgot.
            status, told, _ = person.until_known("POST", at + "/queue", None, ticket)

    def holds(self, person):
        seats = random.sample(range(1, 801), random.choice((1, 2)))
        self.hold(person, {"eventId": self.held, "seatIds": seats})

    def books(self, person):
        day = lambda n: time.strftime("%Y-%m-%d", time.gmtime(time.time() + n * 86400))
        first = random.randint(2, 60)
        self.hold(person, {"roomTypeId": self.room, "checkIn": day(first), "checkOut": day(first + random.randint(1, 3))})

    def hold(self, person, body):
        status, told, _ = person.until_known("POST", "/api/v1/holds", {**body, "clientHoldKey": uuid()})
        if status not in (200, 201):
            return
        began, hold = time.monotonic(), "/api/v1/holds/%s" % told["hold"]["holdId"]
        what = random.random()
        if what < 0.1:
            return
        if what < 0.3:
            status, told, doubt = person.until_known("DELETE", hold)
            fine = status == 200 or doubt or time.monotonic() - began > HOLD_TTL_S - 5
            if not fine:
                raise Broken("%s cannot give %s back: %d %s" % (person.name, hold, status, told))
            return
        status, told, doubt = person.until_known("POST", hold + "/confirm", None, {"Idempotency-Key": uuid()})
        if status == 409 and told.get("reason") == "hold_already_processed" and doubt:
            status = 200
        if status == 200:
            found = reservations_in(told)
            if not found:
                raise Broken("%s confirmed %s and was told no reservation: %s" % (person.name, hold, told))
            for reservation in found:
                self.got(person, reservation, None)
            for reservation in found:
                self.may_cancel(person, reservation, 0.3)
        elif told.get("reason") != "hold_expired" or time.monotonic() - began < HOLD_TTL_S - 5:
            raise Broken("%s cannot confirm %s: %d %s" % (person.name, hold, status, told))

    def fail(self):
        name, fault = self.random.choice(self.kinds())
        self.faults[name] += 1
        print("%6.1f s  %-9s %s" % (time.monotonic() - started, self.name, name), flush=True)
        fault()

    def any_server(self):
        return self.random.choice(sorted(self.servers))

    def kill_server(self, sign=signal.SIGKILL):
        name = self.any_server()
        self.servers[name][0].send_signal(sign)
        self.again(name)

    def pause_server(self):
        process = self.servers[self.any_server()][0]
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.2, 4))
        process.send_signal(signal.SIGCONT)

    def settle(self):
        """Nothing fails any more."""
        for _, port, _ in self.servers.values():
            self.ready(port)
        self.ready(self.port)
        self.calm_since = time.monotonic()

    def lose_one(self):
        """The planted fault."""
        for thread in self.threads:
            thread.join()
        reservation = self.random.choice(sorted(self.standing))
        self.admin("DELETE", "reservations/%s" % reservation)

    def judge(self):
        """Compares what people were told with what stands."""
        for thread in self.threads:
            thread.join(PATIENCE_S + 30)
            if thread.is_alive():
                self.broken("somebody still waits for an answer")
        for what in self.unknown:
            self.broken("nobody ever said how it ended: " + what)
        stood = {}
        for event in (self.hall, self.chosen, self.held, self.line):
            seats, after = {}, ""
            while True:
                page = self.admin("GET", "events/%d/reservations?limit=1000%s" % (event, after))
                for one in page["reservations"]:
                    seat = one["seat"]["id"]
                    if seat in seats:
                        self.broken("seat %d of event %d is sold twice" % (seat, event))
                    seats[seat] = stood[one["publicId"]] = (one["userId"], seat)
                if not page.get("next"):
                    break
                after = "&after=%s" % page["next"]
        after = ""
        while True:
            page = self.admin("GET", "room-types/%d/reservations?limit=1000%s" % (self.room, after))
            for one in page["reservations"]:
                stood[one["publicId"]] = (one["userId"], None)
            if not page.get("next"):
                break
            after = "&after=%s" % page["next"]
        for reservation, (user, seat) in self.standing.items():
            found = stood.get(reservation)
            if found is None:
                self.broken("%s of %s is lost" % (reservation, user))
            elif found[0] != user or seat not in (None, found[1]):
                self.broken("%s was %s's seat %s, and is %s's seat %s" % (reservation, user, seat, *found))
        for reservation in self.cancelled & stood.keys():
            self.broken("%s was cancelled and stands" % reservation)
        for reservation in stood.keys() - self.standing.keys():
            self.broken("%s stands, and nobody was told: %s" % (reservation, stood[reservation]))
        self.watcher.judge()
        self.receiver.judge(len(self.standing) + len(self.cancelled))
        for process, _, _ in self.servers.values():
            process.terminate()
        codes = {name: process.wait() for name, (process, _, _) in self.servers.items()}
        if any(codes.values()):
            self.broken("servers ended with %s" % codes)
        settings = next(iter(self.servers.values()))[2]
        folder = DIR / self.name / next(iter(self.servers))
        said = subprocess.run([self.binary, "verify"], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "DATA_DIR": str(folder), **settings})
        if said.returncode:
            self.broken("verify: " + said.stdout + said.stderr)
        print("\n%s: %d reservations stand, %d were cancelled; %d faults: %s" % (
            self.name, len(self.standing), len(self.cancelled), sum(self.faults.values()), dict(self.faults)))
        print("  answers: %s" % ", ".join("%s %s %d" % (s or "none", r, n) for (s, r), n in self.counts.most_common()))
        print("  watcher: %s\n  webhooks: %s" % (self.watcher.summary(), self.receiver.summary()))
        print("  " + (said.stdout.strip().splitlines() or ["verify said nothing"])[-1])
        return self.complaints


class Embedded(Deployment):
    def __init__(self, binary, random):
        super().__init__("embedded", binary, random)
        self.port = free_port()
        self.serve("server", self.port, {})
        self.ready(self.port)

    def kinds(self):
        return [("server killed", self.kill_server), ("server stopped", lambda: self.kill_server(signal.SIGTERM)),
                ("server paused", self.pause_server)]


class Scaled(Deployment):
    def __init__(self, binary, random):
        super().__init__("scaled", binary, random)
        (DIR / "scaled").mkdir(parents=True)
        self.services = Services(DIR / "scaled" / "services")
        self.settings = {**self.services.settings(), "GATEWAY_KEY": KEY}
        ports = [free_port(), free_port()]
        for name, port in zip(("one", "two"), ports):
            self.serve(name, port, self.settings)
        for port in ports:
            self.ready(port)
        self.port, folder = free_port(), DIR / "scaled" / "gateway"
        env = {"PATH": os.environ["PATH"], "GATEWAY_HOST": "127.0.0.1", "GATEWAY_PORT": str(self.port),
               "GATEWAY_UPSTREAMS": ",".join("127.0.0.1:%d" % port for port in ports), "GATEWAY_KEY": KEY,
               "GATEWAY_TRUST_USER_HEADER": "1", "GATEWAY_ADDRESS_RATE": "0", "REDIS_URL": self.settings["REDIS_URL"]}
        subprocess.run([binary, "gateway", str(folder)], env=env, check=True, stdout=subprocess.DEVNULL)
        for parent in (DIR, DIR / "scaled", folder):
            parent.chmod(0o755)
        program = shutil.which("openresty") or shutil.which("nginx") or "/usr/sbin/nginx"
        log = open(DIR / "scaled" / "nginx.log", "a")
        self.nginx = subprocess.Popen([program, "-c", str(folder / "nginx.conf")], stdout=log, stderr=log)
        self.ready(self.port)

    def kinds(self):
        one = lambda name, fault: (name, fault)
        return [one("server killed", self.kill_server), one("server stopped", lambda: self.kill_server(signal.SIGTERM)),
                one("server paused", self.pause_server), one("both servers killed", self.kill_both),
                one("PostgreSQL killed", self.kill_postgres), one("backends terminated", self.terminate_backends),
                one("Redis killed", self.kill_redis), one("Redis emptied", lambda: self.services.redis_cli("FLUSHALL")),
                one("Redis paused", self.pause_redis), one("gateway's worker killed", self.kill_worker),
                one("gateway reloaded", lambda: self.nginx.send_signal(signal.SIGHUP))]

    def kill_both(self):
        for process, _, _ in self.servers.values():
            process.kill()
        for name in sorted(self.servers):
            self.again(name)

    def kill_postgres(self):
        self.services.postgres.kill()
        self.services.postgres.wait()
        # Its children notice that it is gone.
        time.sleep(self.random.uniform(1, 3))
        self.services.start_postgres()

    def terminate_backends(self):
        self.services.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'sales'", "postgres", check=False)

    def kill_redis(self):
        self.services.redis_server.kill()
        self.services.redis_server.wait()
        time.sleep(self.random.uniform(0, 2))
        self.services.start_redis()

    def pause_redis(self):
        self.services.redis_server.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.2, 3))
        self.services.redis_server.send_signal(signal.SIGCONT)

    def kill_worker(self):
        children = subprocess.run(["pgrep", "-P", str(self.nginx.pid)], capture_output=True, text=True).stdout.split()
        if children:
            os.kill(int(self.random.choice(children)), signal.SIGKILL)

    def end(self):
        self.nginx.send_signal(signal.SIGQUIT)
        self.nginx.wait()
        self.services.stop()


started = time.monotonic()


def main(binary):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    shutil.rmtree(DIR, ignore_errors=True)
    DIR.mkdir(parents=True)
    print("chaos: SEED=%d, %g minutes; data and logs are in %s" % (SEED, MINUTES, DIR))
    embedded = Embedded(binary, random.Random(SEED))
    scaled = Scaled(binary, random.Random(SEED + 1))
    try:
        for deployment in (embedded, scaled):
            deployment.begin()

        def faults(deployment):
            until = time.monotonic() + MINUTES * 60
            while time.monotonic() < until:
                time.sleep(deployment.random.uniform(1, 6))
                try:
                    deployment.fail()
                except Exception as error:
                    return deployment.broken("a fault could not be made: %r" % error)

        failing = [threading.Thread(target=faults, args=(one,)) for one in (embedded, scaled)]
        for thread in failing:
            thread.start()
        for thread in failing:
            thread.join()
        for deployment in (embedded, scaled):
            deployment.settle()
        calm.set()
        stopping.set()
        if os.environ.get("PLANT"):
            for deployment in (embedded, scaled):
                deployment.lose_one()
        complaints = ["%s: %s" % (one.name, what) for one in (embedded, scaled) for what in one.judge()]
    finally:
        for deployment in (embedded, scaled):
            for process, _, _ in deployment.servers.values():
                process.kill()
        scaled.end()
    for what in complaints[:40]:
        print("BROKEN  " + what)
    if complaints:
        sys.exit("chaos: %d promises were broken; SEED=%d runs the same faults again" % (len(complaints), SEED))
    print("\nEverything that was acknowledged stands, nothing was sold twice. %g minutes, SEED=%d." % (MINUTES, SEED))


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
