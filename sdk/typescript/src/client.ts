import createClient, { type Client } from "openapi-fetch";

import { newKey } from "./key.js";
import { type Body, type Reason, type Refusal, type Result } from "./result.js";
import { DEFAULTS, persistent, rest, type RetrySettings } from "./retry.js";
import type { components, operations, paths } from "./schema.js";
import { connect, NoStream, seatStates, type StreamMessage } from "./stream.js";

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

export type HoldRequest = (
  | { roomTypeId: number; checkIn: string; checkOut: string }
  | { eventId: number; seatIds: number[] }
) & {
  /** Kept with the hold, and with the reservation that it becomes. */
  metadata?: Record<string, string | number | boolean>;
};

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
  /** How often to ask where no stream can be had, in milliseconds. */
  everyMs?: number;
  signal?: AbortSignal;
}

export interface StreamOptions {
  /** One's own place in line, holds and reservations too. */
  own?: boolean;
  signal?: AbortSignal;
}

/** Between two connections of a stream, with jitter, in milliseconds. */
const RECONNECT = 2_000;
/** So long a client without a stream asks before it tries to have one again. */
const STREAM_AGAIN = 30_000;

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
  cancel(reservationId: string, key?: string, reason?: string) {
    const params = { path: { reservationId }, header: keyed(key) };
    return told<"cancelReservation">(
      this.api.DELETE("/api/v1/reservations/{reservationId}", { params, ...because(reason) }),
    );
  }

  /** Holds nights or seats. The same `key` again is the same hold. */
  hold(wanted: HoldRequest, more: { entry?: string; key?: string } = {}) {
    const key = more.key ?? newKey();
    const header = { ...keyed(key), ...(more.entry ? { "X-Entry-Token": more.entry } : {}) };
    const body = { ...wanted, clientHoldKey: key };
    return told<"createHold">(this.api.POST("/api/v1/holds", { params: { header }, body }));
  }

  /** Books what is held, for a buyer where the event asks for one. */
  confirm(holdId: string, key?: string, buyer?: components["schemas"]["Confirmation"]) {
    const params = { path: { holdId }, header: keyed(key) };
    const body = buyer ? { body: buyer } : {};
    return told<"confirmHold">(this.api.POST("/api/v1/holds/{holdId}/confirm", { params, ...body }));
  }

  /** Holds it longer. */
  extend(holdId: string, key?: string) {
    const params = { path: { holdId }, header: keyed(key) };
    return told<"extendHold">(this.api.POST("/api/v1/holds/{holdId}/extend", { params }));
  }

  /** Gives what is held back. */
  release(holdId: string, key?: string, reason?: string) {
    const params = { path: { holdId }, header: keyed(key) };
    return told<"cancelHold">(this.api.DELETE("/api/v1/holds/{holdId}", { params, ...because(reason) }));
  }

  /**
   * Joins the line of an event and waits for its turn. Polls as often as the server asks for. Where the order is drawn
   * at the opening, `status` is `gathering` until then, and there is no place yet.
   */
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

  /**
   * Calls `onMessage` with a snapshot and then with every change of an event, until it is cancelled. Reconnects by
   * itself and goes on where it was. Throws `NoStream` where no stream can be had: then poll.
   */
  async watch(eventId: number, onMessage: (message: StreamMessage) => void, options: StreamOptions = {}): Promise<void> {
    const { signal } = options;
    let last: string | undefined;
    while (!signal?.aborted) {
      const query = new URLSearchParams();
      if (last) query.set("lastEventId", last);
      if (options.own) query.set("ticket", await this.#streamTicket(eventId, signal));
      const url = `${this.settings.url.replace(/\/$/, "")}/api/v1/events/${eventId}/stream?${query}`;
      let ended = false;
      await connect({
        url,
        signal,
        fetch: this.settings.fetch,
        onMessage: ({ id, ...message }) => {
          last = id ?? last;
          ended = message.event === "state" && message.data.state === "deleted";
          onMessage(message as StreamMessage);
        },
      });
      if (ended) return;
      await rest(RECONNECT * (0.5 + Math.random() / 2), signal).catch(() => undefined);
    }
  }

  async #streamTicket(eventId: number, signal: AbortSignal | undefined): Promise<string> {
    const params = { path: { eventId } };
    const { data, response } = await this.api.POST("/api/v1/events/{eventId}/stream-ticket", { params, ...cancel(signal) });
    if (!data) throw new NoStream(response.status);
    return data.ticket;
  }

  /**
   * Calls `onSeats` with all seats first, then with those that changed, until it is cancelled: over the live stream,
   * or by asking where none can be had.
   */
  async watchSeats(eventId: number, onSeats: (seats: Changed[]) => void, options: WatchOptions = {}): Promise<void> {
    const known = new Map<number, Changed>();
    const show = (seats: Changed[]) => {
      const changed = seats.filter((seat) => known.get(seat.id)?.state !== seat.state);
      for (const seat of changed) known.set(seat.id, seat);
      if (changed.length > 0) onSeats(changed);
    };
    const turned = function* (states: Iterable<[number, Changed["state"]]>) {
      for (const [id, state] of states) {
        const seat = known.get(id);
        if (seat) yield { ...seat, state, status: state !== "free" };
      }
    };
    // The list has the names.
    let etag = await this.#poll(eventId, show, undefined, options.signal);
    while (!options.signal?.aborted) {
      try {
        await this.watch(
          eventId,
          ({ event, data }) => {
            if (event === "snapshot") show([...turned(seatStates(data.states))]);
            if (event === "seats") show([...turned(byState(data))]);
          },
          cancel(options.signal),
        );
        return;
      } catch (none) {
        if (!(none instanceof NoStream)) throw none;
      }
      const until = Date.now() + STREAM_AGAIN;
      while (!options.signal?.aborted && Date.now() < until) {
        etag = await this.#poll(eventId, show, etag, options.signal);
        await rest(options.everyMs ?? 1_000, options.signal).catch(() => undefined);
      }
    }
  }

  /** The whole list, if it is another than the one of `etag`. */
  async #poll(eventId: number, show: (seats: Changed[]) => void, etag: string | undefined, signal: AbortSignal | undefined) {
    const { data, response } = await this.api.GET("/api/v1/events/{eventId}/seats", {
      params: { path: { eventId } },
      headers: etag ? { "If-None-Match": etag } : {},
      ...cancel(signal),
    });
    show(data?.seats ?? []);
    return response.headers.get("etag") ?? etag;
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

function* byState(seats: components["schemas"]["LiveSeats"]): Generator<[number, Changed["state"]]> {
  for (const state of ["sold", "held", "free"] as const) for (const id of seats[state] ?? []) yield [id, state];
}

function keyed(key: string | undefined): { "Idempotency-Key": string } {
  return { "Idempotency-Key": key ?? newKey() };
}

function because(reason: string | undefined): { body?: { reason: string } } {
  return reason === undefined ? {} : { body: { reason } };
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
