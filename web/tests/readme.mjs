// The README's pictures: some of those that were just taken, with a palette, and the hall while it fills.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { person } from "./browser.mjs";
import { decode, encode } from "./png.mjs";

const STILL = ["choose-desktop-light", "waiting-phone-dark", "rooms-desktop-light", "console-rush-desktop-light", "report-desktop-light"];
const SEATS = 1_000;
const PER_FRAME = 20;

export async function readmePictures({ browser, base, shop, folder }) {
  const readme = join(folder, "readme");
  mkdirSync(readme, { recursive: true });
  for (const name of STILL) {
    writeFileSync(join(readme, `${name}.png`), encode([decode(readFileSync(join(folder, `${name}.png`)))]));
  }
  writeFileSync(join(readme, "filling.png"), await filling({ browser, base, shop }));
}

/** A viewer watches; other people buy every seat. Seats that just turned are seen turning. */
async function filling({ browser, base, shop }) {
  const row = (name, seats) => ({ name, seats });
  const rows = (count, seats) => Array.from({ length: count }, (_, i) => row(String.fromCharCode(65 + i), seats));
  const hall = { sections: [{ name: "Stalls", rows: rows(16, 40) }, { name: "Balcony", rows: rows(9, 40) }] };
  const event = await shop.event({ name: "Spring Night Concert", seats: hall, opensAt: new Date(Date.now() + 2_500).toISOString() });
  const viewer = await person(browser, base, { user: "viewer", size: { width: 800, height: 760 } });
  const page = await viewer.open(`/events/${event.id}`);
  const [pictures, delays] = [[], []];
  const take = async (ms) => {
    pictures.push(decode(await page.screenshot()));
    delays.push(ms);
  };
  await page.waitForSelector('[data-step="choose"]', { timeout: 15_000 });
  await page.waitForSelector(".map-svg use");
  await page.waitForTimeout(400);
  await take(900);
  for (let sold = 0; sold < SEATS; ) {
    const buyers = Array.from({ length: Math.min(PER_FRAME, SEATS - sold) }, (_, i) => shop.buy(event.id, `fill-${sold + i}`));
    sold += (await Promise.all(buyers)).filter(({ success }) => success).length;
    const shown = (count) => document.querySelectorAll('.map-svg use[href="#seat-sold"]').length >= count;
    await page.waitForFunction(shown, sold);
    await take(90);
  }
  await page.waitForSelector('[data-step="soldOut"]');
  await page.waitForTimeout(500);
  await take(3_500);
  await viewer.close();
  return encode(pictures, delays);
}
