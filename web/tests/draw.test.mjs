// The draw in Chromium over the built binary: people gather before an opening, are drawn, and check that they were.
// Started by the Rust suite (`pages::`).

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";

import { PHONE } from "./browser.mjs";
import { accessible, buyer, fillTicket, fits, shop, stand, step } from "./stand.mjs";

stand();

const button = (page, name) => page.getByRole("button", { name, exact: false });
const moment = (seconds) => new Date(Date.now() + seconds * 1_000).toISOString();
const ROOM = { maxConcurrent: 1, idleTimeout: 9 };
/** It gathers, and opens in an hour: a busy machine has time for everything before it. */
const drawing = (room = {}) => shop.event({ name: "Drawn", seats: 40, opensAt: moment(3_600), waitingRoom: { ...ROOM, gatherFrom: moment(-60), ...room } });
const open = (event) => shop.call("POST", `/api/v1/admin/events/${event.id}/open`, { body: {} });
const shown = async (event) => (await shop.call("GET", `/api/v1/events/${event.id}`)).event;

/** As the documents say that everybody can calculate it. */
function drawn(seed, event, user) {
  const mac = createHmac("sha256", Buffer.from(seed, "hex")).update(`${event.id}:${user}`).digest("hex");
  return 1e15 + Number.parseInt(mac.slice(0, 13), 16);
}

async function seedOf(event) {
  for (let asked = 0; asked < 60; asked += 1) {
    const { drawSeed } = await shown(event);
    if (drawSeed) return drawSeed;
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error("no seed");
}

const gathers = (page) => page.waitForSelector('[data-step="before"] [data-status="gathering"]');

/** The viewer turns to the page again: it looks at the event at once, and not half a minute later. */
const seen = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

/** Somebody who joined. The page is marked: it is never loaded again. */
async function joined(event, options) {
  const one = await buyer(options);
  const page = await one.open(`/events/${event.id}`);
  await button(page, "Join the draw").click();
  await gathers(page);
  await page.evaluate(() => (window.stays = true));
  return { ...one, page };
}

/** Opens the details and checks: the number there, and what the page found out. */
async function checked(page) {
  await page.getByText("How the order was drawn").click();
  await button(page, "Check the draw").click();
  const findings = page.getByTestId("findings").locator("p");
  await findings.first().waitFor();
  const number = page.getByTestId("drawn");
  return { number: (await number.count()) ? Number(await number.innerText()) : null, found: await findings.allInnerTexts() };
}

const KEPT = "The seed matches the commitment that this browser kept from before the opening.";
const FITS = /^The seed matches the commitment\. This browser has none from before the opening/;

test("who joins before the opening gathers, is drawn when the clock opens it, and can check it", async () => {
  const event = await drawing();
  const people = await Promise.all([joined(event), joined(event, { size: PHONE, touch: true })]);
  const { drawCommitment: commitment } = await shown(event);
  for (const { page } of people) {
    await page.getByText("You are in. At the opening the order is drawn by lot").waitFor();
    await page.getByText("2 people are in so far").waitFor();
    for (const place of ["ahead", "drawn"]) assert.equal(await page.getByTestId(place).count(), 0, "nobody has a place");
    await page.getByText("How the order will be drawn").click();
    assert.equal(await page.getByTestId("commitment").innerText(), commitment);
    await fits(page, "gathering");
  }
  const [{ page: wide }, { page: narrow }] = people;
  await accessible(wide, "gathering");
  await button(narrow, "Leave the draw").click();
  await narrow.getByText("You will not be in the draw.").waitFor();
  await button(narrow, "Stay in the draw").click();
  await narrow.reload();
  await gathers(narrow);
  await narrow.getByText("2 people are in so far").waitFor();
  await narrow.evaluate(() => (window.stays = true));

  await shop.call("PATCH", `/api/v1/admin/events/${event.id}`, { body: { opensAt: moment(2) } });
  await Promise.race(people.map(({ page }) => step(page, "choose", 30_000)));
  const seed = await seedOf(event);
  assert.equal(createHash("sha256").update(Buffer.from(seed, "hex")).digest("hex"), commitment);
  for (const one of people) one.number = drawn(seed, event, one.user);
  const [first, second] = people.toSorted((a, b) => a.number - b.number);
  assert.equal(await first.page.locator("[data-step]").getAttribute("data-step"), "choose", "the lowest number comes first");
  await second.page.waitForSelector('[data-step="waiting"] [data-status="waiting"]');
  assert.equal(await second.page.getByTestId("ahead").locator(".unseen").innerText(), "1");
  const agrees = async ({ page, number }) => assert.deepEqual(await checked(page), { number, found: [KEPT, "Your number is the one that the seed gives you."] });
  await agrees(second);
  await fits(second.page, "a draw that was checked");
  await accessible(second.page, "a draw that was checked");

  await fillTicket(first.page);
  await button(first.page, "Any seat, now").click();
  await step(first.page, "yours");
  await agrees(first);
  await step(second.page, "choose");
  for (const { page } of people) assert.equal(await page.evaluate(() => window.stays), true, "without a reload");

  // The check sees another seed and another number than those of the draw.
  const { gatherFrom } = (await shown(event)).waitingRoomSettings;
  await first.page.evaluate(([draw, user, number]) => {
    for (const name of [`commitment.${draw}`, `number.${draw}.${user}`]) if (!localStorage.getItem(`tickettock.${name}`)) throw new Error(name);
    localStorage.setItem(`tickettock.commitment.${draw}`, "0".repeat(64));
    localStorage.setItem(`tickettock.number.${draw}.${user}`, String(number));
  }, [`${event.id}.${gatherFrom}`, first.user, first.number + 1]);
  await first.page.reload();
  await step(first.page, "yours");
  const { found } = await checked(first.page);
  assert.match(found[0], /^The seed does not match the commitment from before the opening\./);
  assert.match(found[1], /^Your number is not the one that the seed gives you\./);
  await Promise.all(people.map((one) => one.done()));
});

test("who joins after the opening stands behind everybody who was drawn, and is told so", async () => {
  const event = await drawing();
  const queue = (what = "") => shop.call("POST", `/api/v1/events/${event.id}/queue${what}`, { user: "drawn-early", body: {} });
  assert.equal((await queue()).status, "gathering");
  await open(event);
  assert.equal((await queue("/enter")).status, "entered");
  const a = await buyer();
  const page = await a.open(`/events/${event.id}`);
  await step(page, "waiting");
  await button(page, "Join the line").click();
  await page.waitForSelector('[data-status="waiting"]');
  const { number, found } = await checked(page);
  assert.ok(number > 1e15 + 2 ** 52, `${number}`);
  assert.match(found[0], FITS);
  assert.match(found[1], /^You joined after the opening, so you were not drawn: you stand behind everybody who was/);
  await a.done();
});

test("before people gather the page says from when, and turns by itself", async () => {
  const event = await drawing({ gatherFrom: moment(1_800) });
  const a = await buyer();
  const page = await a.open(`/events/${event.id}`);
  await page.getByText(/^You can join from .*\.$/).waitFor();
  assert.equal(await button(page, "Join the draw").count(), 0);
  await shop.call("PATCH", `/api/v1/admin/events/${event.id}`, { body: { waitingRoom: { gatherFrom: moment(2) } } });
  await seen(page);
  await button(page, "Join the draw").click();
  await gathers(page);
  await a.done();
});

test("an open page follows a draw that is announced, and a waiting room that is removed, without a reload", async () => {
  const event = await shop.event({ name: "Announced", seats: 40, opensAt: moment(3_600) });
  const patch = (waitingRoom) => shop.call("PATCH", `/api/v1/admin/events/${event.id}`, { body: { waitingRoom } });
  const [a, b] = [await buyer(), await buyer()];
  const pages = [await a.open(`/events/${event.id}`), await b.open(`/events/${event.id}`)];
  const [joins, looks] = pages;
  for (const page of pages) {
    await step(page, "before");
    assert.equal(await page.locator("details").count(), 0);
  }
  assert.equal((await patch({ ...ROOM, gatherFrom: moment(-60) })).status, 200);
  for (const page of pages) await seen(page);
  await button(joins, "Join the draw").click();
  await gathers(joins);
  await looks.getByText(/^At the opening the order is drawn by lot/).waitFor();
  assert.equal((await patch(null)).status, 200);
  for (const page of pages) {
    await seen(page);
    await page.locator("details").waitFor({ state: "detached" });
    assert.equal(await button(page, "Join the").count(), 0);
  }
  await open(event);
  for (const page of pages) {
    await step(page, "choose");
    assert.equal(await page.locator("details").count(), 0);
  }
  await Promise.all([a.done(), b.done()]);
});
