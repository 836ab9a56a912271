// Who the viewer is: what is remembered must be something that a request can carry.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pageAt, stored } from "./page.mjs";

const page = pageAt("/me", { identity: "api/identity.svelte.ts" }, { keeps: { user: "철수" } });

test("an id that no header can carry is not recalled", () => {
  const { identity } = page.identity;
  assert.match(identity.user, /^guest-[0-9a-f]{10}$/);
  assert.equal(stored.get("tickettock.user"), identity.user);
  identity.sign(new Headers());
});

test("an id has letters, digits and signs, and no spaces", () => {
  const { USER_ID } = page.identity;
  for (const good of ["alice", "a@b.example", "x".repeat(128), "o'hara%d"]) assert.ok(USER_ID.test(good), good);
  for (const bad of ["", "철수", "a b", "a\tb", "é", "x".repeat(129)]) assert.ok(!USER_ID.test(bad), bad);
});

test("the page asks to sign in once for what it reads, and again for what the viewer does", () => {
  const { identity } = page.identity;
  for (const acted of [false, false, false]) identity.refuse(acted);
  assert.equal(identity.asks, 1);
  identity.refuse(true);
  assert.deepEqual([identity.asks, identity.refused], [2, true]);
});
