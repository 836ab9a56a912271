// What the viewer has everywhere: answers may come in another order.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bought, has, OWN, PATH } from "./event.mjs";
import { answers, pageAt, settled, told } from "./page.mjs";

const page = pageAt("/me", { own: "me/own.svelte.ts" });

test("a read whose answer comes late does not overwrite a newer one", async () => {
  answers[`GET ${PATH}`] = told({ success: true, event: { name: "Concert" } });
  has({ reservations: [bought(1)] });
  const own = new page.own.Own();
  await settled();
  assert.equal(own.reservations.length, 1);
  const waiting = [];
  answers[OWN.bought] = () => new Promise((answer) => waiting.push(answer));
  const reads = [own.read(), own.read()];
  await settled();
  waiting[1](told({ success: true, reservations: [], next: null }));
  await settled();
  waiting[0](told({ success: true, reservations: [bought(1)], next: null }));
  await Promise.all(reads);
  assert.deepEqual(own.reservations, []);
});
