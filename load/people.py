"""People who buy while things fail: they repeat a request with the same key until they know how it ended."""

import http.client, itertools, json, random, threading, time

# After the last fault everybody must learn how their requests ended.
PATIENCE_S = 60
names = itertools.count(1)
# Nobody begins anything new; nothing fails any more.
stopping, calm = threading.Event(), threading.Event()


def uuid():
    return "%08x-%04x-4%03x-8%03x-%012x" % tuple(random.getrandbits(n) for n in (32, 16, 12, 12, 48))


class Broken(Exception):
    """A promise."""


class Unknown(Exception):
    """Nobody said how it ended until the end of the run."""


class Person:
    """A user with a connection, who repeats what was not answered."""

    def __init__(self, deployment):
        self.deployment, self.name, self.connection = deployment, "chaos-%d" % next(names), None

    def once(self, method, path, body=None, headers=()):
        """Status and body; 0: no answer."""
        sent = {"X-User-Id": self.name, **dict(headers)}
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.deployment.port, timeout=10)
            self.connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = self.connection.getresponse()
            status, text = answer.status, answer.read()
            told = json.loads(text)
        except (OSError, http.client.HTTPException, ValueError):
            if self.connection is not None:
                self.connection.close()
            self.connection, status, told = None, 0, {}
        self.deployment.counts[status, told.get("reason", "")] += 1
        if status >= 500 and status != 503:
            self.deployment.broken("%s %s was answered %d %s" % (method, path, status, told))
        return status, told

    def until_known(self, method, path, body=None, headers=()):
        """Repeats it until the outcome is known. Also returns whether an attempt before had an unknown end."""
        began, doubt = time.monotonic(), False
        while True:
            status, told = self.once(method, path, body, headers)
            reason, scope = told.get("reason"), told.get("scope")
            again = status in (0, 408, 429, 502, 503, 504) or reason in ("contention", "lock_timeout") \
                or (reason == "duplicate" and scope in ("user", "ip"))
            if not again:
                return status, told, doubt
            # Also 503: a proxy may have lost a server that had begun.
            doubt = doubt or status in (0, 502, 503, 504)
            if calm.is_set() and time.monotonic() - self.deployment.calm_since > PATIENCE_S:
                raise Unknown("%s %s of %s after %.0f s: %d %s" % (method, path, self.name, time.monotonic() - began, status, told))
            time.sleep(random.uniform(0.05, 0.4))


def reservations_in(told):
    """Every reservation id in an answer, wherever it is."""
    if isinstance(told, dict):
        found = [told["reservationId"]] if "reservationId" in told else []
        return list(dict.fromkeys(found + [i for k, v in told.items() if k != "reservationId" for i in reservations_in(v)]))
    return [i for v in told for i in reservations_in(v)] if isinstance(told, list) else []
