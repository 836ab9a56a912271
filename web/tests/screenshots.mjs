// Pictures of every page, in both sizes and both themes, and those of the README. `ONLY=choose,report` takes some.
// Usage: node screenshots.mjs <base url of a demo> <admin token> <folder>; TICKETTOCK is the binary.

import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { choose, DESKTOP, launch, person, PHONE } from "./browser.mjs";
import { readmePictures } from "./readme.mjs";
import { Receiver } from "./receiver.mjs";
import { Shop } from "./shop.mjs";
import { gathering, stage } from "./stage.mjs";

const [base, token, folder = "screenshots"] = process.argv.slice(2);
const only = process.env.ONLY?.split(",");
const shop = new Shop(base, token);
const USER = "guest-minji";

const { sale, soon, room, small, stadium, double, day } = await stage(shop);
const receiver = await Receiver.start();
const hook = await webhook();
/** As the operator, signed in. */
const desk = (there) => async (page) => {
  await page.locator("input[name=token]").fill(token);
  await page.locator("button[type=submit]").click();
  await page.waitForSelector(".desk");
  await there?.(page);
};
/** Long enough for a few points of the charts. */
const charts = (page) => page.waitForTimeout(4_000);
const settle = (page, step) => page.waitForSelector(step ? `[data-step="${step}"]` : "main h1", { timeout: 15_000 });

/** The address of an event that people gather for: each opens once. */
const gathers = async () => `/events/${(await gathering(shop)).id}`;
const joined = async (page) => {
  await page.getByRole("button", { name: /Join the draw|추첨 참여하기/ }).click();
  await page.getByText(/^(42 people are in|지금까지 42명)/).waitFor();
};

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
    await shop.hold({ eventId: sale.id, seatIds: [(seat += 1), (seat += 1)] }, user);
    await settle(page, "hold");
  }],
  ["refused", `/events/${sale.id}`, async (page) => {
    await settle(page, "choose");
    await page.getByRole("button", { name: /Any seat, now|아무 좌석이나/ }).click();
  }],
  ["yours", `/events/${sale.id}`, async (page, user) => {
    await shop.buy(sale.id, user);
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
    await shop.buy(sale.id, user);
    await shop.hold({ roomTypeId: double.id, checkIn: day(70), checkOut: day(72) }, user);
    await page.reload();
    await page.waitForSelector(".stub");
  }],
  ["report", pathToFileURL(join(folder, "rush.html")).href, async (page) => page.waitForSelector("canvas")],
  ["console-signin", "/admin", async (page) => page.waitForSelector("input[name=token]")],
  ["console-live", "/admin#/live", desk(async (page) => {
    for (let i = 0; i < 8; i += 1) {
      await Promise.all(Array.from({ length: 30 }, (_, n) => shop.buy(small.id, `late-${i}-${n}`)));
      await page.waitForTimeout(600);
    }
  })],
  ["console-event", `/admin#/event/${sale.id}`, desk(charts)],
  ["console-new-event", "/admin#/new-event", desk()],
  ["console-opens-at", "/admin#/new-event", desk(async (page) => {
    await page.getByRole("button", { name: /^(Opens at|오픈 시각)/ }).click();
    await page.waitForFunction(() => document.activeElement?.hasAttribute("data-date"));
    for (const key of ["ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  })],
  ["console-room", `/admin#/room/${double.id}`, desk()],
  ["console-history", "/admin#/history", desk(async (page) => {
    await choose(page, /Events|공연/, sale.name);
    await page.waitForSelector("code.kept");
  })],
  ["console-list", "/admin#/history", desk(async (page) => {
    await page.waitForSelector("tbody tr");
    await page.getByRole("combobox").click();
  })],
  ["console-webhooks", "/admin#/webhooks", desk(async (page) => page.waitForSelector("li .url"))],
  ["console-webhook", `/admin#/webhook/${hook.id}`, desk(async (page) => page.waitForSelector("tbody tr"))],
  ["console-webhook-secret", `/admin#/webhook/${hook.id}`, desk(async (page) => {
    await page.getByRole("button", { name: /Rotate the secret|키 교체/ }).click();
    await page.locator("dialog").getByRole("button", { name: /Rotate the secret|키 교체/ }).click();
    await page.waitForSelector(".secret code");
  })],
  ["console-audit", "/admin#/audit", desk(async (page) => page.waitForSelector("li .sign"))],
  ["console-rush", "/admin#/rush", desk(async (page) => {
    const start = page.locator("form button[type=submit]");
    await start.click();
    // Not the verdict of the rush before it: this one begins, then it ends.
    await page.waitForSelector(".phase.rushing, .phase.counting", { timeout: 20_000 });
    await page.waitForSelector(".phase.done", { timeout: 120_000 });
    await page.waitForSelector("section dd.how");
    await page.waitForFunction((button) => button.ariaBusy !== "true", await start.elementHandle());
    await page.evaluate(() => {
      document.activeElement.blur();
      scrollTo(0, 0);
    });
  })],
  ["missing", "/no-such-page", async (page) => settle(page)],
  ["try", "/try", async (page) => page.waitForTimeout(300)],
  // Last: nobody sees their events in a list.
  ["gathering", gathers, joined],
  ["draw", gathers, async (page) => {
    await joined(page);
    await shop.call("POST", `/api/v1/admin${new URL(page.url()).pathname}/open`, { body: {} });
    await page.waitForSelector('[data-status="waiting"]');
    await page.locator("summary").click();
    await page.getByRole("button", { name: /Check the draw|추첨 확인하기/ }).click();
    await page.getByTestId("findings").locator("p").last().waitFor();
    await page.locator("details").evaluate((all) => all.scrollIntoView({ block: "end" }));
  }],
];

mkdirSync(folder, { recursive: true });
if (!only || only.includes("report")) {
  const crowd = ["--buyers", "8000", "--rate", "1500", "--cancel", "5", "--html", join(folder, "rush.html")];
  await promisify(execFile)(process.env.TICKETTOCK, ["rush", base, ...crowd], { env: { ...process.env, ADMIN_TOKEN: token } });
}
const browser = await launch();
/** Nobody has those behind it in the balcony. */
let seat = 410;
let visit = 0;
for (const [name, path, prepare] of PAGES) {
  if (only && !only.includes(name)) continue;
  for (const [sizeName, size, touch] of [["desktop", DESKTOP, false], ["phone", PHONE, true]]) {
    for (const theme of ["light", "dark"]) {
      const language = theme === "dark" ? "ko" : "en";
      const user = `${USER}-${(visit += 1)}`;
      const who = await person(browser, base, { user, theme, language, size, touch, still: true });
      const page = await who.open(typeof path === "string" ? path : await path());
      try {
        await prepare(page, user);
        // Nothing is hovered.
        if (!touch) await page.mouse.move(0, 0);
        await page.waitForTimeout(500);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
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
receiver.stop();
if (!only || only.includes("readme")) await readmePictures({ browser, base, shop, folder });
await browser.close();

/** Three webhooks: one that was told of a few sales after a failure, one that is disabled, one that nobody answers. */
async function webhook() {
  const path = "/api/v1/admin/webhooks";
  const { webhook } = await shop.call("POST", path, { body: { url: receiver.url, types: ["reservation.confirmed", "hold.expired"] } });
  await shop.call("POST", path, { body: { url: "https://partner.example/tickets?token=1", enabled: false } });
  await shop.call("POST", path, { body: { url: "https://accounts.example/hooks", types: ["event.sold_out"] } });
  receiver.status = 503;
  await shop.call("POST", `${path}/${webhook.id}/test`);
  receiver.status = 204;
  await shop.call("POST", `${path}/${webhook.id}/test`);
  for (let i = 0; i < 6; i += 1) await shop.buy(stadium.id, `told-${i}`);
  await receiver.last("reservation.confirmed", 6);
  return webhook;
}
