// Nothing moves under the viewer's eyes: the cumulative layout shift of every page, in both sizes, with a slow API and
// through every step of a purchase. Started by the Rust suite (`pages::`).

import assert from "node:assert/strict";
import { test } from "node:test";

import { DESKTOP, person, PHONE } from "./browser.mjs";
import { shifted, watchShifts } from "./shifts.mjs";
import { ROOM } from "./shop.mjs";
import { browser, buyer, fillTicket, finished, server, shop, stand, step } from "./stand.mjs";

stand({ WEBHOOK_PRIVATE: "1" });

/** 0.1 is called good; a line of text that appears above a page's middle is 0.03. */
const MOST = 0.02;
const OCCASION = { startsAt: "2027-04-18T10:00:00Z", timeZone: "Europe/Berlin", place: "Olympic Hall, Seoul" };
const SIZES = [["desktop", { size: DESKTOP }], ["phone", { size: PHONE, touch: true }]];

async function steady(page, where) {
  const { sum, shifts } = await shifted(page);
  if (process.env.SHIFTS) console.log(where, sum.toFixed(4), JSON.stringify(shifts, null, 1));
  else assert.ok(sum < MOST, `${where}: ${sum.toFixed(3)} ${JSON.stringify(shifts, null, 1)}`);
}

/** Somebody whose shifts are noted. Each page has a viewer of its own: a tab behind another one is hardly drawn. */
async function viewer(options) {
  const one = await buyer({ still: false, ...options });
  await watchShifts(one);
  return one;
}

/** Opens them side by side, waits until each shows what it is about, and a little longer. */
async function allSteady(open, name, pages, settle = 400) {
  const opened = await Promise.all(
    pages.map(async ([path, shown]) => {
      const one = await open();
      const page = await one.open(path);
      await page.waitForSelector(shown, { timeout: 20_000 });
      return [path, one, page];
    }),
  );
  await new Promise((done) => setTimeout(done, settle));
  for (const [path, one, page] of opened) {
    await steady(page, `${path}, ${name}`);
    await one.done();
  }
}

async function sells(event, users) {
  for (const user of users) assert.equal((await shop.buy(event.id, user)).status, 200);
}

/** Countdown, waiting room, map, hold, stub, sold out. */
async function purchase(name, options) {
  const line = await shop.event({ name: "Line", seats: ROOM, maxPerUser: 2, ...OCCASION, waitingRoom: { maxConcurrent: 1 } });
  const last = await shop.event({ name: "Last", seats: 2, maxPerUser: 2 });
  const queue = (method, path = "") => shop.call(method, `/api/v1/events/${line.id}/queue${path}`, { user: `first-${name}`, body: {} });
  await queue("POST");
  await queue("POST", "/enter");
  const [a, waits, watches] = [await viewer(options), await viewer(options), await viewer(options)];
  // These two turn by themselves while the purchase goes on.
  const soon = await shop.event({ name: "Soon", seats: ROOM, maxPerUser: 2, opensAt: new Date(Date.now() + 8_000).toISOString() });
  const turning = await waits.open(`/events/${soon.id}`);
  await step(turning, "before");
  const ends = await watches.open(`/events/${last.id}`);
  await step(ends, "choose");

  const page = await a.open(`/events/${line.id}`);
  await step(page, "waiting");
  await page.getByRole("button", { name: "Join the line" }).click();
  await page.waitForSelector('[data-status="waiting"]');
  await sells(last, ["last-1", "last-2"].map((user) => `${user}-${name}`));
  await queue("DELETE");
  await step(page, "choose", 30_000);
  await page.waitForSelector(".map-svg use");
  await steady(page, `let in, ${name}`);
  await page.getByRole("application").focus();
  for (const key of ["ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "Hold 1 seat" }).click();
  await step(page, "hold");
  await page.waitForTimeout(700);
  await steady(page, `a hold, ${name}`);
  await fillTicket(page);
  await page.getByRole("button", { name: "Confirm" }).click();
  await step(page, "yours");
  await page.waitForTimeout(700);
  await steady(page, `the stub, ${name}`);

  await step(ends, "soldOut");
  await steady(ends, `sold out meanwhile, ${name}`);
  await step(turning, "choose", 30_000);
  await turning.waitForSelector(".map-svg use");
  await steady(turning, `a countdown that ended, ${name}`);
  for (const one of [a, waits, watches]) await one.done();
}

// Side by side: most of it is waiting.
test("a purchase does not shift, from the countdown to the stub", () => Promise.all(SIZES.map((size) => purchase(...size))));

for (const [name, options] of SIZES) {
  test(`pages that are opened do not shift, ${name}`, async () => {
    const open = await shop.event({ name: "Open", seats: ROOM, maxPerUser: 4, ...OCCASION });
    const soon = await shop.event({ name: "Soon", seats: ROOM, ...OCCASION, opensAt: new Date(Date.now() + 900_000).toISOString() });
    const paused = await shop.event({ name: "Paused", seats: 20 });
    await shop.call("POST", `/api/v1/admin/events/${paused.id}/pause`);
    const gone = await shop.event({ name: "Gone", seats: 2 });
    await sells(gone, ["gone-1", "gone-2"]);
    const line = await shop.event({ name: "Line", seats: ROOM, waitingRoom: { maxConcurrent: 1 } });
    const drawn = await shop.event({ name: "Drawn", seats: ROOM, opensAt: soon.opensAt, waitingRoom: { maxConcurrent: 1, gatherFrom: new Date(Date.now() - 60_000).toISOString() } });
    const kind = await shop.roomType({ name: "Double", totalQuantity: 2, timeZone: "Asia/Seoul", price: 100_000 });
    const user = `steady-${name}`;
    await sells(open, [user]);
    await shop.call("POST", `/api/v1/events/${drawn.id}/queue`, { user, body: {} });
    const somebody = () => viewer({ ...options, user, storage: { "tickettock.room": String(kind.id) } });
    await allSteady(somebody, name, [
      ["/", "a.event"],
      [`/events/${soon.id}`, '[data-step="before"] .map-svg use'],
      [`/events/${drawn.id}`, '[data-step="before"] [data-status="gathering"] ~ details'],
      [`/events/${paused.id}`, '[data-step="paused"]'],
      [`/events/${line.id}`, '[data-step="waiting"] .map-svg use'],
      [`/events/${gone.id}`, '[data-step="soldOut"] .map-svg use'],
      [`/events/${open.id}`, '[data-step="yours"] .map-svg use'],
    ]);
    await allSteady(somebody, name, [
      ["/rooms", ".day[aria-disabled='false']"],
      ["/me", ".stub"],
      ["/events/987654321", '[data-step="missing"]'],
      ["/no-such-page", "main h1"],
      ...(options.touch ? [] : [["/try", "body.ready .seats li"], ["/docs", ".opblock"]]),
    ]);
  });

  test(`the console does not shift, ${name}`, async () => {
    const event = await shop.event({ name: "Watched", seats: ROOM, ...OCCASION, waitingRoom: { maxConcurrent: 5 } });
    const sold = await shop.event({ name: "Sold", seats: 30 });
    await sells(sold, ["one", "two", "three"].map((user) => `${user}-${name}`));
    const kind = await shop.roomType({ name: "Suite", totalQuantity: 2, timeZone: "Asia/Seoul", price: 100_000 });
    const { webhook } = await shop.call("POST", "/api/v1/admin/webhooks", { body: { url: "http://127.0.0.1:9/hooks" } });
    await shop.call("POST", `/api/v1/admin/webhooks/${webhook.id}/test`);
    const somebody = async (token) => {
      const one = finished(await person(browser, server.base, options));
      await watchShifts(one);
      // As a tab that is signed in and opened again.
      if (token) await one.context.addInitScript((kept) => sessionStorage.setItem("tickettock.operator", kept), token);
      return one;
    };
    await allSteady(somebody, name, [["/admin", "input[name=token]"]]);
    const views = (...places) => allSteady(() => somebody(server.token), name, places.map((place) => [`/admin#/${place}`, ".desk h1"]), 1_000);
    await views("live", `event/${event.id}`, `event/${sold.id}`, "history");
    if (!options.touch) await views("new-event", `room/${kind.id}`, "webhooks", `webhook/${webhook.id}`, "audit");
    await shop.call("DELETE", `/api/v1/admin/webhooks/${webhook.id}`);
  });
}

test("the measure sees a shift: something comes late above the list of events", async () => {
  for (const [name, options] of SIZES) {
    // Beside another page, as above.
    const [a, b] = [await viewer(options), await viewer(options)];
    const page = await a.open("/");
    await b.open("/");
    await page.waitForSelector("a.event");
    const { sum: before } = await shifted(page);
    await page.evaluate(() => {
      const line = document.createElement("p");
      line.textContent = "This was not there before.";
      line.style.height = "120px";
      document.querySelector("main header").append(line);
    });
    const { sum, shifts } = await shifted(page);
    assert.ok(before < MOST && sum > MOST, `${name}: ${before} became ${sum}`);
    assert.match(JSON.stringify(shifts), /ul/, "what moved is named");
    await a.done();
    await b.done();
  }
});
