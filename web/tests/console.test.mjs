// The operator's console in Chromium over the built binary, and the demo with its rush and its plug. Started by the
// Rust suite (`pages::`).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { choose, person, PHONE } from "./browser.mjs";
import { Receiver } from "./receiver.mjs";
import { accessible, browser, finished, fits, operator as signedIn, server, shop, stand } from "./stand.mjs";

stand({ WEBHOOK_PRIVATE: "1" });

const button = (page, name) => page.getByRole("button", { name, exact: true });
const card = (page, name) => page.getByRole("region", { name, exact: true });

/** By the keys alone: half past seven in the evening, so many days from today. */
async function pick(page, label, days) {
  await page.getByRole("button", { name: label }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-date"));
  for (let i = 0; i < days; i += 1) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByLabel("Time", { exact: true }).fill("1930");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
/** As the browser reads it. */
const evening = (page, days) =>
  page.evaluate((more) => {
    const now = new Date();
    return new Date(now.getFullYear(), now.getMonth(), now.getDate() + more, 19, 30).toISOString();
  }, days);
const soldSeats = (page, count, timeout = 10_000) =>
  page.waitForFunction((wanted) => document.querySelectorAll('.map-svg use[href="#seat-sold"]').length === wanted, count, { timeout });

test("a wrong token is said plainly, and the right one is forgotten with the tab", async () => {
  const operator = finished(await person(browser, server.base, { still: true }));
  const page = await operator.open("/admin");
  await page.getByLabel("Admin token").fill("not-the-token-at-all");
  await button(page, "Sign in").click();
  await page.getByText("The server does not know this token.").waitFor();
  await page.getByLabel("Admin token").fill(server.token);
  await button(page, "Sign in").click();
  await page.waitForSelector(".desk");
  await page.reload();
  await page.waitForSelector(".desk");
  const other = await operator.open("/admin");
  await other.getByLabel("Admin token").waitFor();
  await button(page, "Sign out").click();
  await page.getByLabel("Admin token").waitFor();
  await operator.done();
});

test("a hall is pasted from a spreadsheet, opened, watched, paused and closed", async () => {
  const { operator, page } = await signedIn({}, "new-event");
  await page.getByLabel("Name").fill("봄 · Spring");
  await button(page, "Start over").click();
  await page.getByLabel("Row 1").evaluate((input) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", "section\trow\tseats\nStalls\tA\t10\t1-2\n\tB\t12\nBalcony\tA\t8");
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await page.getByText("30 seats in 3 rows").waitFor();
  assert.equal(await page.locator(".map-svg use").count(), 30, "the preview has every seat");
  assert.equal(await page.locator('.map-svg use[href="#seat-accessible"]').count(), 2, "wheelchair places have their sign");
  await page.getByLabel("Wheelchair 2").fill("13");
  await page.getByText("Wheelchair places of Stalls B: numbers within the row").waitFor();
  await page.getByLabel("Wheelchair 2").fill("12, 1");
  await page.getByLabel("Seats 3").fill("none");
  await page.getByText("Seats must be a number").waitFor();
  await button(page, "Create the event").click();
  const cell = page.getByLabel("Seats 3");
  assert.deepEqual(await cell.evaluate((input) => [document.activeElement === input, input.ariaInvalid]), [true, "true"]);
  await page.getByLabel("Seats 3").fill("9");
  // By the keys alone: the day after tomorrow at half past seven in the evening, here.
  await page.getByRole("button", { name: /^Opens at/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-date"));
  for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await page.getByLabel("Time", { exact: true }).fill("25:00");
  await page.keyboard.press("Enter");
  await page.locator(".panel .error").waitFor();
  await page.getByLabel("Time", { exact: true }).fill("1930");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText("Your time: Asia/Seoul, GMT+9").first().waitFor();
  const [made] = await Promise.all([
    page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/admin/events")),
    button(page, "Create the event").click(),
  ]);
  const { opensAt, startsAt, timeZone, place } = made.postDataJSON();
  assert.deepEqual([opensAt, startsAt, timeZone, place], [await evening(page, 2), null, null, null]);
  await page.getByRole("heading", { name: "봄 · Spring", level: 1 }).waitFor();
  const id = Number(/event\/(\d+)/.exec(page.url())[1]);
  await button(page, "Open").first().click();
  await page.getByText("Sales begin now.").waitFor();
  await button(page, "Leave it").click();
  assert.equal((await shop.buy(id, "early")).success, false, "it is not open yet");
  await button(page, "Open").first().click();
  await page.locator("dialog").getByRole("button", { name: "Open", exact: true }).click();
  await button(page, "Pause").first().waitFor();
  const layout = await shop.call("GET", `/api/v1/events/${id}/layout`);
  assert.deepEqual(layout.layout.sections.map((section) => [section.name, section.seatCount]), [["Stalls", 22], ["Balcony", 9]]);
  assert.deepEqual(layout.layout.sections[0].rows.map((row) => row.accessible), [[1, 2], [11, 22]]);

  assert.equal((await shop.buy(id, "alice")).success, true, "the sale is open");
  await soldSeats(page, 1, 2_000);
  await button(page, "Pause").first().click();
  await page.getByText("Sales stop until you resume.").waitFor();
  await page.locator("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  await button(page, "Resume").waitFor();
  assert.equal((await shop.buy(id, "bob")).success, false);
  await button(page, "Resume").click();
  await button(page, "Close").first().click();
  await page.getByText("the console cannot open them again").waitFor();
  await button(page, "Leave it").click();
  assert.equal((await shop.buy(id, "carol")).success, true, "nothing happened");
  await button(page, "Close").first().click();
  await page.locator("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await page.locator("header p", { hasText: "closed" }).waitFor();
  assert.equal((await shop.buy(id, "dave")).success, false);
  await operator.done();
});

test("when and where an event takes place is said by the operator, and changed", async () => {
  const { operator, page } = await signedIn({}, "new-event");
  await page.getByLabel("Name").fill("Evening");
  const zone = page.getByLabel("Time zone");
  assert.equal(await zone.inputValue(), "Asia/Seoul", "the operator's own");
  await pick(page, /^Starts at/, 3);
  await zone.fill("Europe/Nowhere");
  await page.getByLabel("Place").fill("  Gasteig, München ");
  await button(page, "Create the event").click();
  await page.locator(".field", { has: zone }).locator(".error").waitFor();
  assert.equal(await zone.evaluate((input) => document.activeElement === input), true);
  await zone.fill("UTC");
  await page.getByText(/^Local time there: .*10:30 Coordinated Universal Time$/).waitFor();
  await button(page, "Create the event").click();
  await page.getByRole("heading", { name: "Evening", level: 1 }).waitFor();
  const id = Number(/event\/(\d+)/.exec(page.url())[1]);
  const told = async () => {
    const { event } = await shop.call("GET", `/api/v1/events/${id}`);
    return [event.startsAt && new Date(event.startsAt).toISOString(), event.timeZone, event.place];
  };
  assert.deepEqual(await told(), [await evening(page, 3), "UTC", "Gasteig, München"]);
  await page.locator("header .where", { hasText: /19:30 \(.* 10:30 .*\).*Gasteig, München$/ }).waitFor();
  const occasion = card(page, "When and where");
  await occasion.getByLabel("Place").fill("Seoul");
  await button(occasion, "Save").click();
  await page.locator("header .where", { hasText: /Seoul$/ }).waitFor();
  assert.deepEqual(await told(), [await evening(page, 3), "UTC", "Seoul"]);
  await occasion.getByRole("button", { name: /^Starts at/ }).click();
  await button(page, "Clear").click();
  await occasion.getByLabel("Place").fill("");
  await button(occasion, "Save").click();
  await page.locator("header .where").waitFor({ state: "detached" });
  assert.deepEqual(await told(), [null, null, null]);
  await operator.done();
});

test("the waiting room of an event is paced and gathers from when the operator says", async () => {
  const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString();
  const event = await shop.event({ name: "Gathers", seats: 20, opensAt: day(5), waitingRoom: { maxConcurrent: 7 } });
  const { operator, page } = await signedIn({}, `event/${event.id}`);
  const gathers = page.getByRole("button", { name: /^Gather from/ });
  const pace = page.getByLabel("Admit per minute");
  assert.match(await gathers.innerText(), /^No draw/);
  assert.equal(await pace.inputValue(), "");
  /** Half past seven in the evening, so many days from today; what the server answers. */
  const saved = async (days) => {
    await pick(page, /^Gather from/, days);
    const [answer] = await Promise.all([page.waitForResponse((one) => one.request().method() === "PATCH"), button(card(page, "Waiting room"), "Save").click()]);
    return { status: answer.status(), ...(await answer.json()) };
  };
  await pace.fill("600");
  const late = await saved(6);
  assert.deepEqual([late.status, late.field], [400, "waitingRoom.gatherFrom"], "behind the opening");
  await page.locator(".field", { has: gathers }).locator(".error").waitFor();
  await gathers.click();
  await button(page, "Clear").click();
  const { status, event: after } = await saved(1);
  assert.deepEqual([status, after.waitingRoom.admitPerMinute, after.waitingRoom.gatherFrom], [200, 600, await evening(page, 1)]);
  await page.getByText("Saved.").waitFor();
  await page.getByText(/^People gather from .*19:30; the order is drawn at the opening$/).waitFor();
  await page.reload();
  await page.waitForSelector(".desk");
  await pace.waitFor();
  assert.equal(await pace.inputValue(), "600");
  assert.match(await gathers.innerText(), /19:30/);
  await operator.done();
});

test("reservations are searched, exported and cancelled; the history and the audit show them", async () => {
  const event = await shop.event({ name: "Records", seats: 20 });
  for (const user of ["rec-1", "rec-2", "rec-3"]) await shop.buy(event.id, user);
  const { operator, page } = await signedIn({}, `event/${event.id}`);
  await page.getByRole("cell", { name: "rec-3", exact: true }).first().waitFor();
  await page.getByLabel(/^Name, user/).fill("rec-2");
  await button(page, "Search").click();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Export all as CSV").click()]);
  const rows = readFileSync(await download.path(), "utf8").trim().split("\n");
  assert.equal(rows.length, 4, "a heading and everything that was sold");
  await page.locator("tbody").getByRole("button", { name: "Cancel" }).click();
  await page.getByText("becomes free at once").waitFor();
  await page.locator("dialog").getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("Nothing here yet.").waitFor();
  // A stay is not called a seat, and is searched by what it has.
  const kind = await shop.roomType({ name: "Records", totalQuantity: 2, timeZone: "UTC" });
  const { hold } = await shop.hold({ roomTypeId: kind.id, checkIn: "2027-05-01", checkOut: "2027-05-03" }, "rec-4");
  await shop.call("POST", `/api/v1/holds/${hold.holdId}/confirm`, { user: "rec-4" });
  await page.goto(`${server.base}/admin#/room/${kind.id}`);
  await page.getByLabel("User", { exact: true }).waitFor();
  await page.locator("tbody").getByRole("button", { name: "Cancel" }).click();
  await page.getByText(/^The room of .*1 May.* – .*3 May.* becomes free at once/).waitFor();
  await button(page, "Leave it").click();
  await page.goto(`${server.base}/admin#/history`);
  await choose(page, "Events", "Records");
  await page.getByRole("cell", { name: "cancelled", exact: true }).waitFor();
  await page.getByText("Every row matches its hash.").waitFor();
  const { head } = await shop.call("GET", `/api/v1/admin/events/${event.id}/history/head`);
  assert.match(head.kept, new RegExp(`^e${event.id}-${head.number}:[0-9a-f]{64}$`));
  await page.locator("code", { hasText: head.kept }).waitFor();
  await page.goto(`${server.base}/admin#/audit`);
  await page.getByText("Every invariant holds.").waitFor();
  assert.ok((await page.locator("li .sign").count()) > 10);
  await operator.done();
});

test("a webhook is made, tested, rotated, replayed and deleted; its secret is shown once", async () => {
  const receiver = await Receiver.start();
  const event = await shop.event({ name: "Told", seats: 20 });
  const { operator, page } = await signedIn({}, "webhooks");
  await page.getByText("Nobody is told yet.").waitFor();
  await page.getByLabel("Address").fill("ftp://nowhere.example/");
  await button(page, "Create a webhook").click();
  await page.locator(".field .error").waitFor();
  await page.getByLabel("Address").fill(receiver.url);
  await button(page, "Create a webhook").click();
  const secret = await page.locator(".secret code").innerText();
  assert.match(secret, /^whsec_/);
  await button(page, "I have kept it").click();
  assert.ok(!(await page.content()).includes(secret), "nowhere any more");
  await page.getByRole("link", { name: receiver.url }).click();
  await page.getByRole("heading", { name: receiver.url, level: 1 }).waitFor();
  await button(page, "Send a test").click();
  await page.getByText(/^The receiver took it in/).waitFor();
  await page.getByRole("cell", { name: "webhook.test" }).waitFor();
  assert.ok((await receiver.last("webhook.test")).signedBy(secret));

  await shop.buy(event.id, "told-1");
  assert.ok((await receiver.last("reservation.confirmed")).signedBy(secret));
  await page.getByRole("cell", { name: "Told · 2" }).waitFor();
  await button(page, "Rotate the secret").click();
  await page.locator("dialog").getByRole("button", { name: "Rotate the secret", exact: true }).click();
  const rotated = await page.locator(".secret code").innerText();
  assert.notEqual(rotated, secret);
  await button(page, "Send a test").click();
  const both = await receiver.last("webhook.test", 2);
  assert.ok(both.signedBy(secret) && both.signedBy(rotated), "for a day both sign");

  await choose(page, "Event or room type", "Told");
  await page.getByLabel("From row").fill("999");
  await button(page, "Deliver again").click();
  await page.locator(".field .error").waitFor();
  await page.getByLabel("From row").fill("2");
  await button(page, "Deliver again").click();
  await page.getByText("It is on its way again.").waitFor();
  assert.equal((await receiver.last("reservation.confirmed", 2)).id, (await receiver.last("reservation.confirmed")).id, "the same message");

  receiver.status = 503;
  await button(page, "Send a test").click();
  await page.getByText("The receiver did not take it: it answered 503.").waitFor();
  await page.getByRole("cell", { name: "it answered 503" }).first().waitFor();
  await button(page, "Disable").click();
  await button(page, "Enable").waitFor();
  await page.locator("dd", { hasText: "disabled" }).waitFor();
  await button(page, "Delete").click();
  await page.getByText("The receiver is told nothing any more.").waitFor();
  await page.locator("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("Nobody is told yet.").waitFor();
  await operator.done();
  receiver.stop();
});

test("the live charts follow what is sold, by outcome", async () => {
  const event = await shop.event({ name: "Charts", seats: 12 });
  const { operator, page } = await signedIn();
  assert.deepEqual(
    await page.locator("figure .title").evaluateAll((all) => all.map((one) => one.textContent.replaceAll(/\s+/g, " ").trim())),
    ["Answers per second answers / s", "Latency ms", "Requests per batch, and in the queue requests", "Waiting and inside people", "Sold and on hold seats"],
  );
  const figure = (label) =>
    page.evaluate((wanted) => {
      const line = [...document.querySelectorAll("figure .line")].find((one) => one.textContent.trim().startsWith(wanted));
      return Number(line.querySelector("b").innerText.replaceAll(/[^\d.]/g, "") || 0);
    }, label);
  const seen = { "sold, held": 0, "sold out": 0, sold: 0 };
  for (let i = 0; Object.values(seen).some((most) => most === 0); i += 1) {
    assert.ok(i < 100, JSON.stringify(seen));
    await shop.buy(event.id, `charted-${i}`);
    await page.waitForTimeout(200);
    for (const label of Object.keys(seen)) seen[label] = Math.max(seen[label], await figure(label));
  }
  // One crosshair over all charts, with its moment and the values there, for as long as it points: new values come
  // every second.
  const plot = page.locator(".plot .u-over").first();
  const { width, height } = await plot.boundingBox();
  await plot.hover({ position: { x: width - 3, y: height / 2 } });
  const moments = page.locator(".plot .at");
  for (let i = 0; i < 4; i += 1) {
    await page.waitForTimeout(600);
    assert.match((await moments.allInnerTexts()).join(" "), /^\d\d:\d\d:\d\d( \d\d:\d\d:\d\d){4}$/);
  }
  // Where there is nothing, nothing is shown.
  await plot.hover({ position: { x: 3, y: height / 2 } });
  await moments.first().waitFor({ state: "detached" });
  await page.mouse.move(0, 0);
  await moments.first().waitFor({ state: "detached" });
  const figures = () => page.locator("figure .line b").allInnerTexts();
  await button(page, "Pause").click();
  const paused = await figures();
  for (let i = 0; i < 8; i += 1) {
    await shop.buy(event.id, `paused-${i}`);
    await page.waitForTimeout(300);
  }
  assert.deepEqual(await figures(), paused, "nothing moves while it is paused");
  await button(page, "Continue").click();
  await page.waitForFunction((before) => JSON.stringify([...document.querySelectorAll("figure .line b")].map((one) => one.innerText)) !== before, JSON.stringify(paused));
  const trails = page.getByRole("img", { name: "Seats taken in the last minutes" });
  assert.ok((await trails.count()) > 0, "a sparkline for each event");
  await operator.done();
});

test("no serious problem for a screen reader, on a phone and in Korean; nothing is wider than the window", async () => {
  const event = await shop.event({ name: "접근성", seats: 30, waitingRoom: { maxConcurrent: 5 } });
  // A table with rows is wider than a phone; the waiting room above sells nothing to who is not inside.
  const sold = await shop.event({ name: "판매", seats: 30 });
  assert.equal((await shop.buy(sold.id, "somebody-with-a-long-name")).status, 200);
  const { operator, page } = await signedIn({ size: PHONE, touch: true, language: "ko", theme: "dark" });
  const { webhook } = await shop.call("POST", "/api/v1/admin/webhooks", { body: { url: "http://127.0.0.1:9/a-long-path-that-does-not-fit-a-phone/hooks" } });
  await shop.call("POST", `/api/v1/admin/webhooks/${webhook.id}/test`);
  for (const place of ["live", `event/${event.id}`, `event/${sold.id}`, "new-event", "new-room", "history", "webhooks", `webhook/${webhook.id}`, "audit"]) {
    await page.goto(`${server.base}/admin#/${place}`);
    await page.waitForTimeout(700);
    if (place === "new-event") await page.getByRole("button", { name: /^오픈 시각/ }).click();
    await accessible(page, place);
    await fits(page, place);
    if (place === "history") {
      const happened = await page.locator("tbody td:nth-child(4)").allInnerTexts();
      assert.ok(happened.length > 1);
      assert.deepEqual(happened.filter((word) => !/[가-힣]/.test(word)), [], "every change in Korean");
    }
  }
  await page.getByRole("heading", { name: "감사", level: 1 }).waitFor();
  await page.waitForSelector("li .sign");
  const lines = await page.locator("li:has(.sign)").allInnerTexts();
  assert.deepEqual(lines.filter((line) => !/[가-힣]/.test(line)), [], "every invariant in Korean");
  await shop.call("DELETE", `/api/v1/admin/webhooks/${webhook.id}`);
  await operator.done();
});

test("a field says beside it what is wrong, in the language of the page", async () => {
  const { operator, page } = await signedIn({ language: "ko" }, "webhooks");
  const address = page.getByLabel("주소");
  await address.fill("no address");
  await button(page, "웹훅 만들기").click();
  await page.getByText("전체 주소를 입력해 주세요.").waitFor();
  assert.equal(await address.evaluate((input) => document.activeElement === input), true);
  await address.fill("");
  await button(page, "웹훅 만들기").click();
  await page.getByText("입력해 주세요.", { exact: true }).waitFor();
  await operator.done();
});

test("the list says which events are sold out; on hold is not sold", async () => {
  const [gone, held] = [await shop.event({ name: "Gone", seats: 1 }), await shop.event({ name: "Held", seats: 1 })];
  assert.equal((await shop.buy(gone.id, "the-only-one")).status, 200);
  assert.equal((await shop.hold({ eventId: held.id, seatIds: [1] }, "who-decides")).status, 201);
  for (const [language, sold, left] of [["en", "sold out", "open · 0 left"], ["ko", "매진", "판매 중 · 0석 남음"]]) {
    const { operator, page } = await signedIn({ language });
    const state = (event) => page.locator(`a[href="#/event/${event.id}"] .state`).innerText();
    assert.deepEqual([await state(gone), await state(held)], [sold, left]);
    await operator.done();
  }
});

test("the demo: a rush ends in 0 sold twice, and so does one whose server is killed", async () => {
  const data = mkdtempSync(join(tmpdir(), "tickettock-demo-"));
  const demo = spawn(process.env.TICKETTOCK, ["demo", "--port", "0", "--data-dir", join(data, "data")], { stdio: ["ignore", "pipe", "inherit"] });
  const base = await new Promise((heard) => demo.stdout.on("data", (text) => heard(/http:\/\/[\d.:]+/.exec(String(text))?.[0])));
  const ended = new Promise((done) => demo.once("exit", done));
  try {
    const token = readFileSync(join(data, "data", "admin-token"), "utf8").trim();
    const { operator, page } = await signedIn({}, "live", { base, token });
    await page.getByRole("link", { name: "Rush", exact: true }).click();
    await page.getByLabel("Buyers").fill("2000");
    await page.getByLabel("Seats", { exact: true }).fill("200");
    await button(page, "Start the rush").click();
    await page.getByRole("heading", { name: "Every answer was true." }).waitFor({ timeout: 60_000 });
    const verdict = async () => (await page.locator("section dl").last().innerText()).replaceAll(/\s+/g, " ");
    assert.match(await verdict(), /^sold 200 .*\bsold twice 0 .*\blost 0 .*\btold sold out [\d,]+/);
    await soldSeats(page, 200);
    // The form's crowd comes, and the question says so.
    await page.getByLabel("Buyers").fill("20000");
    await page.getByLabel("Seats", { exact: true }).fill("1000");
    await button(page, "Pull the plug").click();
    await page.getByText(/^A rush of 20,000 buyers for 1,000 seats begins\./).waitFor();
    await page.locator("dialog").getByRole("button", { name: "Pull the plug", exact: true }).click();
    await page.getByText(/^Killed after [\d,]+ receipts; back after [\d,]+ ms$/).waitFor({ timeout: 60_000 });
    await page.getByText("Counted.").waitFor({ timeout: 120_000 });
    await page.getByRole("heading", { name: "Every answer was true." }).waitFor();
    assert.match(await verdict(), /^sold 1,000 .*\bsold twice 0 .*\blost 0 /);
    assert.deepEqual(operator.strangers, []);
    await operator.close();
  } finally {
    demo.kill("SIGTERM");
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
});
