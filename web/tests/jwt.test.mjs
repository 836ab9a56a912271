// The pages of a server that verifies tokens (`AUTH_MODE=jwt`): what somebody without one sees, and how one is used.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { person } from "./browser.mjs";
import { browser, fillTicket, finished, server, shop, stand, step } from "./stand.mjs";

const SECRET = "0123456789abcdef0123456789abcdef";
stand({ AUTH_MODE: "jwt", JWT_SECRET: SECRET });

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** As the shop's login hands it out. */
function token(sub, seconds = 600, secret = SECRET) {
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub, exp: Math.floor(Date.now() / 1_000) + seconds })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const anySeat = (page) => page.getByRole("button", { name: "Any seat, now" }).first();

/** Who they are is up to their token. */
const somebody = async () => finished(await person(browser, server.base, { still: true }));

test("without a token the sale is seen, buying asks to sign in, and with one it goes on", async () => {
  const event = await shop.event({ name: "Members", seats: 20 });
  const visitor = await somebody();
  const page = await visitor.open(`/events/${event.id}`);
  await step(page, "choose");
  assert.equal(await page.locator(".map-svg use").count(), 20, "the seats are public");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await fillTicket(page);
  await anySeat(page).click();
  const dialog = page.locator("dialog[open]");
  await dialog.getByText("Paste the token that your shop gave you").waitFor();
  await dialog.getByLabel("Token").fill(token("minji", 600, "fedcba9876543210fedcba9876543210"));
  await dialog.getByLabel("Token").press("Enter");
  // The page begins anew as minji, and the server does not believe it.
  await dialog.getByText("The server did not accept this token").waitFor();
  await dialog.getByLabel("Token").fill(token("minji"));
  await dialog.getByLabel("Token").press("Enter");
  await page.getByRole("button", { name: "minji" }).waitFor();
  await step(page, "choose");
  // What was typed before is still there.
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Kim Minji");
  await anySeat(page).click();
  await step(page, "yours");
  const { reservations } = await shop.call("GET", "/api/v1/reservations", { headers: { Authorization: `Bearer ${token("minji")}` } });
  assert.equal(reservations.length, 1);
  await visitor.done();
});

test("a shop hands the token over in the fragment; it leaves the address, and signing out forgets it", async () => {
  const event = await shop.event({ name: "Handed over", seats: 20, maxPerUser: 2 });
  const member = await somebody();
  const page = await member.open(`/events/${event.id}#token=${token("jun")}`);
  await step(page, "choose");
  assert.ok(!page.url().includes("token"), page.url());
  await fillTicket(page);
  await anySeat(page).click();
  await step(page, "yours");
  // Own messages come over the stream, which carries no header but a ticket.
  const other = await member.open("/me");
  await other.waitForSelector(".stub");
  await page.getByRole("button", { name: "jun" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await step(page, "choose");
  assert.equal(await page.locator(".stub").count(), 0, "nobody's tickets are shown to nobody");
  await member.done();
});

test("a token that expires is asked for again, and nothing is lost", async () => {
  const event = await shop.event({ name: "Long evening", seats: 20 });
  const member = await somebody();
  const page = await member.open(`/events/${event.id}#token=${token("hana", -120)}`);
  await page.locator("dialog[open]").getByText("The server did not accept this token").waitFor();
  await page.locator("dialog[open]").getByLabel("Token").fill(token("hana"));
  await page.locator("dialog[open]").getByLabel("Token").press("Enter");
  await step(page, "choose");
  await fillTicket(page);
  await anySeat(page).click();
  await step(page, "yours");
  await page.getByText("The server's answer, as JSON").click();
  await page.getByText('"reservationId":').first().waitFor();
  await member.close();
});
