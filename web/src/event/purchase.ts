/**
 * The requests that change something, each with a key that survives a reload: a request that was sent and not
 * answered is sent again as the same one, and answered once.
 */

import { newKey } from "@sdk/key";

import { shop, Unreachable, type components } from "../api/client";
import { recall, remember } from "../kit/remembered";
import type { Refusal } from "../outcomes/facts";

export type Buyer = components["schemas"]["Buyer"];
export type SeatHold = Extract<components["schemas"]["Hold"], { eventId: number }>;
export type SeatReservation = components["schemas"]["Reservation"];

export type HoldRequest =
  | { roomTypeId: number; checkIn: string; checkOut: string }
  | { eventId: number; seatIds: number[] };

/** How a request ended: with what, or why not. `raw` is the answer as it came. */
export type Ended<T> = { ok: true; data: T; raw: unknown } | { ok: false; refusal: Refusal; raw: unknown };

type Told = { data?: unknown; error?: unknown; response: Response };

export async function ended<T>(telling: Promise<Told>): Promise<Ended<T>> {
  try {
    const { data, error, response } = await telling;
    if (data !== undefined) return { ok: true, data: data as T, raw: data };
    const retryAfter = Number(response.headers.get("retry-after")) || undefined;
    const refusal: Refusal = { ...((error ?? { reason: "internal_error" }) as Refusal), ...(retryAfter ? { retryAfter } : {}), at: Date.now() };
    return { ok: false, refusal, raw: error };
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return { ok: false, refusal: { reason: "unreachable" }, raw: null };
  }
}

/** With other content it is another request, with a key of its own. */
const FIELDS = ["userName", "phone", "email"] as const;
/** Resent after a reload only while somebody may still be waiting for it. */
const RESENT_MS = 120_000;
/** Somebody who presses again gets the answer of the first time as long as the server keeps it. */
const KEPT_MS = 86_400_000;

interface Pending {
  key: string;
  at: number;
  buyer: Buyer;
}

export class AnySeat {
  constructor(
    readonly eventId: number,
    readonly user: string,
  ) {}

  /** A request of before the reload that was never answered, and is sent again without being asked for. */
  get pending(): Pending | null {
    return this.#unanswered(RESENT_MS);
  }

  /** It is known by now how it ended. */
  forget(): void {
    remember(this.#name, null);
  }

  #unanswered(within: number): Pending | null {
    try {
      const pending = JSON.parse(recall(this.#name) ?? "null") as Pending | null;
      return pending && Date.now() - pending.at < within ? pending : null;
    } catch {
      return null;
    }
  }

  async take(buyer: Buyer, entry: string | undefined): Promise<Ended<components["schemas"]["Reserved"]>> {
    const before = this.#unanswered(KEPT_MS);
    const same = before && FIELDS.every((field) => before.buyer[field] === buyer[field]);
    const pending: Pending = same ? before : { key: newKey(), at: Date.now(), buyer };
    remember(this.#name, JSON.stringify(pending));
    const params = { path: { eventId: this.eventId }, header: keyed(pending.key, entry) };
    const told = await ended<components["schemas"]["Reserved"]>(
      shop.api.POST("/api/v1/events/{eventId}/seats/reservation/fcfs", { params, body: buyer }),
    );
    if (told.ok || told.refusal.reason !== "unreachable") this.forget();
    return told;
  }

  get #name(): string {
    return `any.${this.eventId}.${this.user}`;
  }
}

const keyed = (key: string, entry?: string) => ({ "Idempotency-Key": key, ...(entry ? { "X-Entry-Token": entry } : {}) });

/** The same with the same key is the same hold. */
export function createHold<H>(wanted: HoldRequest, key: string, entry?: string): Promise<Ended<{ hold: H }>> {
  const body = { ...wanted, clientHoldKey: key };
  return ended(shop.api.POST("/api/v1/holds", { params: { header: keyed(key, entry) }, body }));
}

/** Only the shop's backend confirms (`CONFIRM_BY=service`): the server writes that into the page. */
export const shopConfirms = document.documentElement.dataset.confirm === "service";

const HOLD = (holdId: string, what: string) => ({ params: { path: { holdId }, header: keyed(`${what}-${holdId}`) } });

export const confirmHold = (holdId: string, buyer?: Buyer): Promise<Ended<components["schemas"]["ConfirmedAnswer"]>> =>
  ended(shop.api.POST("/api/v1/holds/{holdId}/confirm", { ...HOLD(holdId, "confirm"), ...(buyer ? { body: buyer } : {}) }));
export const releaseHold = (holdId: string): Promise<Ended<unknown>> =>
  ended(shop.api.DELETE("/api/v1/holds/{holdId}", HOLD(holdId, "release")));
export const extendHold = (holdId: string): Promise<Ended<{ hold: SeatHold }>> =>
  ended(shop.api.POST("/api/v1/holds/{holdId}/extend", HOLD(holdId, `extend-${Date.now()}`)));
export const cancelReservation = (reservationId: string): Promise<Ended<unknown>> =>
  ended(
    shop.api.DELETE("/api/v1/reservations/{reservationId}", {
      params: { path: { reservationId }, header: keyed(`cancel-${reservationId}`) },
    }),
  );

/** All of the viewer's reservations, up to a bound. */
export async function ownReservations(): Promise<components["schemas"]["AnyReservation"][]> {
  const all: components["schemas"]["AnyReservation"][] = [];
  let after: string | undefined;
  do {
    const query = after ? { limit: 100, after } : { limit: 100 };
    const { data } = await shop.api.GET("/api/v1/reservations", { params: { query } });
    if (!data) throw new Error("reservations");
    all.push(...data.reservations);
    after = data.next ?? undefined;
  } while (after && all.length < 1_000);
  return all;
}

export async function ownHolds(): Promise<components["schemas"]["Hold"][]> {
  const { data } = await shop.api.GET("/api/v1/holds", { params: { query: { limit: 100 } } });
  if (!data) throw new Error("holds");
  return data.holds;
}
