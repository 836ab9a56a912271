// Fingers on the pages, as a touch screen sends them: pinch and drag on both maps, a stay dragged over the nights.
// And what a viewer chose is remembered. Each test ends with a page that cannot do it, and sees that. Started by the
// Rust suite (`pages::`).

import assert from "node:assert/strict";
import { test } from "node:test";

import { PHONE } from "./browser.mjs";
import { HALL } from "./shop.mjs";
import { buyer, shop, slowCanvas, stand, STUTTER_MS } from "./stand.mjs";

stand();
/** Somebody with a phone. */
const phone = (options) => buyer({ size: PHONE, touch: true, ...options });

/** Moves fingers from their first places to their last, in steps. They wait until `ready` before, and until `done` after
    it; one may go `on` to other places. */
async function fingers(page, from, to, { steps = 12, ready, on = [], done } = {}) {
  const cdp = await page.context().newCDPSession(page);
  const touch = (type, touchPoints) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints });
  const between = (begin, end, part) => begin.map((point, id) => ({ id, x: point.x + (end[id].x - point.x) * part, y: point.y + (end[id].y - point.y) * part }));
  await touch("touchStart", between(from, to, 0));
  await ready?.();
  for (const next of [to, ...on.map((point) => [point])]) {
    for (let i = 1; i <= steps; i += 1) await touch("touchMove", between(from, next, i / steps));
    from = next;
  }
  await done?.();
  await touch("touchEnd", []);
  await cdp.detach();
}

/** From now on the page does not hear the fingers: a planted bug, which the measures of a test must show. */
const deaf = (page) =>
  page.evaluate(() => {
    for (const kind of ["pointermove", "pointerenter", "click"]) window.addEventListener(kind, (event) => event.stopImmediatePropagation(), true);
  });

const middle = (page) =>
  page.locator(".window").evaluate((map) => {
    const { x, y, width, height } = map.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2 };
  });
const stage = (page) => page.locator(".stage-name").evaluate(({ style }) => ({ x: parseFloat(style.left), y: parseFloat(style.top) }));
const whole = (page) => page.getByRole("button", { name: "Show the whole hall" });
const settled = (page) => page.evaluate(() => [scrollY, visualViewport.scale]);

async function pinch(page, from, to) {
  const { x, y } = await middle(page);
  // One above the other: a browser that takes one of them for scrolling would break it.
  const pair = (apart) => [{ x, y: y - apart }, { x: x + 4, y: y + apart }];
  await fingers(page, pair(from), pair(to));
}

/** Pinches in, drags, pinches out; the page itself stays where it is. */
async function handled(page, looks) {
  await page.locator(".window").scrollIntoViewIfNeeded();
  const [before, first] = [await settled(page), await looks()];
  assert.equal(await whole(page).isDisabled(), true);
  await pinch(page, 20, 110);
  assert.equal(await whole(page).isDisabled(), false, "two fingers apart zoom in");
  const zoomed = await looks();
  assert.notEqual(zoomed, first);
  const { x, y } = await middle(page);
  const from = await stage(page);
  await fingers(page, [{ x, y }], [{ x: x - 70, y: y - 50 }]);
  const to = await stage(page);
  // The first few pixels tell a drag from a tap.
  assert.ok(Math.abs(to.x - from.x + 70) < 14 && Math.abs(to.y - from.y + 50) < 14, JSON.stringify({ from, to }));
  assert.notEqual(await looks(), zoomed);
  await pinch(page, 120, 12);
  assert.equal(await whole(page).isDisabled(), true, "together they zoom out");
  assert.deepEqual(await settled(page), before, "the page neither scrolled nor zoomed");
}

test("two fingers zoom a hall of SVG, one drags it, a tap chooses", async () => {
  const event = await shop.event({ name: "Fingers", seats: HALL, maxPerUser: 4 });
  const a = await phone();
  const page = await a.open(`/events/${event.id}`);
  await page.waitForSelector(".map-svg use");
  const seat = page.locator(".map-svg use").nth(250);
  await handled(page, async () => JSON.stringify(await seat.boundingBox()));
  const small = await seat.boundingBox();
  await pinch(page, 15, 120);
  const large = await seat.boundingBox();
  assert.ok(large.width > small.width * 3, `${small.width} px became ${large.width} px`);
  const shown = await page.evaluate(() => {
    const map = document.querySelector(".window").getBoundingClientRect();
    const inside = ({ x, y, width }) => x > map.x + 30 && y > map.y + 60 && x + width < map.right - 60 && y + width < map.bottom - 60;
    return [...document.querySelectorAll(".map-svg use")].findIndex((one) => inside(one.getBoundingClientRect()));
  });
  const box = await page.locator(".map-svg use").nth(shown).boundingBox();
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(() => document.querySelectorAll('.map-svg use[href="#seat-chosen"]').length === 1);
  await deaf(page);
  await pinch(page, 120, 12);
  assert.deepEqual(await seat.boundingBox(), large, "a map that does not hear");
  await a.done();
});

test("two fingers zoom a canvas of 100,000 seats, one drags it, and no frame is late", async () => {
  const event = await shop.event({ name: "Large", seats: 100_000, maxPerUser: 4 });
  const a = await phone();
  const page = await a.open(`/events/${event.id}`);
  await page.waitForSelector(".map-canvas");
  const looks = () => page.locator(".map-canvas").evaluate((canvas) => (canvas.matches("canvas") ? canvas : canvas.querySelector("canvas")).toDataURL());
  await handled(page, looks);
  await pinch(page, 20, 110);
  const late = async (during) => {
    await page.evaluate(() => {
      const times = (window.times = []);
      let last = performance.now();
      const next = (now) => {
        times.push(now - last);
        last = now;
        if (window.times === times) requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    });
    await during();
    return page.evaluate(() => {
      const sorted = window.times.sort((a, b) => a - b);
      window.times = null;
      return sorted[Math.floor(sorted.length * 0.95)];
    });
  };
  const still = await late(() => page.waitForTimeout(600));
  const { x, y } = await middle(page);
  const panned = await late(() => fingers(page, [{ x: x + 100, y }], [{ x: x - 100, y: y - 60 }], { steps: 40 }));
  assert.ok(panned < still + STUTTER_MS, `95% of the frames within ${panned} ms, and ${still} ms while nothing moves`);
  await slowCanvas(page);
  const slow = await late(() => fingers(page, [{ x, y }], [{ x: x - 60, y: y - 60 }], { steps: 6 }));
  assert.ok(slow > still + STUTTER_MS, `a slow map looked smooth: ${slow} ms`);
  await deaf(page);
  const before = await looks();
  await pinch(page, 120, 12);
  assert.equal(await looks(), before, "a map that does not hear");
  await a.done();
});

/** The month after this one, of a room type whose nights are all free, and the middle of a day of it: week, weekday. */
async function calendar(name) {
  const kind = await shop.roomType({ name, totalQuantity: 2, timeZone: "Asia/Seoul", price: 100_000 });
  const a = await phone({ storage: { "tickettock.room": String(kind.id) } });
  const page = await a.open("/rooms");
  await page.getByRole("button", { name }).first().waitFor();
  await page.getByRole("button", { name: "Month after" }).tap();
  await page.waitForFunction(() => document.querySelectorAll(".day[aria-disabled='false']").length > 27);
  await page.locator("tbody").scrollIntoViewIfNeeded();
  const at = async (week, day) => {
    const { x, y, width, height } = await page.locator("tbody tr").nth(week).locator("td").nth(day).boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const nights = async (count, why) => {
    await page.getByRole("heading", { name: count === 1 ? "1 night" : `${count} nights`, exact: true }).waitFor();
    assert.equal(await page.locator(".day.chosen").count(), count, why);
  };
  return { a, page, at, nights };
}

test("a finger drags a stay over the nights", async () => {
  const { a, page, at, nights } = await calendar("Finger");
  await fingers(page, [await at(2, 1)], [await at(2, 3)]);
  await nights(3);
  await deaf(page);
  await fingers(page, [await at(2, 4)], [await at(2, 6)]);
  await nights(1, "a calendar that does not hear takes a drag for a tap");
  await a.done();
});

test("a finger drags a stay over several weeks; a swipe up scrolls the page", async () => {
  const { a, page, at, nights } = await calendar("Weeks");
  /** Where the page is once a swipe has ended. */
  const scrolled = () =>
    page.evaluate(async () => {
      for (let [was, frames] = [scrollY, 0]; frames < 10; frames = was === scrollY ? frames + 1 : 0) {
        was = scrollY;
        await new Promise(requestAnimationFrame);
      }
      return scrollY;
    });
  const before = await scrolled();
  const room = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY);
  assert.ok(room > 60, `the page can scroll on by ${room} px`);
  const held = { ready: () => page.waitForSelector(".day.grabbed") };

  // Straight down, after it rested on a night.
  await fingers(page, [await at(1, 3)], [await at(3, 3)], held);
  await nights(15);
  // Up, and over the beginning of a week.
  await fingers(page, [await at(3, 1)], [await at(2, 5)], held);
  await nights(4);
  // Begun along the week, it goes on into the next one.
  await fingers(page, [await at(1, 2)], [await at(1, 4)], { on: [await at(2, 4)] });
  await nights(10);
  // A long press is a tap.
  await fingers(page, [await at(1, 3)], [await at(1, 3)], held);
  await nights(1);
  assert.equal(await scrolled(), before, "the page stayed where it was");

  // Up at once: the page scrolls, and the stay is as it was.
  const [from, to] = [await at(3, 3), await at(2, 3)];
  await fingers(page, [from], [to]);
  assert.ok((await scrolled()) > before + 20, "the page scrolls");
  await nights(1);

  // On a small screen the lower edge brings the weeks that it hides.
  const { height } = page.viewportSize();
  await page.setViewportSize({ width: PHONE.width, height: 280 });
  await page.locator("thead").evaluate((head) => scrollTo(0, head.getBoundingClientRect().top + scrollY));
  const [{ y: dock }, first] = [await page.locator(".dock").boundingBox(), await at(1, 3)];
  assert.ok((await at(3, 3)).y > dock + 20, "the fourth week is hidden");
  const reached = () => page.waitForFunction(() => document.querySelectorAll("tbody tr:nth-child(4) .chosen").length >= 4);
  await fingers(page, [first], [{ x: first.x, y: dock - 8 }], { ...held, done: reached });
  await page.setViewportSize({ width: PHONE.width, height });

  // A calendar that lets the page scroll while a finger selects.
  await page.evaluate((y) => scrollTo(0, y), before);
  await page.evaluate(() => window.addEventListener("touchmove", (event) => event.stopImmediatePropagation(), true));
  await fingers(page, [await at(3, 3)], [await at(1, 3)], held);
  assert.ok((await scrolled()) > before + 20, "a page that scrolls under the finger");
  assert.notEqual(await page.locator(".day.chosen").count(), 15);
  await a.done();
});

test("the language that was chosen is remembered over a reload, in another tab and on another page", async () => {
  const a = await phone({ language: "en" });
  const page = await a.open("/");
  const tab = await a.open("/rooms");
  const spoken = (one, wanted) => one.waitForFunction((lang) => document.documentElement.lang === lang, wanted);
  await spoken(page, "en");
  await page.getByRole("button", { name: "한국어" }).tap();
  await spoken(page, "ko");
  await spoken(tab, "ko");
  await page.reload();
  await spoken(page, "ko");
  assert.match(await page.locator("main h1").innerText(), /[가-힣]/);
  const own = await a.open("/me");
  await spoken(own, "ko");
  await a.done();
  // A browser that keeps nothing.
  const b = await phone({ language: "en" });
  await b.context.addInitScript(() => (Storage.prototype.setItem = () => undefined));
  const other = await b.open("/");
  await other.getByRole("button", { name: "한국어" }).tap();
  await spoken(other, "ko");
  await other.reload();
  await spoken(other, "en");
  await b.done();
});
