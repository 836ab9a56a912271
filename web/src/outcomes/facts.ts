/** What a page knows when it puts a refusal into words. */

import type { Reason } from "@sdk/result";

import type { components } from "../api/client";

/** Every word with which the API refuses a buyer; a word without a text does not compile. */
export type BuyerReason =
  | Reason<"reserve">
  | Reason<"reserveSeat">
  | Reason<"createHold">
  | Reason<"confirmHold">
  | Reason<"extendHold">
  | Reason<"cancelHold">
  | Reason<"cancelReservation">
  | Reason<"joinQueue">
  | Reason<"pollQueue">
  | Reason<"enter">
  /** No attempt was answered. */
  | "unreachable";

export type Refusal = Partial<components["schemas"]["Refusal"]> & {
  reason: string;
  /** When the answer came, by the viewer's own clock. */
  at?: number;
};

/** A refusal as the page shows it: what happened, and what to do next. */
export interface Told {
  what: string;
  next: string;
}

export interface Facts extends Refusal {
  /** Names of the seats in `seatIds`. */
  seats: string;
  /** When to ask again, as a time of day. */
  again: string | null;
}

export type Outcomes = Record<BuyerReason, (facts: Facts) => Told>;
