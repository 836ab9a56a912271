"""A watcher of the live stream and a receiver of webhooks: they must see everything, once, in order, whatever fails."""

import http.client, http.server, json, random, re, socketserver, threading, time

from people import Person, calm


class Watcher(threading.Thread):
    """Follows the live stream of an event over every reconnect."""

    def __init__(self, deployment, event):
        super().__init__(daemon=True)
        self.deployment, self.event, self.seats, self.last = deployment, event, {}, None
        self.connects, self.snapshots, self.changes = 0, 0, 0
        self.start()

    def run(self):
        while True:
            try:
                self.follow()
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.2)

    def follow(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.deployment.port, timeout=30)
        headers = {"Last-Event-ID": self.last} if self.last else {}
        connection.request("GET", "/api/v1/events/%d/stream" % self.event, None, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            return
        self.connects += 1
        kind = data = number = None
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                data = json.loads(value)
            elif name == "id":
                number = value
            elif not name and data is not None:
                self.told(kind, data, number)
                kind = data = number = None

    def told(self, kind, data, number):
        if number is not None:
            if self.last and int(number.split(".")[0]) < int(self.last.split(".")[0]):
                self.deployment.broken("the stream went back from %s to %s" % (self.last, number))
            self.last = number
        if kind == "snapshot":
            self.snapshots += 1
            runs = re.findall(r"(\d+)([fhs])", data["states"])
            letters = [letter for count, letter in runs for _ in range(int(count))]
            self.seats = dict(enumerate(letters, 1))
        elif kind == "seats":
            self.changes += 1
            for state, letter in (("sold", "s"), ("held", "h"), ("free", "f")):
                for seat in data.get(state, ()):
                    self.seats[seat] = letter

    def judge(self):
        person = Person(self.deployment)
        for _ in range(50):
            listed, start = {}, 1
            while True:
                _, page = person.once("GET", "/api/v1/events/%d/seats?from=%d&limit=1000" % (self.event, start))
                listed.update((one["id"], one["state"][0]) for one in page.get("seats", ()))
                if len(page.get("seats", ())) < 1000:
                    break
                start += 1000
            differ = [seat for seat in listed if listed[seat] != self.seats.get(seat)]
            if listed and not differ:
                return
            time.sleep(0.1)
        self.deployment.broken("the watcher sees other seats than the list: %s" % differ[:20])

    def summary(self):
        return "%d connections, %d snapshots, %d changes" % (self.connects, self.snapshots, self.changes)


class Receiver:
    """Takes webhooks, and fails now and then."""

    def __init__(self, deployment):
        self.deployment, self.last, self.seen, self.again, self.confirmed = deployment, {}, set(), 0, 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                fails = not calm.is_set() and random.random() < 0.02
                if not fails:
                    receiver.told(self.headers["webhook-id"], json.loads(body))
                self.send_response(500 if fails else 204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """A server that was killed in the middle of a request."""

        server = Server(("127.0.0.1", 0), Handler)
        self.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def told(self, name, message):
        with self.deployment.lock:
            if name in self.seen:
                self.again += 1
                return
            self.seen.add(name)
            subject, number = message["subject"], message["number"]
            if number < self.last.get(subject, 0):
                self.deployment.complaints.append("webhook %d of %s came after %d" % (number, subject, self.last[subject]))
            self.last[subject] = number
            self.confirmed += message["type"] == "reservation.confirmed"

    def judge(self, wanted):
        until = time.monotonic() + 120
        while self.confirmed < wanted and time.monotonic() < until:
            time.sleep(0.2)
        if self.confirmed != wanted:
            self.deployment.broken("%d reservations were made, %d were told by webhook" % (wanted, self.confirmed))

    def summary(self):
        return "%d messages, %d of them came again" % (len(self.seen), self.again)
