// While a busy server is asked again, the viewer is told after how many seconds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ANY, BUYER, ID } from "./event.mjs";
import { answers, busy, pageAt, pass, settled, told } from "./page.mjs";

const page = pageAt(`/events/${ID}`, { client: "api/client.ts", connection: "api/connection.svelte.ts", retry: "@sdk/retry" });

test("the pause before each attempt is told, and ends with the answer", async () => {
  const { connection } = page.connection;
  page.retry.DEFAULTS.attempts = 8;
  answers[ANY] = busy(2);
  const params = { path: { eventId: ID }, header: { "Idempotency-Key": "k" } };
  const asking = page.client.shop.api.POST("/api/v1/events/{eventId}/seats/reservation/fcfs", { params, body: BUYER });
  await settled();
  assert.equal(connection.again, 3, "two seconds and a little more");
  answers[ANY] = told({ success: true });
  await pass(2_750);
  assert.ok((await asking).data);
  assert.equal(connection.again, 0);
});

test("what the page reads by itself is not worth a word", async () => {
  const { connection } = page.connection;
  const reading = page.client.open.api.GET("/api/v1/events/{eventId}", { params: { path: { eventId: ID } } });
  await settled();
  assert.equal(connection.again, 0);
  answers[`GET /api/v1/events/${ID}`] = told({ success: true });
  await pass(2_000);
  assert.ok((await reading).data);
});
