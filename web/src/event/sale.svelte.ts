/** One event, as one viewer sees it: the only state of the page. It follows the server; the step follows from it. */

import { newKey } from "@sdk/key";

import { open, type components } from "../api/client";
import { serverClock } from "../api/clock.svelte";
import { connection } from "../api/connection.svelte";
import { identity } from "../api/identity.svelte";
import { watchEvent } from "../api/live";
import type { LiveStream } from "../api/stream";
import { SeatBoard, FREE } from "../map/board.svelte";
import { plan, type Layout, type Plan } from "../map/geometry";
import { toasts } from "../kit/toasts.svelte";
import type { Refusal } from "../outcomes/facts";
import { tell } from "../outcomes/tell";
import { Line } from "./line.svelte";
import { AnySeat, confirmHold, createHold, extendHold, ownHolds, ownReservations, releaseHold } from "./purchase";
import type { Buyer, Ended, SeatHold, SeatReservation } from "./purchase";

export type Step = "loading" | "missing" | "before" | "paused" | "closed" | "waiting" | "choose" | "hold" | "yours" | "soldOut";

type Event = components["schemas"]["Event"];

export class Sale {
  event = $state<Event | null>(null);
  layout = $state<Layout | null>(null);
  board = $state<SeatBoard | null>(null);
  missing = $state(false);
  /** What an event that draws the order of its waiting room has beside the others. */
  draw = $state.raw<typeof import("./draw") | null>(null);
  hold = $state<SeatHold | null>(null);
  bought = $state<SeatReservation[]>([]);
  /** Holds and reservations were read. */
  ownKnown = $state(false);
  chosen = $state<ReadonlySet<number>>(new Set());
  /** Below the limit one may want another. */
  wantsMore = $state(false);
  busy = $state<"any" | "hold" | "confirm" | "release" | "extend" | null>(null);
  refusal = $state<Refusal | null>(null);
  /** The last answer to something that the viewer did. */
  raw = $state<unknown>(null);
  readonly line: Line;
  #stream: LiveStream | null = null;
  #asks: ReturnType<typeof setTimeout> | undefined;
  #holdKey: { seats: string; key: string } | null = null;
  #timer: ReturnType<typeof setInterval>;
  /** Between two looks at an event that is not open yet. Not every page looks in the same moment. */
  readonly #pause = 20_000 + Math.random() * 10_000;
  #looked = performance.now();
  #looking = false;

  readonly plan: Plan | null = $derived(this.layout ? plan(this.layout) : null);
  readonly mine: ReadonlySet<number> = $derived(
    new Set([...this.bought.map((one) => one.seat.id), ...(this.hold?.seatIds ?? [])]),
  );
  readonly most: number = $derived(Math.min(10, Math.max(0, (this.event?.maxPerUser ?? 1) - this.bought.length)));
  readonly soldOut: boolean = $derived(!!this.board?.known && this.board.free === 0 && this.board.held === 0);
  readonly step: Step = $derived.by(() => this.#step());

  constructor(readonly id: number) {
    this.line = new Line(id, () => this.#room(false));
    void this.#begin();
    this.#timer = setInterval(() => this.#tick(), 250);
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#asks);
    this.#stream?.stop();
    this.line.stop();
  }

  #step(): Step {
    if (this.missing) return "missing";
    const { event } = this;
    if (!event || !this.board?.known || !this.ownKnown) return "loading";
    if (this.hold) return "hold";
    if (this.bought.length > 0 && !(this.wantsMore && this.most > 0)) return "yours";
    if (event.state === "closed") return "closed";
    if (event.state === "paused") return "paused";
    const inLine = event.waitingRoom && this.line.standing !== null;
    if (event.state === "scheduled") return inLine && this.line.standing?.status !== "gathering" ? "waiting" : "before";
    if (event.waitingRoom && !this.line.known) return "loading";
    if (this.soldOut && !inLine) return "soldOut";
    return event.waitingRoom && !this.line.inside ? "waiting" : "choose";
  }

  async #begin(): Promise<void> {
    const params = { path: { eventId: this.id } };
    for (;;) {
      try {
        const [event, layout] = await Promise.all([
          open.api.GET("/api/v1/events/{eventId}", { params }),
          open.api.GET("/api/v1/events/{eventId}/layout", { params }),
        ]);
        if (!event.data || !layout.data) {
          this.missing = true;
          return;
        }
        await this.#show(event.data.event);
        this.layout = layout.data.layout;
        break;
      } catch {
        await new Promise((done) => setTimeout(done, 1_000));
      }
    }
    const board = new SeatBoard(this.layout.seatCount);
    board.listen((seats) => this.#turned(seats));
    this.board = board;
    this.#stream = watchEvent(this.id, board, this.#listeners(), true);
    await this.refreshOwn();
    await this.#resume();
  }

  #listeners() {
    return {
      state: (state: Event["state"] | "deleted", opensAt: string | null) => {
        if (state === "deleted") this.missing = true;
        else if (this.event) {
          this.event.state = state;
          this.event.opensAt = opensAt;
        }
      },
      line: (figures: NonNullable<Line["figures"]>) => (this.line.figures = figures),
      place: (place: Parameters<Line["heard"]>[0]) => this.line.heard(place),
      mine: () => void this.refreshOwn(),
    };
  }

  /** The viewer is back, from another tab or a pocket. */
  seen(): void {
    if (this.event?.state === "scheduled") void this.look();
    void this.refreshOwn();
  }

  /** Holds and reservations of the viewer here. */
  async refreshOwn(): Promise<void> {
    if (!identity.known) {
      this.hold = null;
      this.bought = [];
      this.ownKnown = true;
      return;
    }
    try {
      const [holds, reservations] = await Promise.all([ownHolds(), ownReservations()]);
      const hold = holds.find((one): one is SeatHold => "eventId" in one && one.eventId === this.id);
      const before = this.hold;
      if (this.busy !== "hold" && this.busy !== "release") this.hold = hold ?? null;
      this.bought = reservations.filter((one): one is SeatReservation => "eventId" in one && one.eventId === this.id);
      if (before && !this.hold && this.busy === null) this.#ended(before);
      this.ownKnown = true;
    } catch {
      // A token that is refused is asked for; until then the viewer is nobody.
      if (identity.mode === "jwt" && !connection.away) this.ownKnown = true;
      else setTimeout(() => void this.refreshOwn(), 1_500);
    }
  }

  /** A hold is gone: was it its time? The stream may tell before our own clock does. */
  #ended(hold: SeatHold): void {
    const got = this.bought.some((one) => hold.seatIds.includes(one.seat.id));
    if (!got && Date.parse(hold.expiresAt) <= serverClock.exact() + 1_500) this.refusal = { reason: "hold_expired" };
  }

  pick(seat: number): "ok" | "full" | "taken" {
    if (!this.board || this.mine.has(seat)) return "taken";
    const next = new Set(this.chosen);
    if (next.delete(seat)) {
      this.chosen = next;
      return "ok";
    }
    if (this.board.at(seat) !== FREE) return "taken";
    if (next.size >= this.most && this.most > 1) return "full";
    if (this.most === 1) next.clear();
    next.add(seat);
    this.chosen = next;
    this.refusal = null;
    return "ok";
  }

  async takeAny(buyer: Buyer): Promise<void> {
    const done = await this.#during("any", () => this.#any.take(buyer, this.line.entry?.token));
    if (!done) return;
    this.chosen = new Set();
    this.wantsMore = false;
    await this.refreshOwn();
  }

  async holdChosen(): Promise<void> {
    const seats = [...this.chosen].sort((a, b) => a - b);
    if (this.#holdKey?.seats !== seats.join()) this.#holdKey = { seats: seats.join(), key: newKey() };
    const { key } = this.#holdKey;
    const done = await this.#during("hold", () => createHold<SeatHold>({ eventId: this.id, seatIds: seats }, key, this.line.entry?.token));
    if (!done) return;
    this.#holdKey = null;
    this.chosen = new Set();
    this.hold = done.hold;
  }

  async confirm(buyer: Buyer): Promise<void> {
    const { hold } = this;
    if (!hold) return;
    const done = await this.#during("confirm", () => confirmHold(hold.holdId, buyer));
    if (!done) return;
    this.wantsMore = false;
    const made = (done.reservations ?? [done.reservation]) as SeatReservation[];
    this.bought = [...this.bought, ...made];
    this.hold = null;
    await this.refreshOwn();
  }

  async release(): Promise<void> {
    const { hold } = this;
    if (!hold) return;
    if (await this.#during("release", () => releaseHold(hold.holdId))) this.hold = null;
    await this.refreshOwn();
  }

  async extend(): Promise<boolean> {
    const { hold } = this;
    if (!hold) return false;
    const done = await this.#during("extend", () => extendHold(hold.holdId));
    if (done) this.hold = done.hold;
    return !!done;
  }

  get #any(): AnySeat {
    return new AnySeat(this.id, identity.name ?? "");
  }

  async #resume(): Promise<void> {
    const pending = this.#any.pending;
    if (pending) await this.takeAny(pending.buyer);
  }

  async #during<T>(what: NonNullable<Sale["busy"]>, run: () => Promise<Ended<T>>): Promise<T | null> {
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
    if (told.ok) return told.data;
    this.refusal = told.refusal;
    // There may be a waiting room since the page was opened.
    if (told.refusal.reason === "entry_required") {
      this.#room(true);
      void this.line.lost();
    }
    if (what !== "release") void this.refreshOwn();
    return null;
  }

  /** Seats changed: chosen ones that somebody else took are not chosen any more, and the viewer is told which. */
  #turned(seats: readonly number[] | null): void {
    const { board } = this;
    if (!board) return;
    // One's own seat turned: in another tab, or by the shop.
    if (this.busy === null && seats?.some((seat) => this.mine.has(seat))) void this.refreshOwn();
    const kept = [...this.chosen].filter((seat) => board.at(seat) === FREE);
    if (kept.length < this.chosen.size && this.busy !== "hold") {
      const seatIds = [...this.chosen].filter((seat) => !kept.includes(seat) && !this.mine.has(seat));
      if (seatIds.length > 0) toasts.say(tell({ reason: "not_available", seatIds }, (seat) => this.plan?.name(seat) ?? String(seat)).what);
      this.chosen = new Set(kept);
    }
    if (this.event && !this.soldOut) delete this.event.soldOut;
    else if (this.event && !this.event.soldOut) this.#askHowLong();
  }

  /** The last seat is gone, and the server knows how long it took. Not every page asks in the same moment. */
  #askHowLong(): void {
    clearTimeout(this.#asks);
    this.#asks = setTimeout(async () => {
      const event = await this.read();
      if (this.event && event?.soldOut) this.event.soldOut = event.soldOut;
    }, 1_100 + Math.random() * 1_500);
  }

  /** What time alone changes: a hold ends, an entry ends, the sale opens. */
  #tick(): void {
    const now = serverClock.exact();
    if (this.hold && Date.parse(this.hold.expiresAt) <= now && this.busy === null) {
      this.hold = null;
      this.refusal = { reason: "hold_expired" };
      void this.refreshOwn();
    }
    const { entry } = this.line;
    if (entry && entry.until < now) void this.line.lost();
    const waits = this.event?.state === "scheduled";
    const opens = waits && this.event?.opensAt && Date.parse(this.event.opensAt) <= now;
    const announced = !this.draw && this.line.standing?.status === "gathering";
    // Of what the operator changes before the opening, the stream tells only when that is.
    const pause = opens ? 0 : announced ? 2_000 : waits && !document.hidden ? this.#pause : Infinity;
    if (performance.now() - this.#looked >= pause) void this.look();
  }

  /** As the server has it now; none: it did not answer. */
  async read(): Promise<Event | undefined> {
    const params = { path: { eventId: this.id } };
    const told = await open.api.GET("/api/v1/events/{eventId}", { params }).catch(() => null);
    return told?.data?.event;
  }

  /** `before`: its state when it was asked for. What the stream told since then is newer. */
  async #show(event: Event, before = this.event?.state): Promise<void> {
    const draw = event.waitingRoom && event.drawCommitment ? await import("./draw") : null;
    if (this.event?.state !== before) return;
    const begins = event.waitingRoom && !this.event?.waitingRoom;
    this.draw = draw;
    this.event = event;
    if (begins) void this.line.begin();
  }

  /** The waiting room came or went: an answer of the server said so. */
  #room(there: boolean): void {
    if (this.event) this.event.waitingRoom = there;
    if (!there) this.draw = null;
  }

  /** Whatever changed since it was last read: it is open by now, has a draw, or shows its seed. */
  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    this.#looked = performance.now();
    const state = this.event?.state;
    const event = await this.read();
    if (event) await this.#show(event, state).catch(() => undefined);
    setTimeout(() => (this.#looking = false), 250);
  }
}
