import createClient, { type Client } from "openapi-fetch";

import { type Body, type Reason, type Refusal, type Result } from "./result.js";
import { DEFAULTS, persistent, rest, type RetrySettings } from "./retry.js";
import type { components, operations, paths } from "./schema.js";

export interface Settings {
  /** Where the server or its gateway is, such as `https://tickets.example`. */
  url: string;
  /** Who asks, where the server believes a header. */
  user?: string;
  /** Who asks, where it believes a token: the token, or what fetches a fresh one. */
  token?: string | (() => string | Promise<string>);
  /** The language of messages for people. */
  language?: "en" | "ko";
  retry?: Partial<RetrySettings>;
  fetch?: typeof fetch;
}

export type HoldRequest =
  | { roomTypeId: number; checkIn: string; checkOut: string }
  | { eventId: number; seatIds: number[] };

/** How somebody stands in a waiting room. */
export type Stand = components["schemas"]["QueueStanding"];

export interface WaitOptions {
  /** Called after every poll. */
  onStand?: (stand: Stand) => void;
  /** The ticket of an earlier visit, to have the same place again. */
  ticket?: string;
  signal?: AbortSignal;
}

export interface WatchOptions {
  /** How often to ask, in milliseconds. */
  everyMs?: number;
  signal?: AbortSignal;
}

/** A seat whose state is another than before. */
export type Changed = components["schemas"]["Seat"];

type Buyer = components["schemas"]["Buyer"];

/** One caller of one server. */
export class Tickettock {
  /** Every operation of the API, typed. What the functions below do not cover is here. */
  readonly api: Client<paths>;
  readonly #retry: RetrySettings;

  constructor(readonly settings: Settings) {
    this.#retry = { ...DEFAULTS, ...settings.retry };
    this.api = createClient<paths>({ baseUrl: settings.url, fetch: (request) => this.#send(request) });
  }

  /** The lowest free seat, or `seat`. `entry` is the token that `waitInLine` gave. */
  reserve(eventId: number, buyer: Buyer, more: { seat?: number; entry?: string; key?: string } = {}) {
    const path = { eventId, seatId: more.seat ?? 0 };
    const header = { ...keyed(more.key), ...(more.entry ? { "X-Entry-Token": more.entry } : {}) };
    return more.seat === undefined
      ? told<"reserve">(
          this.api.POST("/api/v1/events/{eventId}/seats/reservation/fcfs", { params: { path, header }, body: buyer }),
        )
      : told<"reserveSeat">(
          this.api.POST("/api/v1/events/{eventId}/seats/{seatId}/reservation", { params: { path, header }, body: buyer }),
        );
  }

  /** Gives a reservation back. */
  cancel(reservationId: string, key?: string) {
    const params = { path: { reservationId }, header: keyed(key) };
    return told<"cancelReservation">(this.api.DELETE("/api/v1/reservations/{reservationId}", { params }));
  }

  /** Holds nights or seats. The same `key` again is the same hold. */
  hold(wanted: HoldRequest, more: { entry?: string; key?: string } = {}) {
    const key = more.key ?? crypto.randomUUID();
    const header = { ...keyed(key), ...(more.entry ? { "X-Entry-Token": more.entry } : {}) };
    const body = { ...wanted, clientHoldKey: key };
    return told<"createHold">(this.api.POST("/api/v1/holds", { params: { header }, body }));
  }

  /** Books what is held. */
  confirm(holdId: string, key?: string) {
    const params = { path: { holdId }, header: keyed(key) };
    return told<"confirmHold">(this.api.POST("/api/v1/holds/{holdId}/confirm", { params }));
  }

  /** Holds it longer. */
  extend(holdId: string, key?: string) {
    const params = { path: { holdId }, header: keyed(key) };
    return told<"extendHold">(this.api.POST("/api/v1/holds/{holdId}/extend", { params }));
  }

  /** Gives what is held back. */
  release(holdId: string, key?: string) {
    const params = { path: { holdId }, header: keyed(key) };
    return told<"cancelHold">(this.api.DELETE("/api/v1/holds/{holdId}", { params }));
  }

  /** Joins the line of an event and waits for its turn. Polls as often as the server asks for. */
  async waitInLine(eventId: number, options: WaitOptions = {}): Promise<Result<"enter"> | Result<"joinQueue">> {
    const { signal } = options;
    const path = { eventId };
    const shown = (ticket?: string) => (ticket ? { header: { "X-Queue-Ticket": ticket } } : {});
    const join = (ticket?: string) =>
      told<"joinQueue">(this.api.POST("/api/v1/events/{eventId}/queue", { params: { path, ...shown(ticket) }, ...cancel(signal) }));
    const poll = (ticket?: string) =>
      told<"pollQueue">(this.api.GET("/api/v1/events/{eventId}/queue", { params: { path, ...shown(ticket) }, ...cancel(signal) }));
    let stand: Result<"joinQueue"> | Result<"pollQueue"> = await join(options.ticket);
    let ticket = options.ticket;
    for (;;) {
      if (!stand.ok) return stand as Result<"joinQueue">;
      ticket = stand.data.ticket ?? ticket;
      options.onStand?.(stand.data);
      if (stand.data.status === "ready" || stand.data.status === "entered") {
        const params = { path, ...shown(ticket) };
        const entered = await told<"enter">(
          this.api.POST("/api/v1/events/{eventId}/queue/enter", { params, ...cancel(signal) }),
        );
        if (entered.ok || entered.reason !== "not_ready") return entered;
      }
      await rest((stand.data.pollAfter ?? 1) * 1_000, signal);
      stand = await poll(ticket);
      // The line forgot: the ticket gives the place back.
      if (!stand.ok && stand.reason === "not_queued") stand = await join(ticket);
    }
  }

  /** Calls `onSeats` with all seats first, then with those that changed, until it is cancelled. */
  async watchSeats(eventId: number, onSeats: (seats: Changed[]) => void, options: WatchOptions = {}): Promise<void> {
    const known = new Map<number, string>();
    let etag: string | undefined;
    while (!options.signal?.aborted) {
      const { data, response } = await this.api.GET("/api/v1/events/{eventId}/seats", {
        params: { path: { eventId } },
        headers: etag ? { "If-None-Match": etag } : {},
        ...cancel(options.signal),
      });
      etag = response.headers.get("etag") ?? etag;
      const changed = (data?.seats ?? []).filter((seat) => known.get(seat.id) !== seat.state);
      for (const seat of changed) known.set(seat.id, seat.state);
      if (changed.length > 0) onSeats(changed);
      await rest(options.everyMs ?? 1_000, options.signal).catch(() => undefined);
    }
  }

  async #send(request: Request): Promise<Response> {
    const { user, language } = this.settings;
    const token = typeof this.settings.token === "function" ? await this.settings.token() : this.settings.token;
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    if (user && !request.headers.has("X-User-Id")) request.headers.set("X-User-Id", user);
    if (language) request.headers.set("Accept-Language", language);
    const key = request.headers.get("Idempotency-Key") ?? undefined;
    const send = this.settings.fetch ?? fetch;
    // A request without a key is sent again only if that changes nothing.
    const attempts = key || request.method === "GET" || request.url.includes("/queue") ? this.#retry.attempts : 1;
    return persistent(() => send(request.clone()), { ...this.#retry, attempts }, key, request.signal);
  }
}

function keyed(key: string | undefined): { "Idempotency-Key": string } {
  return { "Idempotency-Key": key ?? crypto.randomUUID() };
}

function cancel(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

type Answer = { data?: unknown; error?: unknown; response: Response };

async function told<Op extends keyof operations>(answering: Promise<Answer>): Promise<Result<Op>> {
  const { data, error, response } = await answering;
  const { status, headers } = response;
  if (data !== undefined) {
    return { ok: true, status, replayed: headers.get("idempotent-replayed") === "true", data: data as Body<Op> };
  }
  const { reason, message } = (error ?? {}) as { reason: Reason<Op>; message: string };
  const retryAfter = Number(headers.get("retry-after")) || undefined;
  return { ok: false, status, reason, message, retryAfter, refusal: error as Refusal<Op> };
}
