// `tickettock rush --html` in Chromium: one file that loads nothing, whose labels and totals are those of `--json`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

import { person, PHONE } from "./browser.mjs";
import { accessible, browser, finished, fits, server, stand } from "./stand.mjs";

const folder = mkdtempSync(join(tmpdir(), "tickettock-report-"));
const file = join(folder, "rush.html");
const figure = new Intl.NumberFormat("en-GB");
let report;

stand({}, async () => {
  const crowd = ["--buyers", "1200", "--seats", "150", "--rate", "600", "--cancel", "10", "--lost-answers", "5"];
  const { stdout } = await promisify(execFile)(process.env.TICKETTOCK, ["rush", server.base, ...crowd, "--json", "--html", file], {
    env: { ...process.env, ADMIN_TOKEN: server.token },
  });
  report = JSON.parse(stdout);
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** What the charts' captions say: title, and the figure of each line. */
const captions = (page) =>
  page.locator("figure").evaluateAll((figures) =>
    figures.map((one) => ({
      title: one.querySelector(".title").textContent.replaceAll(/\s+/g, " ").trim(),
      lines: Object.fromEntries([...one.querySelectorAll(".line")].map((line) => [line.firstElementChild.nextSibling.textContent.trim(), line.querySelector("b").innerText])),
    })),
  );

test("labels and totals of the page are those of the JSON report, and nothing is loaded", async () => {
  const reader = finished(await person(browser, server.base, { still: true }));
  const page = await reader.open(`file://${file}`);
  await page.getByRole("heading", { name: "Every answer was true." }).waitFor();
  const verdict = (await page.locator("section dl").innerText()).replaceAll(/\s+/g, " ");
  for (const [label, value] of [["sold", report.sold], ["sold twice", 0], ["lost", 0], ["told sold out", report.toldSoldOut]]) {
    assert.ok(verdict.includes(`${label} ${figure.format(value)} `), `${label}: ${verdict}`);
  }
  // People, not answers: some click twice.
  assert.ok(report.toldSoldOut > 0 && report.toldSoldOut < report.outcomes.sold_out, JSON.stringify(report.outcomes));
  const [answers, latency, seats] = await captions(page);
  assert.equal(answers.title, "Answers by outcome answers per 100 ms");
  const totals = Object.entries(report.outcomes).map(([name, count]) => [name.replaceAll("_", " "), figure.format(count)]);
  assert.deepEqual(answers.lines, Object.fromEntries(totals.sort((a, b) => Object.keys(answers.lines).indexOf(a[0]) - Object.keys(answers.lines).indexOf(b[0]))));
  assert.match(latency.title, /ms$/);
  for (const name of ["p50", "p90", "p99"]) assert.equal(latency.lines[name], figure.format(Math.round(report.latencyMs[name] * 10) / 10), name);
  assert.deepEqual(seats, { title: "Seats sold seats", lines: { sold: figure.format(report.sold) } });
  // Each chart is drawn: it has more than one colour.
  const colours = await page.locator("figure canvas").evaluateAll((all) =>
    all.map((canvas) => new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size),
  );
  assert.ok(colours.length === 3 && colours.every((count) => count > 20), `${colours}`);
  const requests = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  assert.deepEqual(requests, []);
  await reader.done();
});

test("the page reads well on a phone, in Korean and in the dark", async () => {
  const reader = finished(await person(browser, server.base, { size: PHONE, touch: true, language: "ko", theme: "dark", still: true }));
  const page = await reader.open(`file://${file}`);
  await page.getByRole("heading", { name: "안내한 내용과 실제 결과가 일치합니다." }).waitFor();
  await fits(page, "the report");
  await accessible(page, "the report");
  await reader.done();
});
