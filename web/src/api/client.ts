/**
 * The one way to the API: typed by the OpenAPI document, with who asks, in which language, and what its answers tell
 * about the server's clock. It sends as the client of `sdk/` does: a request that changes something keeps its
 * `Idempotency-Key` over all attempts and waits as long as `Retry-After` says.
 */

import { DEFAULTS, persistent } from "@sdk/retry";
import type { paths } from "@sdk/schema";
import createClient, { type Client } from "openapi-fetch";

import { language } from "../i18n/language.svelte";
import { serverClock } from "./clock.svelte";
import { connection } from "./connection.svelte";
import { identity } from "./identity.svelte";

export type { components, operations, paths } from "@sdk/schema";
export type { Result } from "@sdk/result";
export { Unreachable } from "@sdk/retry";

/** Sends one request and notes what its answer tells beside its body. */
export async function send(request: Request): Promise<Response> {
  request.headers.set("Accept-Language", language.now);
  const sent = Date.now();
  let answer: Response;
  try {
    // Past the browser's own cache: its answers would carry an old `Date`.
    answer = await fetch(request, { cache: "no-store" });
  } catch (error) {
    if (!request.signal.aborted) connection.failed();
    throw error;
  }
  connection.answered();
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (date && !answer.headers.has("age")) serverClock.heard(date, sent, Date.now(), 1_000);
  return answer;
}

async function asViewer(request: Request): Promise<Response> {
  identity.sign(request.headers);
  const answer = await send(request);
  if (answer.status === 401) identity.refused = true;
  return answer;
}

function client(sending: (request: Request) => Promise<Response>): { api: Client<paths> } {
  const fetch = (request: Request) => {
    const key = request.headers.get("Idempotency-Key") ?? undefined;
    // A request without a key is sent again only if that changes nothing.
    const attempts = key || request.method === "GET" || request.url.includes("/queue") ? DEFAULTS.attempts : 1;
    return persistent(() => sending(request.clone()), { ...DEFAULTS, attempts }, key, request.signal);
  };
  return { api: createClient<paths>({ baseUrl: location.origin, fetch }) };
}

/** As the viewer. */
export const shop = client(asViewer);

/** As nobody, for what anybody may read: a cache may answer it. */
export const open = client(send);

/** As an operator. */
export const operator = (token: string) =>
  client((request) => {
    request.headers.set("Authorization", `Bearer ${token}`);
    return send(request);
  });
