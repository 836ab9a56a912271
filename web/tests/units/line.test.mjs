// The viewer's place in line: what takes it off the page, and what does not.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { ID, PATH, QUEUE } from "./event.mjs";
import { answers, asked, busy, pageAt, pass, refused, sent, settled, stored, told } from "./page.mjs";

const page = pageAt(`/events/${ID}`, { line: "event/line.svelte.ts" });
const JOIN = `POST ${PATH}/queue`;
const waiting = (ahead, more = {}) => told({ success: true, status: "waiting", number: 9, aheadCount: ahead, pollAfter: 3, ...more });
const ticket = () => [...stored.keys()].find((name) => name.includes("ticket."));
let line;

beforeEach(() => {
  for (const what of Object.keys(answers)) delete answers[what];
  line = new page.line.Line(ID, () => undefined);
});

async function joined() {
  answers[JOIN] = waiting(5, { ticket: "mine" });
  await line.join();
  assert.equal(line.standing.aheadCount, 5);
  assert.ok(ticket());
}

test("a busy answer leaves the place where it is, and is asked for again", async () => {
  for (const answer of [busy(4), refused("rate_limited", 429, { retryAfter: 4 }), refused("contention", 409), told("<html>", 502), refused("internal_error", 500)]) {
    await joined();
    answers[QUEUE] = answer;
    await pass(3_500);
    assert.deepEqual([line.standing?.aheadCount, line.refusal], [5, null], JSON.stringify(answer));
    answers[QUEUE] = waiting(2);
    await pass(4_500);
    assert.equal(line.standing.aheadCount, 2);
    line.stop();
    line = new page.line.Line(ID, () => undefined);
  }
});

test("a busy answer does not end an entry either", async () => {
  answers[QUEUE] = told({ success: true, status: "entered", pollAfter: 3, expiresIn: 60 });
  answers[`POST ${PATH}/queue/enter`] = told({ success: true, token: "entry", expiresIn: 60 });
  await line.begin();
  await settled();
  assert.equal(line.entry.token, "entry");
  answers[QUEUE] = busy();
  await pass(21_000);
  assert.equal(line.entry?.token, "entry");
  answers[QUEUE] = refused("not_queued", 404);
  await pass(3_000);
  assert.deepEqual([line.entry, line.standing, line.known], [null, null, true]);
});

test("a first answer that says nothing is asked for again before anything is shown", async () => {
  answers[QUEUE] = busy();
  await line.begin();
  assert.equal(line.known, false);
  answers[QUEUE] = refused("not_queued", 404);
  await pass(1_500);
  assert.equal(line.known, true);
});

test("a line that forgot somebody gives the place back by the ticket, also when joining was refused at first", async () => {
  await joined();
  const from = asked.length;
  answers[QUEUE] = refused("not_queued", 404);
  answers[JOIN] = busy(2);
  await pass(4_000);
  assert.ok(line.standing);
  answers[JOIN] = waiting(1, { ticket: "mine" });
  await pass(2_500);
  assert.equal(line.standing.aheadCount, 1);
  assert.equal(sent(JOIN, from).at(-1).headers.get("x-queue-ticket"), "mine");
});

test("who left in another tab does not join again here", async () => {
  await joined();
  const from = asked.length;
  // The other tab forgets the ticket for both.
  stored.delete(ticket());
  answers[QUEUE] = refused("not_queued", 404);
  await pass(4_000);
  assert.equal(line.standing, null);
  assert.equal(sent(JOIN, from).length, 0);
});

test("answers to what was asked for before leaving are not heard", async () => {
  await joined();
  let answer;
  answers[QUEUE] = () => new Promise((done) => (answer = done));
  await pass(3_500);
  assert.ok(answer, "a poll is on its way");
  let gone;
  answers[`DELETE ${PATH}/queue`] = () => new Promise((done) => (gone = done));
  const from = asked.length;
  const leaving = line.leave();
  await settled();
  // The stream tells of it until the server has heard.
  line.heard({ status: "waiting", aheadCount: 4, pollAfter: 3, ticket: "mine" });
  await settled();
  assert.deepEqual([line.standing, line.busy, ticket()], [null, true, undefined]);
  gone(told({ success: true }));
  await leaving;
  answer(waiting(4, { ticket: "mine" }));
  await pass(10_000);
  assert.deepEqual([line.standing, line.busy], [null, false]);
  assert.deepEqual(sent(JOIN, from).concat(sent(QUEUE, from)), [], "nobody asks for a place that was given up");
});
