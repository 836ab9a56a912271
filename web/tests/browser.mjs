// Debian's Chromium, headless, that can reach nothing but the server under test.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const DESKTOP = { width: 1280, height: 860 };
export const PHONE = { width: 390, height: 844 };
/** A name of this machine that no browser takes for a secure one. */
export const ELSEWHERE = "shop.test";

export async function launch() {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (!executablePath) throw new Error("no Chromium: apt-get install chromium");
  const profile = mkdtempSync(join(tmpdir(), "tickettock-chromium-"));
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`,
      `--crash-dumps-dir=${profile}`,
    ],
  });
  browser.on("disconnected", () => rmSync(profile, { recursive: true, force: true }));
  return browser;
}

/** A person: a browser profile of their own. What leaves the server's origin is refused and noted. */
export async function person(browser, base, options = {}) {
  const { user, language = "en", theme = "light", size = DESKTOP, touch = false, storage = {} } = options;
  const context = await browser.newContext({
    baseURL: base,
    viewport: size,
    locale: language === "ko" ? "ko-KR" : "en-GB",
    timezoneId: "Asia/Seoul",
    colorScheme: theme,
    hasTouch: touch,
    isMobile: touch,
    deviceScaleFactor: options.scale ?? 1,
    reducedMotion: options.still ? "reduce" : "no-preference",
    extraHTTPHeaders: { "Accept-Language": language },
  });
  const strangers = [];
  const problems = [];
  await context.route(
    (url) => url.origin !== new URL(base).origin && url.protocol.startsWith("http"),
    (route) => {
      strangers.push(route.request().url());
      return route.abort();
    },
  );
  const known = { ...(user ? { "tickettock.user": user } : {}), ...storage };
  await context.addInitScript((entries) => {
    for (const [key, value] of Object.entries(entries)) if (localStorage.getItem(key) === null) localStorage.setItem(key, value);
  }, known);
  const open = async (path) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      // A refusal is an answer; the browser logs every status from 400 on.
      if (message.type() === "error" && !/Failed to load resource|net::ERR/.test(message.text())) problems.push(message.text());
    });
    await page.goto(path);
    return page;
  };
  return { context, open, strangers, problems, close: () => context.close() };
}

/** Chooses from one of our lists, by click. */
export async function choose(page, label, text) {
  await page.getByRole("combobox", { name: label }).click();
  await page.getByRole("option", { name: text, exact: true }).click();
}
