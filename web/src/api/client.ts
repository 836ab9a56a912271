/**
 * The one way to the API: the client that we give to others, with who asks, in which language, and what its
 * answers tell about the server's clock. A request that changes something keeps its `Idempotency-Key` over all
 * attempts and waits as long as `Retry-After` says.
 */

import { Tickettock } from "@sdk/client";

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

const url = location.origin;

/** As the viewer. */
export const shop = new Tickettock({ url, fetch: (request) => asViewer(request as Request) });

/** As nobody, for what anybody may read: a cache may answer it. */
export const open = new Tickettock({ url, fetch: (request) => send(request as Request) });

/** As an operator. */
export const operator = (token: string) => new Tickettock({ url, token, fetch: (request) => send(request as Request) });
