// The rooms page: a busy server, keys over lost answers, answers in another order, holds that the shop confirms.

import assert from "node:assert/strict";
import { test } from "node:test";

import { HOLD, OWN } from "./event.mjs";
import { answers, asked, busy, lost, pageAt, pass, sent, settled, told } from "./page.mjs";

const page = pageAt("/rooms", { rooms: "rooms/booking.svelte.ts" }, { dataset: { confirm: "service" } });
const KINDS = "GET /api/v1/room-types";
const kind = { id: 3, name: "Double", totalQuantity: 2, timeZone: "Asia/Seoul", price: null };
const stay = { roomTypeId: 3, checkIn: "2027-05-01", checkOut: "2027-05-03" };
const held = (ms = 600_000) => ({ holdId: "h", createdAt: new Date().toISOString(), expiresAt: new Date(Date.now() + ms).toISOString(), ...stay });
const has = (holds = [], reservations = []) => {
  answers[OWN.holds] = told({ success: true, holds });
  answers[OWN.bought] = told({ success: true, reservations, next: null });
};

async function begun() {
  has();
  answers[KINDS] = told({ success: true, roomTypes: [kind], next: null });
  const booking = new page.rooms.Booking();
  await settled();
  return booking;
}

test("a busy server is asked again: that is not a hotel without rooms", async () => {
  answers[KINDS] = busy();
  const booking = new page.rooms.Booking();
  await settled();
  assert.equal(booking.kinds, null);
  has();
  answers[KINDS] = told({ success: true, roomTypes: [kind], next: null });
  await pass(1_500);
  assert.equal(booking.kind?.id, 3);
});

test("a hold whose answer was lost is not replayed after it has ended", async () => {
  const booking = await begun();
  const from = asked.length;
  const hold = async () => {
    booking.drag("2027-05-01", "2027-05-02");
    await booking.holdStay();
  };
  answers[HOLD] = lost;
  await hold();
  await hold();
  has([held()]);
  await booking.refreshOwn();
  assert.ok(booking.hold);
  has();
  await booking.refreshOwn();
  await hold();
  const [first, second, third] = sent(HOLD, from).map(({ headers }) => headers.get("idempotency-key"));
  assert.equal(first, second, "not known yet: the same request");
  assert.notEqual(third, first);
});

test("a read whose answer comes late does not overwrite a newer one", async () => {
  const booking = await begun();
  const waiting = [];
  answers[OWN.holds] = () => new Promise((answer) => waiting.push(answer));
  const reads = [booking.refreshOwn(), booking.refreshOwn()];
  await settled();
  waiting[1](told({ success: true, holds: [held()] }));
  await settled();
  waiting[0](told({ success: true, holds: [] }));
  await Promise.all(reads);
  assert.ok(booking.hold);
});

test("a hold that the shop confirms becomes a stay without a reload", async () => {
  const booking = await begun();
  has([held()]);
  await booking.refreshOwn();
  has([], [{ reservationId: "r", ...stay }]);
  await pass(5_000);
  assert.deepEqual([booking.hold, booking.done?.reservationId, booking.refusal], [null, "r", null]);
});
