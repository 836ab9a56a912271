// Pictures of every page, in both sizes and both themes. Usage: node screenshots.mjs <base url> <admin token> <folder>

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { DESKTOP, launch, person, PHONE } from "./browser.mjs";
import { HALL, Shop } from "./shop.mjs";

const [base, token, folder = "screenshots"] = process.argv.slice(2);
const only = process.env.ONLY?.split(",");
const shop = new Shop(base, token);
const USER = "guest-minji";

async function stage() {
  const now = Date.now();
  const sale = await shop.event({ name: "봄밤 콘서트 · Spring Night", seats: HALL, maxPerUser: 4 });
  for (let i = 0; i < 150; i += 1) await shop.buy(sale.id, `crowd-${i}`);
  for (const seat of [160, 161, 190, 214, 240, 241, 300, 301, 330, 352, 400, 401, 402, 470]) await shop.choose(sale.id, seat, `chooser-${seat}`);
  await shop.hold({ eventId: sale.id, seatIds: [200, 201, 202] }, "holder-1");
  await shop.hold({ eventId: sale.id, seatIds: [260, 261] }, "holder-2");
  const soon = await shop.event({ name: "여름 페스티벌 · Summer Festival", seats: HALL, maxPerUser: 2, opensAt: new Date(now + 8_024_000).toISOString() });
  const room = await shop.event({ name: "겨울 오페라 · Winter Opera", seats: HALL, maxPerUser: 2, waitingRoom: { maxConcurrent: 1 } });
  await shop.call("POST", `/api/v1/events/${room.id}/queue`, { user: "first", body: {} });
  await shop.call("POST", `/api/v1/events/${room.id}/queue/enter`, { user: "first", body: {} });
  for (let i = 0; i < 40; i += 1) await shop.call("POST", `/api/v1/events/${room.id}/queue`, { user: `waits-${i}`, body: {} });
  const small = await shop.event({ name: "실내악의 밤 · Chamber Music", seats: { sections: [{ name: "홀 · Hall", rows: [{ name: "A", seats: 8 }, { name: "B", seats: 8 }] }] } });
  for (let i = 0; i < 16; i += 1) await shop.buy(small.id, `all-${i}`);
  const stadium = await shop.event({ name: "월드컵 경기장 · Stadium", seats: 40_000, maxPerUser: 4 });
  for (let i = 0; i < 60; i += 1) await shop.choose(stadium.id, 1 + i * 613, `fan-${i}`);
  const zone = { timeZone: "Asia/Seoul" };
  const double = await shop.roomType({ name: "더블 · Double", totalQuantity: 8, price: 129_000, description: "Queen bed, garden view · 퀸 침대, 정원 전망", ...zone });
  await shop.roomType({ name: "트윈 · Twin", totalQuantity: 5, price: 149_000, ...zone });
  await shop.roomType({ name: "스위트 · Suite", totalQuantity: 2, price: 390_000, ...zone });
  const day = (n) => new Date(now + n * 86_400_000).toISOString().slice(0, 10);
  for (let i = 0; i < 26; i += 1) {
    const from = 1 + ((i * 5) % 24);
    const { hold } = await shop.hold({ roomTypeId: double.id, checkIn: day(from), checkOut: day(from + 1 + (i % 3)) }, `lodger-${i}`);
    if (hold && i % 4) await shop.call("POST", `/api/v1/holds/${hold.holdId}/confirm`, { user: `lodger-${i}` });
  }
  return { sale, soon, room, small, stadium, double, day };
}

const staged = await stage();
const { sale, soon, room, small, stadium, double, day } = staged;
const settle = (page, step) => page.waitForSelector(step ? `[data-step="${step}"]` : "main h1", { timeout: 15_000 });

/** Name, address, what to do there. */
const PAGES = [
  ["events", "/", async (page) => page.waitForSelector("a.event")],
  ["choose", `/events/${sale.id}`, async (page) => settle(page, "choose")],
  ["before", `/events/${soon.id}`, async (page) => settle(page, "before")],
  ["waiting", `/events/${room.id}`, async (page) => {
    await settle(page, "waiting");
    const join = page.getByRole("button", { name: /Join the line|대기열에 들어가기/ });
    if (await join.isVisible()) await join.click();
    await page.waitForSelector('[data-status="waiting"]');
  }],
  ["soldout", `/events/${small.id}`, async (page) => settle(page, "soldOut")],
  ["stadium", `/events/${stadium.id}`, async (page) => settle(page, "choose")],
  ["hold", `/events/${sale.id}`, async (page, user) => {
    await shop.hold({ eventId: sale.id, seatIds: [seat - 170, seat - 169] }, user);
    await settle(page, "hold");
  }],
  ["refused", `/events/${sale.id}`, async (page) => {
    await settle(page, "choose");
    await page.getByRole("button", { name: /Any seat, now|아무 좌석이나/ }).click();
  }],
  ["yours", `/events/${sale.id}`, async (page, user) => {
    await shop.choose(sale.id, Number(user.split("-").at(-1)), user);
    await settle(page, "yours");
  }],
  ["rooms", "/rooms", async (page) => {
    await page.waitForSelector(".day:not(.past)[aria-disabled='false']");
    const free = page.locator(".day[aria-disabled='false']");
    await free.nth(2).click();
    await free.nth(4).click();
  }],
  ["held-stay", "/rooms", async (page, user) => {
    await shop.hold({ roomTypeId: double.id, checkIn: day(60), checkOut: day(62) }, user);
    await page.reload();
    await page.waitForSelector(".ring");
  }],
  ["me", "/me", async (page, user) => {
    await shop.choose(sale.id, Number(user.split("-").at(-1)), user);
    await shop.hold({ roomTypeId: double.id, checkIn: day(70), checkOut: day(72) }, user);
    await page.reload();
    await page.waitForSelector(".stub");
  }],
  ["missing", "/no-such-page", async (page) => settle(page)],
  ["try", "/try", async (page) => page.waitForTimeout(300)],
];

mkdirSync(folder, { recursive: true });
const browser = await launch();
let seat = 450;
for (const [name, path, prepare] of PAGES) {
  if (only && !only.includes(name)) continue;
  for (const [sizeName, size, touch] of [["desktop", DESKTOP, false], ["phone", PHONE, true]]) {
    for (const theme of ["light", "dark"]) {
      const language = theme === "dark" ? "ko" : "en";
      const user = `${USER}-${name}-${(seat += 2)}`;
      const who = await person(browser, base, { user, theme, language, size, touch, still: true });
      const page = await who.open(path);
      try {
        await prepare(page, user);
        await page.waitForTimeout(500);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) console.error(`${name} ${sizeName}: ${wide} px too wide`);
        if (who.problems.length) console.error(`${name} ${sizeName}:`, who.problems);
        await page.screenshot({ path: join(folder, `${name}-${sizeName}-${theme}.png`) });
      } catch (error) {
        console.error(`${name} ${sizeName} ${theme}: ${String(error).split("\n")[0]}`);
        await page.screenshot({ path: join(folder, `${name}-${sizeName}-${theme}-failed.png`) });
        process.exitCode = 1;
      }
      await who.close();
    }
  }
}
await browser.close();
