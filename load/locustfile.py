"""The scenarios of `tickettock rush`, for teams that already use Locust.

    scripts/locust.sh http://127.0.0.1:5800 10

Each Locust user is a stream of buyers: every task is a new buyer. A response outside the contract
is a failure, and Locust then exits with code 1. Set EVENT to reserve in another event than the
first.
"""

import os
import socket
import uuid
from urllib.parse import urlsplit

import gevent
from locust import FastHttpUser, between, task

EVENT = os.environ.get("EVENT", "1")
RESERVE = f"/api/v1/events/{EVENT}/seats/reservation/fcfs"
# A string, because an idempotency key is bound to the exact bytes of the body.
BUYER = '{"userName":"Locust","phone":"010-1234-5678"}'

# The reasons that these scenarios may get, by status.
REFUSALS = {
    409: {"sold_out", "held_out", "duplicate", "already_reserved", "limit_reached", "contention", "not_open", "closed"},
    429: {"rate_limited"},
    503: {"service_unavailable", "redis_error", "sequence_unavailable"},
}


def reserved(body):
    """The reservation id in a success response."""
    if body.get("success") is not True or not isinstance(body["seat"]["id"], int):
        raise ValueError(f"not a valid success response: {body}")
    return body["reservationId"]


def refused(status, body):
    reason = body.get("reason")
    if body.get("success") is not False or reason not in REFUSALS.get(status, ()):
        raise ValueError(f"{status} {reason} is not in the contract")
    if status == 503 and not body.get("retryAfter"):
        raise ValueError("503 without retryAfter")


class Buyers(FastHttpUser):
    wait_time = between(0.01, 0.05)
    # A request without a response within this time is a failure: no request may hang.
    connection_timeout = 10.0
    network_timeout = 10.0

    def reserve(self, user, name, key=None):
        """Returns the reservation id, or None if the server refused within the contract."""
        headers = {"X-User-Id": user, "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        with self.client.post(RESERVE, data=BUYER, headers=headers, name=name, catch_response=True) as answer:
            try:
                body = answer.json()
                if answer.status_code == 200:
                    got = reserved(body)
                    answer.success()
                    return got
                refused(answer.status_code, body)
                answer.success()
            except (KeyError, TypeError, ValueError) as broken:
                answer.failure(f"{answer.status_code}: {broken!r}")
        return None

    def complain(self, name, what):
        self.environment.events.request.fire(
            request_type="CHECK", name=name, response_time=0, response_length=0, exception=ValueError(what), context={}
        )

    @task(20)
    def plain(self):
        self.reserve(f"locust-{uuid.uuid4()}", "plain")

    @task(3)
    def double_click(self):
        """Both clicks get a response, and only one of them gets a seat."""
        user = f"locust-{uuid.uuid4()}"
        clicks = [gevent.spawn(self.reserve, user, "double click") for _ in range(2)]
        gevent.joinall(clicks)
        got = {click.value for click in clicks if click.value}
        if len(got) > 1:
            self.complain("double click", f"two seats for one user: {got}")

    @task(2)
    def lost_answer(self):
        """Disconnects before the response and retries with the same idempotency key: one seat, the same response."""
        user, key = f"locust-{uuid.uuid4()}", str(uuid.uuid4())
        self.hang_up(user, key)
        first = self.reserve(user, "lost answer", key)
        again = self.reserve(user, "lost answer", key)
        if first and again != first:
            self.complain("lost answer", f"{first} first, {again} on retry")

    def hang_up(self, user, key):
        target = urlsplit(self.host)
        with socket.create_connection((target.hostname, target.port or 80), timeout=5) as line:
            line.sendall(
                f"POST {RESERVE} HTTP/1.1\r\nHost: {target.netloc}\r\nX-User-Id: {user}\r\n"
                f"Idempotency-Key: {key}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(BUYER)}\r\n\r\n{BUYER}".encode()
            )

    @task(3)
    def cancel(self):
        user = f"locust-{uuid.uuid4()}"
        got = self.reserve(user, "cancel: reserve")
        if not got:
            return
        path, name = f"/api/v1/reservations/{got}", "cancel"
        with self.client.delete(path, headers={"X-User-Id": user}, name=name, catch_response=True) as answer:
            body = answer.json() or {}
            if answer.status_code == 200 and body.get("success") is True:
                answer.success()
            else:
                answer.failure(f"{answer.status_code}: {body.get('reason')}")
