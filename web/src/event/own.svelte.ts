/** What the viewer has at one event: a hold, and seats. Read anew whenever something tells that it changed. */

import { identity } from "../api/identity.svelte";
import { ownHolds, ownReservations, type SeatHold, type SeatReservation } from "./purchase";

export interface Had {
  hold: SeatHold | null;
  bought: SeatReservation[];
}

const AGAIN_MS = 1_500;

export class OwnSeats {
  hold = $state<SeatHold | null>(null);
  bought = $state<SeatReservation[]>([]);
  /** They were read. */
  known = $state(false);
  readonly seats: ReadonlySet<number> = $derived(new Set([...this.bought.map((one) => one.seat.id), ...(this.hold?.seatIds ?? [])]));
  /** Reads are numbered: their answers may come in another order. */
  #asked = 0;
  #heard = 0;

  /** `deciding`: a request is under way whose answer says whether there is a hold. `changed` is told what was there before. */
  constructor(
    readonly eventId: number,
    readonly deciding: () => boolean,
    readonly changed: (had: Had) => void,
  ) {}

  async read(): Promise<void> {
    if (!identity.known) {
      this.known = true;
      return;
    }
    const asked = ++this.#asked;
    try {
      const [holds, reservations] = await Promise.all([ownHolds(), ownReservations()]);
      if (asked < this.#heard) return;
      this.#heard = asked;
      const had = { hold: this.hold, bought: this.bought };
      if (!this.deciding()) this.hold = holds.find((one): one is SeatHold => "eventId" in one && one.eventId === this.eventId) ?? null;
      this.bought = reservations.filter((one): one is SeatReservation => "eventId" in one && one.eventId === this.eventId);
      if (this.known) this.changed(had);
      this.known = true;
    } catch {
      if (asked < this.#heard) return;
      // Who is refused is asked to sign in, and has nothing until then. A busy server says nothing about that.
      if (identity.refused) this.known = true;
      else setTimeout(() => void this.read(), AGAIN_MS);
    }
  }

  /** An answer said so. What was asked for before it may be older. */
  turned(hold: SeatHold | null, more: SeatReservation[] = []): void {
    this.#heard = ++this.#asked;
    this.hold = hold;
    this.bought = [...this.bought.filter((one) => !more.some((other) => other.reservationId === one.reservationId)), ...more];
  }
}
