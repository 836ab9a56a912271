// Our list to choose from (`kit/Select.svelte`), in the history of the console: by the keys alone, by click, by finger.
// Its roles and keys are those of the select-only combobox. Started by the Rust suite (`pages::`).

import assert from "node:assert/strict";
import { test } from "node:test";

import { PHONE } from "./browser.mjs";
import { accessible, operator, shop, stand } from "./stand.mjs";

stand();

const NAMES = ["Zither", "Zebra Parade", "Zebra Night", "봄밤 콘서트", "Opera", "Oboe Recital", "Night Owls", "Matinee", "Lieder", "Jazz", "Hymns", "Gala"];
/** By name, the id of each event. */
const ids = new Map();

async function history(options) {
  if (ids.size === 0) for (const name of NAMES) ids.set(name, (await shop.event({ name, seats: 4 })).id);
  const { operator: one, page } = await operator(options, "history");
  const box = page.getByRole("combobox");
  // The newest is the last to come.
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 10);
  assert.equal(await page.locator("select").count(), 0, "a list of the system's");
  /** What a screen reader is told. */
  const told = () =>
    box.evaluate((button) => {
      const option = document.getElementById(button.getAttribute("aria-activedescendant"));
      const list = document.getElementById(button.getAttribute("aria-controls"));
      return {
        open: button.getAttribute("aria-expanded") === "true",
        at: option?.innerText ?? null,
        shown: option ? option.offsetTop >= list.scrollTop && option.offsetTop + option.offsetHeight <= list.scrollTop + list.clientHeight + 4 : null,
        chosen: list?.querySelector("[aria-selected=true]")?.innerText ?? null,
        value: button.innerText,
        focused: document.activeElement === button,
      };
    });
  const asked = [];
  page.on("request", (request) => request.url().includes("/admin/history?") && asked.push(new URL(request.url()).searchParams.get("event")));
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    return told();
  };
  return { one, page, box, told, asked, press };
}

const at = (name) => ({ open: true, at: name, shown: true, chosen: "Everything", value: "Everything", focused: true });
const closed = (value) => ({ open: false, at: null, shown: null, chosen: null, value, focused: true });

test("by the keys alone: arrows, Home and End, letters, Enter, Escape, Tab", async () => {
  const { one, page, box, told, asked, press } = await history();
  await box.focus();
  assert.deepEqual(await told(), closed("Everything"));
  for (const key of ["ArrowDown", "ArrowUp", "Enter", " "]) {
    assert.deepEqual(await press(key), at("Everything"), `${key} opens`);
    assert.deepEqual(await press("Escape"), closed("Everything"), `Escape after ${key}`);
  }
  // What other tests made is below what this one made.
  await press("End");
  const last = await page.getByRole("option").last().innerText();
  assert.deepEqual(await told(), at(last));
  assert.deepEqual(await press("ArrowDown"), at(last), "the end is the end");
  assert.deepEqual(await press("Home"), at("Everything"));
  assert.deepEqual(await press("ArrowUp"), at("Everything"));
  assert.deepEqual(await press("ArrowDown", "ArrowDown", "ArrowUp"), at("Gala"));
  assert.deepEqual(await press("PageDown"), at("봄밤 콘서트"));
  assert.deepEqual(await press("PageUp"), at("Gala"));
  assert.deepEqual(await press("z"), at("Zebra Night"));
  assert.deepEqual(await press("z"), at("Zebra Parade"), "the same letter goes on");
  await page.waitForTimeout(800);
  assert.deepEqual(await press(..."zebra n"), at("Zebra Night"), "a word, with its space");
  assert.deepEqual(await press("Escape"), closed("Everything"));
  await page.waitForTimeout(800);
  assert.deepEqual(await press("O"), at("Oboe Recital"), "a letter opens");
  // As a Korean keyboard sends it.
  await page.waitForTimeout(800);
  await box.dispatchEvent("keydown", { key: "ㅂ", bubbles: true });
  assert.deepEqual(await told(), at("봄밤 콘서트"));
  assert.deepEqual(asked, [], "nothing was chosen so far");
  assert.deepEqual(await press("Enter"), closed("봄밤 콘서트"));
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  await press("Enter", "ArrowUp", "Tab");
  const moved = await told();
  assert.deepEqual([moved.open, moved.value, moved.focused], [false, "Opera", false], "Tab chooses and goes on");
  await page.waitForFunction(() => document.querySelector("tbody")?.innerText.includes("Opera"));
  assert.deepEqual(asked, [ids.get("봄밤 콘서트"), ids.get("Opera")].map(String));
  // The test sees a list that does not listen.
  await page.evaluate(() => window.addEventListener("keydown", (event) => event.key === "ArrowDown" && event.stopImmediatePropagation(), true));
  await box.focus();
  assert.equal((await press("Enter", "ArrowDown")).at, "Opera");
  await one.done();
});

test("by click and by finger; a click elsewhere changes nothing; it opens where there is room", async () => {
  for (const options of [{}, { size: { ...PHONE, height: 1_300 }, touch: true, theme: "dark" }]) {
    const { one, page, box, told, asked } = await history(options);
    const hit = (locator) => (options.touch ? locator.tap() : locator.click());
    await hit(box);
    assert.equal((await told()).open, true);
    await accessible(page, JSON.stringify(options), options.touch ? ["color-contrast"] : undefined);
    const [field, list] = [await box.boundingBox(), await page.getByRole("listbox").boundingBox()];
    assert.ok(list.y >= field.y + field.height && list.y - field.y - field.height < 10 && Math.abs(list.width - field.width) < 1, JSON.stringify({ field, list }));
    await hit(page.locator("h1"));
    assert.deepEqual([(await told()).open, (await told()).value], [false, "Everything"]);
    await hit(box);
    await hit(page.getByRole("option", { name: "Jazz", exact: true }).first());
    assert.deepEqual(await told(), closed("Jazz"));
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    assert.deepEqual(asked, [String(ids.get("Jazz"))]);
    await hit(box);
    await hit(box);
    assert.deepEqual(await told(), closed("Jazz"), "a second click closes it");
    // Near the lower edge it opens upwards.
    const { y, height } = await box.boundingBox();
    await page.setViewportSize({ ...page.viewportSize(), height: Math.ceil(y + height + 60) });
    await hit(box);
    const up = await page.getByRole("listbox").boundingBox();
    const down = await box.boundingBox();
    assert.ok(up.y + up.height <= down.y && down.y - up.y - up.height < 10, JSON.stringify({ up, down }));
    await one.done();
  }
});
