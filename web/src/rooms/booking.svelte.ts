/** The rooms page's only state: room types, the month that is shown, the stay that is chosen, holds and stays. */

import { newKey } from "@sdk/key";

import { open, type components } from "../api/client";
import { serverClock } from "../api/clock.svelte";
import { connection } from "../api/connection.svelte";
import { identity } from "../api/identity.svelte";
import { LiveStream } from "../api/stream";
import { confirmHold, createHold, ownHolds, ownReservations, releaseHold, shopConfirms, type Ended } from "../event/purchase";
import { recall, remember } from "../kit/remembered";
import type { Refusal } from "../outcomes/facts";
import { addDays, addMonths, daysBetween, today } from "../kit/dates";

export type RoomType = components["schemas"]["RoomType"];
export type Night = components["schemas"]["Night"];
export type NightHold = Extract<components["schemas"]["Hold"], { roomTypeId: number }>;
export type Stay = components["schemas"]["Stay"];

/** Today where the viewer is: until the property's zone is known, it is the best guess, and mostly right. */
const here = () => today(Intl.DateTimeFormat().resolvedOptions().timeZone, serverClock.now);

const stayOf = (kind: number, checkIn: string, checkOut: string) => `${kind} ${checkIn} ${checkOut}`;
/** No stream tells of one's own stays. */
const CONFIRMED_MS = 4_000;

export class Booking {
  kinds = $state<RoomType[] | null>(null);
  kind = $state<RoomType | null>(null);
  month = $state(here().slice(0, 7));
  nights = $state<Record<string, Night>>({});
  /** First and last night. */
  first = $state<string | null>(null);
  last = $state<string | null>(null);
  holds = $state<NightHold[]>([]);
  stays = $state<Stay[]>([]);
  busy = $state<"hold" | "confirm" | "release" | null>(null);
  refusal = $state<Refusal | null>(null);
  raw = $state<unknown>(null);
  done = $state<Stay | null>(null);
  #key: { stay: string; key: string } | null = null;
  #live: LiveStream | null = null;
  /** Reads are numbered: their answers may come in another order. */
  #reads = 0;
  #shown = 0;
  #readAt = 0;

  readonly today: string = $derived(this.kind ? today(this.kind.timeZone, serverClock.now) : here());
  readonly checkOut: string | null = $derived(this.last ? addDays(this.last, 1) : null);
  readonly count: number = $derived(this.first && this.checkOut ? daysBetween(this.first, this.checkOut) : 0);
  readonly hold: NightHold | null = $derived(this.holds.find((one) => one.roomTypeId === this.kind?.id) ?? null);
  /** Every chosen night has a room. */
  readonly possible: boolean = $derived(
    this.count > 0 && Array.from({ length: this.count }, (_, i) => addDays(this.first!, i)).every((date) => (this.nights[date]?.available ?? 1) > 0),
  );

  constructor() {
    void this.#begin();
    setInterval(() => this.#tick(), 250);
    // Another tab may have confirmed or given back meanwhile.
    document.addEventListener("visibilitychange", () => void (document.hidden || this.refreshOwn()));
    connection.onReturn(() => void this.refreshOwn());
  }

  async #begin(): Promise<void> {
    while (this.kinds === null) {
      try {
        const { data } = await open.api.GET("/api/v1/room-types", { params: { query: { limit: 100 } } });
        if (!data) throw new Error("busy");
        this.kinds = data.roomTypes;
      } catch {
        await new Promise((done) => setTimeout(done, 1_000));
      }
    }
    await this.refreshOwn();
    const before = Number(recall("room"));
    const held = this.holds[0]?.roomTypeId;
    const kind = this.kinds.find((one) => one.id === held) ?? this.kinds.find((one) => one.id === before) ?? this.kinds[0];
    if (kind) this.choose(kind);
  }

  choose(kind: RoomType): void {
    if (this.kind?.id === kind.id) return;
    this.kind = kind;
    remember("room", String(kind.id));
    this.nights = {};
    this.clear();
    this.done = this.refusal = null;
    this.month = (this.hold?.checkIn ?? today(kind.timeZone, serverClock.exact())).slice(0, 7);
    this.#watch();
  }

  show(by: number): void {
    const next = addMonths(this.month, by);
    if (next < this.today.slice(0, 7)) return;
    this.month = next;
    this.#watch();
  }

  clear(): void {
    this.first = this.last = null;
  }

  /** The first click begins a stay, the second ends it; a third begins anew. */
  pick(date: string): void {
    this.refusal = null;
    this.done = null;
    if (this.first !== null && this.last === this.first && date > this.first) this.last = date;
    else this.first = this.last = date;
  }

  drag(from: string, to: string): void {
    this.refusal = null;
    this.done = null;
    [this.first, this.last] = from <= to ? [from, to] : [to, from];
  }

  async holdStay(): Promise<void> {
    const { kind, first, checkOut } = this;
    if (!kind || !first || !checkOut) return;
    const stay = stayOf(kind.id, first, checkOut);
    if (this.#key?.stay !== stay) this.#key = { stay, key: newKey() };
    const { key } = this.#key;
    const wanted = { roomTypeId: kind.id, checkIn: first, checkOut };
    const done = await this.#during("hold", () => createHold<NightHold>(wanted, key));
    if (!done) return;
    this.#key = null;
    this.holds = [done.hold, ...this.holds.filter((one) => one.holdId !== done.hold.holdId)];
    this.clear();
  }

  async confirm(): Promise<void> {
    const { hold } = this;
    if (!hold) return;
    const done = await this.#during("confirm", () => confirmHold(hold.holdId));
    if (done) {
      this.holds = this.holds.filter((one) => one.holdId !== hold.holdId);
      this.done = done.reservation as Stay;
    }
    await this.refreshOwn();
  }

  async release(): Promise<void> {
    const { hold } = this;
    if (hold && (await this.#during("release", () => releaseHold(hold.holdId)))) {
      this.holds = this.holds.filter((one) => one.holdId !== hold.holdId);
    }
    await this.refreshOwn();
  }

  async refreshOwn(): Promise<void> {
    if (!identity.known) return;
    const asked = ++this.#reads;
    this.#readAt = performance.now();
    try {
      const [holds, reservations] = await Promise.all([ownHolds(), ownReservations()]);
      // A later one was faster.
      if (asked < this.#shown) return;
      this.#shown = asked;
      const { hold: before, stays: had } = this;
      this.holds = holds.filter((one): one is NightHold => "roomTypeId" in one);
      this.stays = reservations.filter((one): one is Stay => "roomTypeId" in one);
      // Its key has done its work: the same nights later are another hold.
      if (this.holds.some((one) => stayOf(one.roomTypeId, one.checkIn, one.checkOut) === this.#key?.stay)) this.#key = null;
      // The shop confirmed it, or another tab.
      const stay = before && !this.hold && this.busy === null ? this.#became(before) : undefined;
      if (stay && !had.some((one) => one.reservationId === stay.reservationId)) this.done = stay;
    } catch {
      // Shown by the bar; they are read again when the server is back, and when somebody looks at the page.
    }
  }

  async #during<T>(what: NonNullable<Booking["busy"]>, run: () => Promise<Ended<T>>): Promise<T | null> {
    if (this.busy) return null;
    this.busy = what;
    this.refusal = null;
    let told: Ended<T>;
    try {
      told = await run();
    } finally {
      this.busy = null;
    }
    this.raw = told.raw;
    // What was read before it is older.
    if (told.ok) this.#shown = ++this.#reads;
    await this.#read().catch(() => undefined);
    if (told.ok) return told.data;
    this.refusal = told.refusal;
    return null;
  }

  /** The month, and the first days of the next one: a stay may end there. */
  async #read(signal?: AbortSignal): Promise<void> {
    const { kind, month } = this;
    if (!kind) return;
    const params = { path: { roomTypeId: kind.id }, query: { month } };
    const { data } = await open.api.GET("/api/v1/room-types/{roomTypeId}/calendar", { params, ...(signal ? { signal } : {}) });
    if (data && this.kind?.id === kind.id) this.#heard(data.nights);
  }

  #heard(nights: Night[]): void {
    this.nights = { ...this.nights, ...Object.fromEntries(nights.map((night) => [night.date, night])) };
  }

  #watch(): void {
    this.#live?.stop();
    const { kind, month } = this;
    if (!kind) return;
    const from = month === this.today.slice(0, 7) ? this.today : `${month}-01`;
    const to = `${addMonths(month, 1)}-01`;
    const on = (data: { nights: Night[] }) => this.#heard(data.nights);
    this.#live = new LiveStream({
      path: `/api/v1/room-types/${kind.id}/stream?from=${from}&to=${to}`,
      on: { snapshot: on, nights: on },
      poll: async (signal) => {
        await this.#read(signal);
        return 1_500;
      },
    });
  }

  #tick(): void {
    const now = serverClock.exact();
    if (shopConfirms && this.hold && !document.hidden && performance.now() - this.#readAt > CONFIRMED_MS) void this.refreshOwn();
    const over = this.holds.filter((one) => Date.parse(one.expiresAt) <= now);
    if (over.length === 0 || this.busy) return;
    this.holds = this.holds.filter((one) => !over.includes(one));
    void this.#ended(over);
  }

  /** The stay that a hold is by now. */
  #became(hold: NightHold): Stay | undefined {
    return this.stays.find((stay) => stay.roomTypeId === hold.roomTypeId && stay.checkIn === hold.checkIn && stay.checkOut === hold.checkOut);
  }

  /** Their time is over; but another tab may have confirmed or extended them before. */
  async #ended(over: NightHold[]): Promise<void> {
    await this.refreshOwn();
    const kept = (one: NightHold) => this.holds.some((hold) => hold.holdId === one.holdId) || this.#became(one);
    if (over.some((one) => one.roomTypeId === this.kind?.id && !kept(one))) this.refusal = { reason: "hold_expired" };
  }
}
