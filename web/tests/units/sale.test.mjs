// What the page of an event knows, and when it stops being true.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { ANY, at, bought, BUYER, has, held, HOLD, ID, on, opened, OWN, PATH, QUEUE } from "./event.mjs";
import { answers, asked, busy, lost, pageAt, pass, refused, sent, settled, stored, streams, told } from "./page.mjs";

const page = pageAt(`/events/${ID}`, { sale: "event/sale.svelte.ts", board: "map/board.svelte.ts", tell: "outcomes/tell.ts", clock: "api/clock.svelte.ts", bell: "event/bell.svelte.ts" });
let sale;
const open = async (more) => (sale = await opened(page.sale, more));
const tell = (name, data) => streams.at(-1).tell(name, data);

afterEach(() => {
  sale?.stop();
  for (const what of Object.keys(answers)) delete answers[what];
  for (const name of [...stored.keys()]) if (name.startsWith("tickettock.any.")) stored.delete(name);
});

test("a busy server is asked again; only an event that it does not know is missing", async () => {
  on();
  const there = answers[`GET ${PATH}`];
  for (const answer of [busy(), told("<html>", 502), refused("internal_error", 500), refused("rate_limited", 429)]) {
    answers[`GET ${PATH}`] = answer;
    sale = new page.sale.Sale(ID);
    await settled();
    assert.equal(sale.step, "loading", JSON.stringify(answer));
    answers[`GET ${PATH}`] = there;
    await pass(1_500);
    assert.equal(sale.step, "choose");
    sale.stop();
  }
  for (const answer of [refused("not_found", 404), refused("validation", 400)]) {
    answers[`GET ${PATH}`] = answer;
    sale = new page.sale.Sale(ID);
    await settled();
    assert.equal(sale.step, "missing");
    sale.stop();
  }
});

test("what the viewer has is not known before a server that is busy has said it", async () => {
  on();
  answers[OWN.holds] = busy();
  sale = new page.sale.Sale(ID);
  await settled();
  assert.equal(sale.step, "loading");
  has({ holds: [held(2)] });
  await pass(2_000);
  assert.equal(sale.step, "hold");
});

test("a refusal goes when it is not true any more", async () => {
  const { FREE, SOLD } = page.board;
  await open();
  answers[ANY] = refused("sold_out");
  sale.board.turn([1, 2, 3, 4], SOLD);
  await sale.takeAny(BUYER);
  assert.deepEqual([sale.refusal.reason, sale.step, sale.told], ["sold_out", "soldOut", null], "the stamp says it");
  sale.board.turn([3], FREE);
  assert.deepEqual([sale.refusal, sale.step], [null, "choose"]);

  answers[ANY] = refused("not_open");
  await sale.takeAny(BUYER);
  assert.equal(sale.told.reason, "not_open");
  tell("state", { state: "paused", opensAt: null });
  assert.equal(sale.refusal, null);
  tell("state", { state: "open", opensAt: null });

  answers[ANY] = lost;
  await sale.takeAny(BUYER);
  await settled();
  assert.equal(sale.told.reason, "unreachable");
  has({ reservations: [bought(1)] });
  await sale.own.read();
  assert.deepEqual([sale.refusal, sale.step], [null, "yours"], "it went through");
  assert.equal([...stored.keys()].some((name) => name.includes("any.")), false, "and another one is another request");
});

test("a local refusal has no answer of the server beside it", async () => {
  await open();
  answers[HOLD] = () => told({ success: true, hold: { ...held(1), expiresAt: at(2_000) } }, 201);
  sale.pick(1);
  has({ holds: [] });
  await sale.holdChosen();
  assert.ok(sale.raw);
  await pass(2_500);
  assert.deepEqual([sale.refusal.reason, sale.raw], ["hold_expired", null]);
});

test("who is inside sees that it is sold out, not that seats are in somebody's checkout", async () => {
  answers[QUEUE] = told({ success: true, status: "entered", pollAfter: 5, expiresIn: 60 });
  answers[`POST ${PATH}/queue/enter`] = told({ success: true, token: "t", expiresIn: 60 });
  await open({ waitingRoom: true });
  assert.equal(sale.step, "choose");
  sale.board.turn([1, 2, 3, 4], page.board.SOLD);
  assert.equal(sale.step, "soldOut");
});

test("an entry that has ended is said, once the line has said so too", async () => {
  answers[QUEUE] = told({ success: true, status: "entered", pollAfter: 600, expiresIn: 3 });
  answers[`POST ${PATH}/queue/enter`] = told({ success: true, token: "t", expiresIn: 3 });
  await open({ waitingRoom: true });
  answers[QUEUE] = busy();
  await pass(4_000);
  assert.equal(sale.refusal, null);
  sale.stop();

  answers[QUEUE] = told({ success: true, status: "entered", pollAfter: 600, expiresIn: 3 });
  await open({ waitingRoom: true });
  assert.equal(sale.step, "choose");
  answers[QUEUE] = refused("not_queued", 404);
  // The poll that renews an entry comes first otherwise.
  sale.line.stop();
  await pass(4_000);
  assert.deepEqual([sale.told.reason, sale.step], ["entry_required", "waiting"]);
  sale.line.heard({ status: "waiting", pollAfter: 600, aheadCount: 3 });
  assert.equal(sale.told, null, "the viewer stands in line again");
});

test("the time at which a seat may return stays the same", async () => {
  await open();
  answers[ANY] = told({ success: false, reason: "held_out" }, 409, { "Retry-After": "90" });
  await sale.takeAny(BUYER);
  const first = page.tell.tell(sale.refusal).next;
  assert.match(first, /at \d\d:\d\d:\d\d\./);
  page.clock.serverClock.heard(Date.now() + 700, Date.now() - 10, Date.now(), 1);
  await pass(5_000);
  assert.equal(page.tell.tell(sale.refusal).next, first);
});

test("chosen seats that others took while they were to be held are not chosen any more", async () => {
  await open();
  for (const seat of [1, 2]) sale.pick(seat);
  answers[HOLD] = () => {
    sale.board.turn([2], page.board.SOLD);
    return refused("not_available", 409, { seatIds: [2] });
  };
  await sale.holdChosen();
  assert.deepEqual([...sale.chosen], [1]);
  assert.equal(sale.refusal.reason, "not_available");
});

test("name and phone that were typed beside the map are there when a hold is confirmed", async () => {
  await open();
  sale.form.values.phone = "010-1234-5678";
  sale.form.errors = { userName: "Enter the name for the ticket." };
  answers[HOLD] = told({ success: true, hold: held(1) }, 201);
  sale.pick(1);
  await sale.holdChosen();
  assert.equal(sale.step, "hold");
  assert.deepEqual([sale.form.values.phone, sale.form.errors], ["010-1234-5678", {}]);
});

const keys = (what, from) => sent(what, from).map(({ headers }) => headers.get("idempotency-key"));

test("who presses again after a long outage sends the same request; after a day it is another one", async () => {
  await open();
  const from = asked.length;
  answers[ANY] = lost;
  for (const minutes of [0, 10, 23 * 60, 51]) {
    await pass(minutes * 60_000, 60_000);
    await sale.takeAny(BUYER);
  }
  const [first, second, third, fourth] = keys(ANY, from);
  assert.ok(first);
  assert.deepEqual([second, third], [first, first]);
  assert.notEqual(fourth, first);
});

test("after a reload a request is sent again by itself only while somebody may wait for it", async () => {
  const pending = (age) => stored.set(`tickettock.any.${ID}.${stored.get("tickettock.user")}`, JSON.stringify({ key: "before", at: Date.now() - age, buyer: BUYER }));
  answers[ANY] = refused("held_out");
  for (const [age, again] of [[119_000, ["before"]], [121_000, []]]) {
    pending(age);
    const from = asked.length;
    await open();
    await pass(500);
    assert.deepEqual(keys(ANY, from), again, `${age} ms old`);
    sale.stop();
  }
});

test("after a reload a request waits for the entry, where there is a waiting room", async () => {
  stored.set(`tickettock.any.${ID}.${stored.get("tickettock.user")}`, JSON.stringify({ key: "before", at: Date.now(), buyer: BUYER }));
  answers[ANY] = refused("held_out");
  answers[QUEUE] = busy(2);
  const from = asked.length;
  await open({ waitingRoom: true });
  await pass(1_000);
  assert.deepEqual(keys(ANY, from), [], "not before the line has said how the viewer stands");
  answers[QUEUE] = told({ success: true, status: "entered", pollAfter: 20, expiresIn: 60 });
  answers[`POST ${PATH}/queue/enter`] = told({ success: true, token: "entry", expiresIn: 60 });
  await pass(3_000);
  assert.deepEqual(sent(ANY, from).map(({ headers }) => [headers.get("idempotency-key"), headers.get("x-entry-token")]), [["before", "entry"]]);
});

test("a hold whose answer was lost is not replayed after it has ended", async () => {
  await open();
  const from = asked.length;
  const hold = async () => {
    sale.chosen = new Set([1]);
    await sale.holdChosen();
    await settled();
  };
  answers[HOLD] = lost;
  await hold();
  await hold();
  has({ holds: [held(1)] });
  await sale.own.read();
  assert.equal(sale.step, "hold");
  has();
  await sale.own.read();
  await hold();
  const [first, second, third] = keys(HOLD, from);
  assert.equal(first, second, "not known yet: the same request");
  assert.notEqual(third, first);
});

test("a read whose answer comes late does not overwrite a newer one", async () => {
  await open();
  const waiting = [];
  answers[OWN.holds] = () => new Promise((answer) => waiting.push(answer));
  const reads = [sale.own.read(), sale.own.read()];
  await settled();
  waiting[1](told({ success: true, holds: [held(3)] }));
  await settled();
  waiting[0](told({ success: true, holds: [] }));
  await Promise.all(reads);
  assert.deepEqual(sale.own.hold.seatIds, [3]);

  // What an answer said is newer than what was asked for before it.
  const late = sale.own.read();
  await settled();
  sale.own.turned(null, [bought(3)]);
  waiting[2](told({ success: true, holds: [held(3)] }));
  await late;
  assert.deepEqual([sale.own.hold, sale.own.bought.length], [null, 1]);
});

test("at an opening that no stream tells of, each page asks in its own moment, after one to three seconds", async (t) => {
  for (const [random, wait] of [[0, 1_000], [0.999, 3_000]]) {
    const chance = t.mock.method(Math, "random", () => random);
    await open({ state: "scheduled", opensAt: at(2_000 + page.clock.serverClock.offset) });
    const from = asked.length;
    const looks = () => sent(`GET ${PATH}`, from).length;
    await pass(2_000 + wait - 250);
    assert.equal(looks(), 0, "not in the moment when everybody does");
    await pass(750);
    assert.equal(looks(), 1);
    await pass(wait - 750);
    assert.equal(looks(), 1, "and not again at once");
    await pass(1_000);
    assert.equal(looks(), 2);
    on({ state: "open", opensAt: at(-9_000) });
    await pass(wait + 500);
    assert.equal(sale.step, "choose");
    sale.stop();
    chance.mock.restore();
  }
});

test("a browser that throws at a notification still shows the notice in the page", async () => {
  await open();
  document.hidden = true;
  globalThis.Notification = class {
    static permission = "granted";
    constructor() {
      throw new TypeError("Illegal constructor");
    }
  };
  sale.board.turn([1, 2, 3, 4], page.board.SOLD);
  await page.bell.bell.turn(sale);
  sale.board.turn([1], page.board.FREE);
  await page.bell.bell.turn(sale);
  document.hidden = false;
});
