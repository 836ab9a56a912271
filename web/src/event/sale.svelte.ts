/** One event, as one viewer sees it: the only state of the page. It follows the server; the step follows from it. */

import { newKey } from "@sdk/key";

import { open, type components } from "../api/client";
import { serverClock } from "../api/clock.svelte";
import { identity } from "../api/identity.svelte";
import { watchEvent } from "../api/live";
import type { LiveStream } from "../api/stream";
import { SeatBoard, FREE } from "../map/board.svelte";
import { plan, type Layout, type Plan } from "../map/geometry";
import { toasts } from "../kit/toasts.svelte";
import type { Refusal } from "../outcomes/facts";
import { tell } from "../outcomes/tell";
import { BuyerForm } from "./buyer.svelte";
import { Line } from "./line.svelte";
import { OwnSeats, type Had } from "./own.svelte";
import { AnySeat, confirmHold, createHold, extendHold, releaseHold, type Buyer, type Ended, type SeatHold, type SeatReservation } from "./purchase";

export type Step = "loading" | "missing" | "before" | "paused" | "closed" | "waiting" | "choose" | "hold" | "yours" | "soldOut";

type Event = components["schemas"]["Event"];

export class Sale {
  event = $state<Event | null>(null);
  layout = $state<Layout | null>(null);
  board = $state<SeatBoard | null>(null);
  missing = $state(false);
  /** What an event that draws the order of its waiting room has beside the others. */
  draw = $state.raw<typeof import("./draw") | null>(null);
  chosen = $state<ReadonlySet<number>>(new Set());
  /** Below the limit one may want another. */
  wantsMore = $state(false);
  busy = $state<"any" | "hold" | "confirm" | "release" | "extend" | null>(null);
  refusal = $state<Refusal | null>(null);
  /** The last answer to something that the viewer did. */
  raw = $state<unknown>(null);
  readonly line: Line;
  readonly own: OwnSeats;
  /** One for every step: what is typed beside the map is there when the hold is confirmed. */
  readonly form = new BuyerForm(this);
  #stream: LiveStream | null = null;
  #asks: ReturnType<typeof setTimeout> | undefined;
  #holdKey: { seats: string; key: string } | null = null;
  #timer: ReturnType<typeof setInterval>;
  /** Between two looks at an event that is not open yet. Not every page looks in the same moment. */
  readonly #pause = 20_000 + Math.random() * 10_000;
  /** After an opening that no stream has told of. */
  readonly #patience = 1_000 + Math.random() * 2_000;
  #looked = performance.now();
  #looking = false;
  /** A request of before the reload waits to be sent again. */
  #resumes = false;

  readonly plan: Plan | null = $derived(this.layout ? plan(this.layout) : null);
  readonly most: number = $derived.by(() => Math.min(10, Math.max(0, (this.event?.maxPerUser ?? 1) - this.own.bought.length)));
  readonly soldOut: boolean = $derived(!!this.board?.known && this.board.free === 0 && this.board.held === 0);
  readonly step: Step = $derived.by(() => this.#step());

  constructor(readonly id: number) {
    this.line = new Line(id, () => this.#room(false));
    const deciding = () => this.busy === "hold" || this.busy === "release";
    this.own = new OwnSeats(id, deciding, (had) => this.#owns(had));
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
    if (!event || !this.board?.known || !this.own.known) return "loading";
    if (this.own.hold) return "hold";
    if (this.own.bought.length > 0 && !(this.wantsMore && this.most > 0)) return "yours";
    if (event.state === "closed") return "closed";
    if (event.state === "paused") return "paused";
    const inLine = event.waitingRoom && this.line.standing !== null;
    if (event.state === "scheduled") return inLine && this.line.standing?.status !== "gathering" ? "waiting" : "before";
    if (event.waitingRoom && !this.line.known) return "loading";
    if (this.soldOut && (!inLine || this.line.inside)) return "soldOut";
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
          this.missing = [event, layout].some(({ response }) => response.status === 404 || response.status === 400);
          if (this.missing) return;
          throw new Error("busy");
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
    await this.own.read();
    this.#resumes = true;
  }

  #listeners() {
    return {
      state: (state: Event["state"] | "deleted", opensAt: string | null) => {
        if (state === "deleted") this.missing = true;
        else if (this.event) {
          this.event.state = state;
          this.event.opensAt = opensAt;
          this.#over("not_open");
        }
      },
      line: (figures: NonNullable<Line["figures"]>) => (this.line.figures = figures),
      place: (place: Parameters<Line["heard"]>[0]) => this.line.heard(place),
      mine: () => void this.own.read(),
    };
  }

  /** The viewer is back, from another tab or a pocket. */
  seen(): void {
    if (this.event?.state === "scheduled") void this.look();
    void this.own.read();
  }

  /** What is said beside the step, unless the step says it itself. */
  get told(): Refusal | null {
    const reason = this.refusal?.reason;
    const said = (reason === "sold_out" && this.step === "soldOut") || (reason === "entry_required" && this.line.standing);
    return said ? null : this.refusal;
  }

  #refuse(reason: string): void {
    this.raw = null;
    this.refusal = { reason };
  }

  /** These refusals are not true any more. */
  #over(...reasons: string[]): void {
    if (this.refusal && reasons.includes(this.refusal.reason)) this.refusal = null;
  }

  /** The viewer has something else than before. */
  #owns(had: Had): void {
    const { hold, bought } = this.own;
    const more = bought.some((one) => !had.bought.some((before) => before.reservationId === one.reservationId));
    // Its key has done its work: the same seats later are another hold.
    if (hold) this.#holdKey = null;
    if (more || hold?.expiresAt !== had.hold?.expiresAt) this.#over("unreachable");
    if (this.busy !== null) return;
    // It went through after all.
    if (more) this.#any.forget();
    if (had.hold && !hold) this.#ended(had.hold);
  }

  /** A hold is gone: was it its time? The stream may tell before our own clock does. */
  #ended(hold: SeatHold): void {
    const got = this.own.bought.some((one) => hold.seatIds.includes(one.seat.id));
    if (!got && Date.parse(hold.expiresAt) <= serverClock.exact() + 1_500) this.#refuse("hold_expired");
  }

  pick(seat: number): "ok" | "full" | "taken" {
    if (!this.board || this.own.seats.has(seat)) return "taken";
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
    this.#resumes = false;
    const done = await this.#during("any", () => this.#any.take(buyer, this.line.entry?.token));
    if (!done) return;
    this.chosen = new Set();
    this.wantsMore = false;
    await this.own.read();
  }

  async holdChosen(): Promise<void> {
    const seats = [...this.chosen].sort((a, b) => a - b);
    if (this.#holdKey?.seats !== seats.join()) this.#holdKey = { seats: seats.join(), key: newKey() };
    const { key } = this.#holdKey;
    const done = await this.#during("hold", () => createHold<SeatHold>({ eventId: this.id, seatIds: seats }, key, this.line.entry?.token));
    // Meanwhile others may have taken some.
    this.chosen = new Set(done ? [] : seats.filter((seat) => this.board?.at(seat) === FREE));
    if (!done) return;
    this.#holdKey = null;
    this.form.errors = {};
    this.own.turned(done.hold);
  }

  async confirm(buyer: Buyer): Promise<void> {
    const { hold } = this.own;
    if (!hold) return;
    const done = await this.#during("confirm", () => confirmHold(hold.holdId, buyer));
    if (!done) return;
    this.wantsMore = false;
    const made = (done.reservations ?? [done.reservation]) as SeatReservation[];
    this.own.turned(null, made);
    await this.own.read();
  }

  async release(): Promise<void> {
    const { hold } = this.own;
    if (!hold) return;
    if (await this.#during("release", () => releaseHold(hold.holdId))) this.own.turned(null);
    await this.own.read();
  }

  async extend(): Promise<boolean> {
    const { hold } = this.own;
    if (!hold) return false;
    const done = await this.#during("extend", () => extendHold(hold.holdId));
    if (done) this.own.turned(done.hold);
    return !!done;
  }

  get #any(): AnySeat {
    return new AnySeat(this.id, identity.name ?? "");
  }

  /** Once the line has said how the viewer stands: who is inside sends the entry; who is not used it up, maybe by this very request. */
  #resume(): void {
    const { line } = this;
    if (this.event?.waitingRoom && !line.inside && (!line.known || line.standing)) return;
    const { pending } = this.#any;
    this.#resumes = false;
    if (pending) void this.takeAny(pending.buyer);
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
    if (what !== "release") void this.own.read();
    return null;
  }

  /** Seats changed: chosen ones that somebody else took are not chosen any more, and the viewer is told which. */
  #turned(seats: readonly number[] | null): void {
    const { board } = this;
    if (!board) return;
    // One's own seat turned: in another tab, or by the shop.
    if (this.busy === null && seats?.some((seat) => this.own.seats.has(seat))) void this.own.read();
    const kept = [...this.chosen].filter((seat) => board.at(seat) === FREE);
    if (kept.length < this.chosen.size && this.busy !== "hold") {
      const seatIds = [...this.chosen].filter((seat) => !kept.includes(seat) && !this.own.seats.has(seat));
      if (seatIds.length > 0) toasts.say(tell({ reason: "not_available", seatIds }, (seat) => this.plan?.name(seat) ?? String(seat)).what);
      this.chosen = new Set(kept);
    }
    if (board.free > 0) this.#over("sold_out", "held_out");
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
    const { hold } = this.own;
    if (hold && Date.parse(hold.expiresAt) <= now && this.busy === null) {
      this.own.turned(null);
      this.#refuse("hold_expired");
      void this.own.read();
    }
    if (this.#resumes) this.#resume();
    const { entry } = this.line;
    if (entry && entry.until < now) void this.#entryEnds();
    const waits = this.event?.state === "scheduled";
    const late = waits && this.event?.opensAt ? now - Date.parse(this.event.opensAt) : 0;
    const announced = !this.draw && this.line.standing?.status === "gathering";
    // Of what the operator changes before the opening, the stream tells only when that is.
    const pause = late > this.#patience ? this.#patience : announced ? 2_000 : waits && !document.hidden ? this.#pause : Infinity;
    if (performance.now() - this.#looked >= pause) void this.look();
  }

  /** Its time is over; the line may know better. Only who chooses needs it. */
  async #entryEnds(): Promise<void> {
    const chooses = this.step === "choose";
    await this.line.lost();
    if (chooses && !this.line.standing) this.#refuse("entry_required");
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
    if (this.event && this.event.state !== event.state) this.#over("not_open");
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
