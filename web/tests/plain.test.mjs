// Pages that have less than usual: opened over plain HTTP from another host, as a phone opens `demo --lan`, where the
// browser withholds what it gives secure pages; and at a server that has no stream left for them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { ELSEWHERE } from "./browser.mjs";
import { buyer, fillTicket, server, shop, stand, step } from "./stand.mjs";

// A server that others on the network reach believes their user header only when it is told to, as `demo --lan` tells it.
stand({ MAX_WATCHERS: "0", ALLOW_TRUSTED_HEADER: "1" });

const button = (page, name) => page.getByRole("button", { name, exact: false });
const elsewhere = () => ({ base: `http://${ELSEWHERE}:${server.port}` });
const seatIs = (page, seat, look) =>
  page.waitForFunction(([n, wanted]) => document.querySelectorAll(".map-svg use")[n - 1]?.getAttribute("href") === `#seat-${wanted}`, [seat, look]);

test("a phone on the network buys any seat and a chosen one over plain HTTP", async () => {
  const [any, chosen] = [await shop.event({ name: "Any", seats: 5 }), await shop.event({ name: "Chosen", seats: 5 })];
  const a = await buyer(elsewhere());
  const page = await a.open(`/events/${any.id}`);
  assert.equal(await page.evaluate(() => isSecureContext), false);
  await step(page, "choose");
  await fillTicket(page);
  await button(page, "Any seat, now").click();
  await step(page, "yours");
  await page.getByRole("button", { name: "Copy the reservation id" }).click();
  await page.getByText("This browser does not let the page copy it").waitFor();
  await page.goto(`/events/${chosen.id}`);
  await step(page, "choose");
  await page.getByRole("application").focus();
  for (const key of ["ArrowRight", "Enter"]) await page.keyboard.press(key);
  await button(page, "Hold 1 seat").click();
  await step(page, "hold");
  await button(page, "Confirm").click();
  await step(page, "yours");
  await a.done();
});

test("a stay is held over plain HTTP, and a second tab learns that it was confirmed", async () => {
  const kind = await shop.roomType({ name: "Plain", totalQuantity: 2, timeZone: "Asia/Seoul" });
  const a = await buyer({ ...elsewhere(), storage: { "tickettock.room": String(kind.id) } });
  const page = await a.open("/rooms");
  await page.getByRole("button", { name: "Plain" }).first().waitFor();
  await page.getByRole("button", { name: "Month after" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".day[aria-disabled='false']").length > 27);
  await page.locator(".day[aria-disabled='false']").nth(3).click();
  await button(page, "Hold this stay").click();
  await page.waitForSelector(".ring");
  const second = await a.open("/rooms");
  await second.waitForSelector(".ring");
  await button(page, "Confirm the stay").click();
  await page.getByText("The stay is yours").waitFor();
  await second.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await second.waitForSelector(".ring", { state: "detached" });
  assert.equal(await second.getByText("The time to confirm is over").count(), 0);
  await a.done();
});

test("over plain HTTP a draw is checked by hand: the page says with which commands", async () => {
  const moment = (minutes) => new Date(Date.now() + minutes * 60_000).toISOString();
  const room = { maxConcurrent: 1, idleTimeout: 9, gatherFrom: moment(-1) };
  const event = await shop.event({ name: "By hand", seats: 5, opensAt: moment(60), waitingRoom: room });
  // In a shell this name would be several things.
  const a = await buyer({ ...elsewhere(), user: "o'hara %d $HOME" });
  const page = await a.open(`/events/${event.id}`);
  await button(page, "Join the draw").click();
  await page.waitForSelector('[data-status="gathering"]');
  await page.getByText("How the order will be drawn").click();
  const commitment = await page.getByTestId("commitment").innerText();
  await shop.call("POST", `/api/v1/admin/events/${event.id}/open`, { body: {} });
  await step(page, "choose");
  await page.getByText("How the order was drawn").click();
  const told = execFileSync("sh", ["-c", await page.locator("details pre").innerText()], { encoding: "utf8" });
  const [number, digest] = told.trim().split("\n").map((line) => line.replace(/^.*= ?/, ""));
  assert.equal(digest, commitment);
  const digits = /must begin with ([0-9a-f]{13}):/.exec(await page.locator("details").innerText())[1];
  assert.equal(number.slice(0, 13), digits);
  assert.equal(Number(await page.getByTestId("drawn").innerText()), 1e15 + Number.parseInt(digits, 16));
  await a.done();
});

test("without a stream a page polls, a list that did not change is not sent again, and a seat still turns", async () => {
  const event = await shop.event({ name: "Polled", seats: 20 });
  const a = await buyer();
  const page = await a.open(`/events/${event.id}`);
  await step(page, "choose");
  const list = (status) => page.waitForResponse((answer) => answer.url().endsWith(`/events/${event.id}/seats`) && answer.status() === status);
  await list(304);
  await shop.choose(event.id, 7, "somebody");
  await seatIs(page, 7, "sold");
  await list(304);
  await a.done();
});
