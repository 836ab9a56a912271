/** What the viewer has, read again every few seconds and whenever the page is looked at. */

import { open, type components } from "../api/client";
import { serverClock } from "../api/clock.svelte";
import { identity } from "../api/identity.svelte";
import { cancelReservation, ownHolds, ownReservations } from "../event/purchase";
import type { Refusal } from "../outcomes/facts";

export type Hold = components["schemas"]["Hold"];
export type AnyReservation = components["schemas"]["AnyReservation"];
type Event = components["schemas"]["Event"];

export class Own {
  holds = $state<Hold[]>([]);
  reservations = $state<AnyReservation[] | null>(null);
  /** Names of events, room types and held seats, by their path. */
  names = $state<Record<string, string>>({});
  /** By their ids. */
  events = $state<Record<number, Event>>({});
  refusal = $state<Refusal | null>(null);
  raw = $state<unknown>(null);
  busy = $state<string | null>(null);
  /** Reads are numbered: their answers may come in another order. */
  #reads = 0;
  #shown = 0;

  constructor() {
    void this.#run();
    document.addEventListener("visibilitychange", () => void this.read());
  }

  get live(): Hold[] {
    return this.holds.filter((hold) => Date.parse(hold.expiresAt) > serverClock.now);
  }

  async read(): Promise<void> {
    if (!identity.known) {
      this.reservations = [];
      return;
    }
    const asked = ++this.#reads;
    const [holds, reservations] = await Promise.all([ownHolds(), ownReservations()]);
    for (const hold of holds) if ("eventId" in hold) for (const seat of hold.seatIds) void this.#name(`events/${hold.eventId}/${seat}`);
    // With their names at once: nothing grows or moves when those come.
    await Promise.all([...holds, ...reservations].map((one) => this.#name("eventId" in one ? `events/${one.eventId}` : `room-types/${one.roomTypeId}`)));
    // A later one was faster.
    if (asked < this.#shown) return;
    this.#shown = asked;
    this.holds = holds;
    this.reservations = reservations;
  }

  async cancel(reservation: AnyReservation): Promise<boolean> {
    this.busy = reservation.reservationId;
    this.refusal = null;
    const told = await cancelReservation(reservation.reservationId);
    this.busy = null;
    this.raw = told.raw;
    if (!told.ok) this.refusal = told.refusal;
    await this.read().catch(() => undefined);
    return told.ok;
  }

  async #run(): Promise<void> {
    for (;;) {
      if (!document.hidden || this.reservations === null) await this.read().catch(() => undefined);
      await new Promise((done) => setTimeout(done, this.reservations === null ? 1_000 : 4_000));
    }
  }

  #asked = new Set<string>();
  async #name(path: string): Promise<void> {
    if (this.#asked.has(path)) return;
    this.#asked.add(path);
    const name = await this.#named(path).catch(() => undefined);
    if (name) this.names[path] = name;
    else this.#asked.delete(path);
  }

  /** What the server calls an event, a seat of it, or a room type. */
  async #named(path: string): Promise<string | undefined> {
    const [what, first, seat] = path.split("/") as [string, string, string?];
    const id = Number(first);
    if (what !== "events")
      return (await open.api.GET("/api/v1/room-types/{roomTypeId}", { params: { path: { roomTypeId: id } } })).data?.roomType.name;
    if (seat === undefined) {
      const { data } = await open.api.GET("/api/v1/events/{eventId}", { params: { path: { eventId: id } } });
      if (data) this.events[id] = data.event;
      return data?.event.name;
    }
    const params = { path: { eventId: id, seatId: Number(seat) } };
    return (await open.api.GET("/api/v1/events/{eventId}/seats/{seatId}", { params })).data?.seat.name;
  }
}
