// What the test files share: a server, a shop and a browser for each file, people, and what is asked of every page.

import assert from "node:assert/strict";
import { after, before } from "node:test";

import { AxeBuilder } from "@axe-core/playwright";

import { launch, person } from "./browser.mjs";
import { Server } from "./server.mjs";
import { Shop } from "./shop.mjs";

/** There once the tests of the file run; node runs each file in a process of its own. */
export let server, shop, browser;

/** Called at the top of a test file. `settings` are the server's, beside those of the suite; `ready` runs before the tests. */
export function stand(settings = {}, ready = async () => undefined) {
  before(async () => {
    server = await Server.start(settings);
    shop = new Shop(server.base, server.token);
    browser = await launch();
    await ready();
  });
  after(async () => {
    await browser?.close();
    await server?.down();
  });
}

let count = 0;

/** Somebody who buys; `done` closes their browser and fails if a page complained or asked somebody else. */
export async function buyer(options = {}) {
  const user = options.user ?? `buyer-${(count += 1)}-${crypto.randomUUID().slice(0, 8)}`;
  return { user, ...finished(await person(browser, options.base ?? server.base, { user, still: true, ...options })) };
}

/** Somebody who may see the console, signed in and at `place`. */
export async function operator(options = {}, place = "live", { base, token } = server) {
  const one = finished(await person(browser, base, { still: true, ...options }));
  const page = await one.open(`/admin#/${place}`);
  await page.locator("input[name=token]").fill(token);
  await page.locator("button[type=submit]").click();
  await page.waitForSelector(".desk");
  return { operator: one, page };
}

export function sound({ strangers, problems }) {
  assert.deepEqual(strangers, [], "a request left the server's origin");
  assert.deepEqual(problems, [], "an error in the page");
}

export function finished(one) {
  const done = async () => {
    sound(one);
    await one.close();
  };
  return { ...one, done };
}

export const step = (page, name, timeout = 15_000) => page.waitForSelector(`[data-step="${name}"]`, { timeout });

export async function fillTicket(page, name = "Kim Minji") {
  await page.getByLabel(/^(Name|이름)$/).fill(name);
  await page.getByLabel(/^(Phone|전화번호)$/).fill("010-1234-5678");
}

/** `rules`: only these, where the rest was looked at before. */
export async function accessible(page, where, rules) {
  const axe = new AxeBuilder({ page });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`), [], where);
}

export async function fits(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${where}: ${wide} px too wide`);
}

/** Six frames of a screen above what this machine needs for nothing at all: it may be busy with other tests. */
export const STUTTER_MS = 100;

/** A planted bug: a map that needs a quarter of a second for each frame. */
export const slowCanvas = (page) =>
  page.evaluate(() => {
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
      const until = performance.now() + 250;
      while (performance.now() < until);
      return clear.apply(this, box);
    };
  });
