/**
 * The one way to the API: typed by the OpenAPI document, with who asks, in which language, and what its answers tell
 * about the server's clock. It sends as the client of `sdk/` does: a request that changes something keeps its
 * `Idempotency-Key` over all attempts and waits as long as `Retry-After` says.
 */

import { DEFAULTS, persistent } from "@sdk/retry";
import type { paths } from "@sdk/schema";
import type { Client } from "openapi-fetch";

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
  if (answer.status === 401) identity.refuse(request.method !== "GET");
  else if (answer.ok) identity.refused = false;
  return answer;
}

interface Asked {
  params?: { path?: Record<string, string | number>; query?: Record<string, string | number>; header?: Record<string, string> };
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
}

/**
 * Sends and reads as `openapi-fetch` does, whose types it has; that package in the page would be a tenth of its script,
 * for options that nobody here uses.
 */
function asking(method: string, fetch: (request: Request) => Promise<Response>) {
  return async (path: string, { params = {}, headers: more = {}, body, signal }: Asked = {}) => {
    const url = new URL(path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params.path?.[name]))), location.origin);
    for (const [name, value] of Object.entries(params.query ?? {})) url.searchParams.set(name, String(value));
    const headers = new Headers({ ...params.header, ...more });
    if (body !== undefined) headers.set("Content-Type", "application/json");
    const response = await fetch(new Request(url, { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null }));
    const told: unknown = await response.json().catch(() => undefined);
    return response.ok ? { data: told, response } : { error: told, response };
  };
}

function client(sending: (request: Request) => Promise<Response>): { api: Pick<Client<paths>, "GET" | "POST" | "DELETE"> } {
  const fetch = async (request: Request) => {
    const key = request.headers.get("Idempotency-Key") ?? undefined;
    /** What the page reads by itself is not worth a word. */
    const told = request.method !== "GET";
    // A request without a key is sent again only if that changes nothing.
    const attempts = key || request.method === "GET" || request.url.includes("/queue") ? DEFAULTS.attempts : 1;
    const waits = (ms: number) => {
      if (told) connection.again = Math.ceil(ms / 1_000);
    };
    try {
      return await persistent(() => sending(request.clone()), { ...DEFAULTS, attempts, waits }, key, request.signal);
    } finally {
      if (told) connection.again = 0;
    }
  };
  const api = { GET: asking("GET", fetch), POST: asking("POST", fetch), DELETE: asking("DELETE", fetch) };
  return { api: api as unknown as Pick<Client<paths>, "GET" | "POST" | "DELETE"> };
}

/** As the viewer. */
export const shop = client(asViewer);

/** As nobody, for what anybody may read: a cache may answer it. */
export const open = client(send);
