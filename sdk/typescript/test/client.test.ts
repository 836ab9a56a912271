/** Against a running server: SHOP_URL, and ADMIN_TOKEN to make events. */

import assert from "node:assert/strict";
import test from "node:test";

import { commitmentOf, drawnNumber, DRAWN_FROM, Tickettock, Unreachable, type Settings, type Stand } from "../src/index.js";

const url = process.env.SHOP_URL ?? "";
const admin = new Tickettock({ url, token: process.env.ADMIN_TOKEN ?? "" });
const BUYER = { userName: "Alice", phone: "010-1234-5678" };

function shop(user: string, more: Partial<Settings> = {}): Tickettock {
  return new Tickettock({ url, user, ...more });
}

async function event(body: Record<string, unknown>): Promise<number> {
  const { data, error } = await admin.api.POST("/api/v1/admin/events", { body: { name: "SDK", ...body } as never });
  assert.ok(data, JSON.stringify(error));
  return data.event.id;
}

test("reserves until it is sold out, and cancels", async () => {
  const id = await event({ seats: 2 });
  const first = await shop("a").reserve(id, BUYER);
  assert.ok(first.ok);
  assert.deepEqual([first.data.seat.name, first.replayed], ["A1", false]);
  const chosen = await shop("b").reserve(id, BUYER, { seat: 2 });
  assert.ok(chosen.ok);
  const none = await shop("c").reserve(id, BUYER);
  assert.ok(!none.ok);
  assert.deepEqual([none.reason, none.status], ["sold_out", 409]);
  const korean = await shop("c", { language: "ko" }).reserve(id, BUYER);
  assert.ok(!korean.ok && /[가-힣]/.test(korean.message));
  assert.ok((await shop("a").cancel(first.data.reservationId)).ok);
  assert.ok((await shop("c").reserve(id, BUYER)).ok);
});

test("a request whose answer was lost is sent again with its key, and is carried out once", async () => {
  const id = await event({ seats: 9 });
  const keys: (string | null)[] = [];
  const losing: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    keys.push(request.headers.get("Idempotency-Key"));
    const answer = await fetch(request);
    if (keys.length < 3) throw new TypeError("the connection broke");
    return answer;
  };
  const got = await shop("lost", { fetch: losing }).reserve(id, BUYER);
  assert.ok(got.ok && got.replayed);
  assert.equal(keys.length, 3);
  assert.ok(keys[0] && keys.every((key) => key === keys[0]), keys.join());
  const mine = await shop("lost").api.GET("/api/v1/reservations");
  const here = mine.data?.reservations.filter((one) => "eventId" in one && one.eventId === id);
  assert.equal(here?.length, 1);
});

test("comes again after Retry-After, not before", async () => {
  const id = await event({ seats: 9 });
  const at: number[] = [];
  const busy: typeof fetch = async (input, init) => {
    at.push(performance.now());
    if (at.length > 1) return fetch(input, init);
    const body = { success: false, reason: "service_unavailable", message: "Busy.", traceId: "t", retryAfter: 1 };
    return new Response(JSON.stringify(body), { status: 503, headers: { "Retry-After": "1" } });
  };
  const pauses: number[] = [];
  assert.ok((await shop("later", { fetch: busy, retry: { waits: (ms) => pauses.push(ms) } }).reserve(id, BUYER)).ok);
  const waited = (at[1] ?? 0) - (at[0] ?? 0);
  assert.ok(waited >= 1_000 && waited < 3_000, `${waited} ms`);
  assert.ok(pauses.length === 1 && pauses[0]! >= 1_000 && pauses[0]! <= waited + 1, `told of ${pauses.join()} ms`);
});

test("a server that does not answer is an exception that names the key", async () => {
  const nobody = new Tickettock({ url: "http://127.0.0.1:1", user: "a", retry: { attempts: 2 } });
  await assert.rejects(nobody.reserve(1, BUYER, { key: "mine" }), (error: unknown) => {
    assert.ok(error instanceof Unreachable);
    assert.deepEqual([error.attempts, error.idempotencyKey], [2, "mine"]);
    return true;
  });
});

test("holds, extends, confirms and releases nights and seats", async () => {
  const made = await admin.api.POST("/api/v1/admin/room-types", { body: { name: "Double", totalQuantity: 1 } });
  const roomTypeId = made.data?.roomType.id ?? 0;
  const day = (ahead: number) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10);
  const alice = shop("alice");
  const held = await alice.hold({ roomTypeId, checkIn: day(30), checkOut: day(32) });
  assert.ok(held.ok);
  assert.ok(Date.parse(held.data.hold.expiresAt) > Date.now());
  const full = await shop("bob").hold({ roomTypeId, checkIn: day(31), checkOut: day(32) });
  assert.ok(!full.ok && full.reason === "not_available");
  assert.deepEqual(full.refusal.nights, [day(31)]);
  const confirmed = await alice.confirm(held.data.hold.holdId);
  assert.ok(confirmed.ok);
  const again = await alice.confirm(held.data.hold.holdId);
  assert.ok(!again.ok && again.reason === "hold_already_processed");

  const id = await event({ seats: 4, maxPerUser: 4 });
  const seats = await alice.hold({ eventId: id, seatIds: [2, 3] });
  assert.ok(seats.ok);
  assert.ok((await alice.extend(seats.data.hold.holdId)).status < 500);
  assert.ok((await alice.release(seats.data.hold.holdId)).ok);
});

test("orders have metadata, and cancellations a reason", async () => {
  const id = await event({ seats: 4, maxPerUser: 4, buyerFields: { phone: "absent", email: "required" } });
  const alice = shop("alice");
  const refused = await alice.reserve(id, { userName: "Alice" });
  assert.ok(!refused.ok && refused.reason === "validation" && refused.refusal.field === "email");
  const metadata = { order: "A-1", gift: true };
  const sold = await alice.reserve(id, { userName: "Alice", email: "alice@example.com", metadata });
  assert.ok(sold.ok);
  const path = { reservationId: sold.data.reservationId };
  const mine = await alice.api.GET("/api/v1/reservations/{reservationId}", { params: { path } });
  assert.deepEqual(mine.data?.reservation.metadata, metadata);
  assert.ok((await alice.cancel(sold.data.reservationId, undefined, "ill")).ok);
  const held = await alice.hold({ eventId: id, seatIds: [2], metadata });
  assert.ok(held.ok);
  assert.deepEqual(held.data.hold.metadata, metadata);
  assert.ok((await alice.release(held.data.hold.holdId, undefined, "too dear")).ok);
  const ended = await alice.api.GET("/api/v1/holds/{holdId}", { params: { path: { holdId: held.data.hold.holdId } } });
  assert.equal(ended.data?.hold.reason, "too dear");
});

test("waits in line, enters and reserves with the entry", async () => {
  const id = await event({ seats: 5, waitingRoom: { maxConcurrent: 1, idleTimeout: 5 } });
  const refused = await shop("a").reserve(id, BUYER);
  assert.ok(!refused.ok && refused.reason === "entry_required");
  const entered = await shop("a").waitInLine(id);
  assert.ok(entered.ok && "token" in entered.data);
  const stands: Stand[] = [];
  const behind = shop("b").waitInLine(id, { onStand: (stand) => stands.push(stand) });
  const got = await shop("a").reserve(id, BUYER, { entry: entered.data.token });
  assert.ok(got.ok, "and gives the entry back");
  const next = await behind;
  assert.ok(next.ok && "token" in next.data);
  assert.ok(stands.length > 0 && stands.every((stand) => stand.success));
  const none = await shop("c").waitInLine(await event({ seats: 1 }));
  assert.ok(!none.ok && none.reason === "no_waiting_room");
});

test("keeps waiting while people gather, and tells so", async () => {
  const place = { success: true, number: null, rank: null, aheadCount: null, estimatedWait: null, pollAfter: 0.01 };
  const answers = [
    { ...place, status: "gathering", opensAt: "2027-04-18T10:00:00Z", ticket: "mine" },
    { ...place, status: "gathering", opensAt: "2027-04-18T10:00:00Z" },
    { ...place, status: "waiting", number: DRAWN_FROM, rank: 1, aheadCount: 1 },
    { ...place, status: "ready", number: DRAWN_FROM, rank: 0, aheadCount: 0 },
    { success: true, status: "entered", token: "entry", expiresIn: 60 },
  ];
  const tickets: (string | null)[] = [];
  const door: typeof fetch = async (input, init) => {
    tickets.push(new Request(input, init).headers.get("X-Queue-Ticket"));
    return Response.json(answers[tickets.length - 1]);
  };
  const seen: string[] = [];
  const entered = await shop("a", { fetch: door }).waitInLine(1, { onStand: ({ status, aheadCount }) => seen.push(`${status} ${aheadCount}`) });
  assert.ok(entered.ok && "token" in entered.data && entered.data.token === "entry");
  assert.deepEqual(seen, ["gathering null", "gathering null", "waiting 1", "ready 0"]);
  assert.deepEqual(tickets, [null, "mine", "mine", "mine", "mine"]);
});

test("calculates a draw as the server does", async () => {
  const seed = "07".repeat(32);
  assert.equal(await commitmentOf(seed), "4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0");
  assert.equal(await drawnNumber(seed, 2, "alice"), DRAWN_FROM + 0x525cbf37ab8f9);
  assert.equal(await drawnNumber(seed, 2, "김철수"), DRAWN_FROM + 0x7a152d0b2082e);
});

test("watches seats until it is told to stop", async () => {
  const id = await event({ seats: 3 });
  const stop = new AbortController();
  const seen: string[] = [];
  const watching = shop("w").watchSeats(
    id,
    (seats) => {
      seen.push(seats.map((seat) => `${seat.name} ${seat.state}`).join(", "));
      if (seen.length === 1) void shop("buyer").reserve(id, BUYER, { seat: 2 });
      else stop.abort();
    },
    { everyMs: 50, signal: stop.signal },
  );
  await watching;
  assert.deepEqual(seen, ["A1 free, A2 free, A3 free", "A2 sold"]);
});

test("watches an event over its stream, over a lost connection, with one's own messages", async () => {
  const id = await event({ seats: 4, maxPerUser: 4 });
  const stop = new AbortController();
  const seen: string[] = [];
  const addresses: string[] = [];
  // The first connection breaks after its first part.
  const breaking: typeof fetch = async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    const answer = await fetch(input, init);
    if (!url.includes("/stream?")) return answer;
    addresses.push(url);
    if (addresses.length > 1 || !answer.body) return answer;
    const reader = answer.body.getReader();
    const first = await reader.read();
    await reader.cancel();
    return new Response(first.value, { headers: answer.headers });
  };
  const watching = shop("own", { fetch: breaking }).watch(
    id,
    (message) => {
      seen.push(message.event);
      if (message.event === "snapshot" && seen.length === 1) void shop("own").reserve(id, BUYER);
      if (message.event === "reservation" && message.data.seat.id === 1) stop.abort();
    },
    { own: true, signal: stop.signal },
  );
  await watching;
  assert.equal(seen[0], "snapshot");
  assert.ok(seen.includes("reservation"), seen.join());
  assert.ok(addresses.length >= 2 && addresses.every((url) => url.includes("ticket=")), addresses.join());
});

test("polls where no stream can be had", async () => {
  const id = await event({ seats: 2 });
  const stop = new AbortController();
  const full: typeof fetch = async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    return url.includes("/stream") ? new Response(null, { status: 503 }) : fetch(input, init);
  };
  const seen: string[] = [];
  await shop("w", { fetch: full }).watchSeats(
    id,
    (seats) => {
      seen.push(seats.map((seat) => `${seat.name} ${seat.state}`).join(", "));
      if (seen.length === 1) void shop("buyer").reserve(id, BUYER);
      else stop.abort();
    },
    { everyMs: 50, signal: stop.signal },
  );
  assert.deepEqual(seen, ["A1 free, A2 free", "A1 sold"]);
});
