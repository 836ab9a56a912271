/**
 * The requests that change something, each with a key that survives a reload: a request that was sent and not
 * answered is sent again as the same one, and answered once.
 */

import { shop, Unreachable, type components } from "../api/client";
import { recall, remember } from "../kit/remembered";
import type { Refusal } from "../outcomes/facts";

export type Buyer = components["schemas"]["Buyer"];
export type SeatHold = Extract<components["schemas"]["Hold"], { eventId: number }>;
export type SeatReservation = components["schemas"]["Reservation"];

/** How a request ended: with what, or why not. `raw` is the answer as it came. */
export type Ended<T> = { ok: true; data: T; raw: unknown } | { ok: false; refusal: Refusal; raw: unknown };

type Told = { ok: true; data: unknown } | { ok: false; reason: string; refusal: unknown; retryAfter: number | undefined };

export async function ended<T>(telling: Promise<Told>): Promise<Ended<T>> {
  try {
    const told = await telling;
    if (told.ok) return { ok: true, data: told.data as T, raw: told.data };
    const refusal = { ...(told.refusal as Refusal), retryAfter: told.retryAfter } as Refusal;
    return { ok: false, refusal, raw: told.refusal };
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return { ok: false, refusal: { reason: "unreachable" }, raw: null };
  }
}

/** Resent after a reload only while somebody may still be waiting for it. */
const RESENT_MS = 120_000;

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

  /** A request of before the reload that was never answered. */
  get pending(): Pending | null {
    try {
      const pending = JSON.parse(recall(this.#name) ?? "null") as Pending | null;
      return pending && Date.now() - pending.at < RESENT_MS ? pending : null;
    } catch {
      return null;
    }
  }

  async take(buyer: Buyer, entry: string | undefined): Promise<Ended<components["schemas"]["Reserved"]>> {
    const before = this.pending;
    const same = before && before.buyer.phone === buyer.phone && before.buyer.userName === buyer.userName;
    const pending: Pending = same ? before : { key: crypto.randomUUID(), at: Date.now(), buyer };
    remember(this.#name, JSON.stringify(pending));
    const told = await ended<components["schemas"]["Reserved"]>(
      shop.reserve(this.eventId, buyer, { key: pending.key, ...(entry ? { entry } : {}) }) as Promise<Told>,
    );
    if (told.ok || told.refusal.reason !== "unreachable") remember(this.#name, null);
    return told;
  }

  get #name(): string {
    return `any.${this.eventId}.${this.user}`;
  }
}

/** The same seats again, in the same tab, are the same hold. */
export function holdSeats(eventId: number, seatIds: number[], key: string, entry: string | undefined) {
  return ended<{ hold: SeatHold }>(shop.hold({ eventId, seatIds }, { key, ...(entry ? { entry } : {}) }) as Promise<Told>);
}

export const confirmHold = (holdId: string) =>
  ended<components["schemas"]["ConfirmedAnswer"]>(shop.confirm(holdId, `confirm-${holdId}`) as Promise<Told>);
export const releaseHold = (holdId: string) => ended<unknown>(shop.release(holdId, `release-${holdId}`) as Promise<Told>);
export const extendHold = (holdId: string) => ended<{ hold: SeatHold }>(shop.extend(holdId) as Promise<Told>);

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
