/**
 * The viewer's place in the waiting room of an event. The server knows it by user; the ticket gives it back after
 * the server forgot. Asks as often as the server wants, enters by itself, and renews the entry while it lives.
 */

import { shop } from "../api/client";
import { serverClock } from "../api/clock.svelte";
import { identity } from "../api/identity.svelte";
import type { LineFigures, QueueStanding } from "../api/live";
import type { Refusal } from "../outcomes/facts";
import { recall, remember } from "../kit/remembered";

interface Entry {
  token: string;
  /** By the server's clock. */
  until: number;
}

/** These say how the viewer stands. With anything else the server has not said it: it is busy. */
const SAYS = ["not_queued", "no_waiting_room", "closed", "not_found", "forbidden", "unauthorized", "missing_user", "validation"];
const AGAIN_S = 2;

export class Line {
  standing = $state<QueueStanding | null>(null);
  entry = $state<Entry | null>(null);
  figures = $state<LineFigures | null>(null);
  /** Asked at least once. */
  known = $state(false);
  busy = $state(false);
  refusal = $state<Refusal | null>(null);
  /** The most that were ahead, for the bar. */
  #most = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  /** How often the viewer left: answers to what was asked before tell of a place that was given up. */
  #left = 0;
  #leaving = false;

  /** `gone`: the event has no waiting room any more. */
  constructor(
    readonly eventId: number,
    readonly gone: () => void,
  ) {}

  /** From 0 at joining to 1 at the door. */
  get progress(): number {
    const ahead = this.standing?.aheadCount ?? 0;
    return this.#most > 0 ? 1 - ahead / this.#most : 0;
  }

  /** Seconds until one's turn; 0: not known. */
  get wait(): number {
    return this.standing?.estimatedWait ?? 0;
  }

  get inside(): boolean {
    return this.entry !== null;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Looks whether the viewer is in the line already: in another tab, or before a reload. */
  async begin(): Promise<void> {
    if (!identity.known) {
      this.known = true;
      return;
    }
    await this.#ask();
  }

  async join(): Promise<void> {
    const left = this.#left;
    this.busy = true;
    this.refusal = null;
    try {
      const told = await shop.api.POST("/api/v1/events/{eventId}/queue", { params: { path: this.#path, ...this.#shown() } });
      if (left !== this.#left) return;
      if (told.data) this.heard(told.data as QueueStanding);
      else this.#refuse(told.error as Refusal);
    } catch {
      this.refusal = { reason: "unreachable" };
    } finally {
      this.busy = false;
    }
  }

  async leave(): Promise<void> {
    clearTimeout(this.#timer);
    this.#left += 1;
    this.busy = this.#leaving = true;
    remember(this.#name("ticket"), null);
    remember(this.#name("most"), null);
    this.standing = null;
    this.entry = null;
    this.#most = 0;
    await shop.api.DELETE("/api/v1/events/{eventId}/queue", { params: { path: this.#path } }).catch(() => undefined);
    this.busy = this.#leaving = false;
  }

  /** The entry was used up or has ended: the next answer says how it stands. */
  async lost(): Promise<void> {
    this.entry = null;
    await this.#ask();
  }

  /** An answer about the viewer's place, however it came. */
  heard(standing: QueueStanding): void {
    if (this.#leaving) return;
    this.known = true;
    this.standing = standing;
    if (standing.ticket) remember(this.#name("ticket"), standing.ticket);
    const ahead = standing.aheadCount ?? 0;
    const before = Number(recall(this.#name("most")) ?? 0);
    this.#most = Math.max(this.#most, before, ahead);
    if (standing.status === "waiting") remember(this.#name("most"), String(this.#most));
    if (standing.status === "entered" && this.entry) {
      this.entry.until = serverClock.exact() + (standing.expiresIn ?? 0) * 1_000;
    }
    if (standing.status === "waiting" || standing.status === "sold_out") this.entry = null;
    this.#later(standing.pollAfter * 1_000);
    if (standing.status === "ready" || (standing.status === "entered" && !this.entry)) void this.#enter();
  }

  get #path() {
    return { eventId: this.eventId };
  }

  #name(what: string): string {
    return `${what}.${this.eventId}.${identity.name ?? ""}`;
  }

  #shown() {
    const ticket = recall(this.#name("ticket"));
    return ticket ? { header: { "X-Queue-Ticket": ticket } } : {};
  }

  #later(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#ask(), ms);
  }

  async #ask(): Promise<void> {
    const left = this.#left;
    try {
      const told = await shop.api.GET("/api/v1/events/{eventId}/queue", { params: { path: this.#path, ...this.#shown() } });
      if (left !== this.#left) return;
      if (told.data) {
        this.heard(told.data as QueueStanding);
        return;
      }
      const refusal = told.error as Refusal | undefined;
      const reason = refusal?.reason ?? "";
      if (!SAYS.includes(reason)) return this.#later((refusal?.retryAfter ?? AGAIN_S) * 1_000);
      this.entry = null;
      // The line forgot somebody who carries a ticket: joining with it gives the place back. Who left in another tab has none.
      if (reason === "not_queued" && this.standing && this.standing.status !== "entered" && recall(this.#name("ticket"))) {
        await this.join();
        if (this.refusal) this.#later((this.refusal.retryAfter ?? AGAIN_S) * 1_000);
      } else {
        this.standing = null;
        remember(this.#name("most"), null);
        if (reason === "no_waiting_room") this.gone();
        if (reason === "forbidden") remember(this.#name("ticket"), null);
      }
      this.known = true;
    } catch {
      if (left === this.#left) this.#later(AGAIN_S * 1_000);
    }
  }

  #refuse(refusal: Refusal): void {
    if (refusal.reason === "no_waiting_room") this.gone();
    else this.refusal = refusal;
  }

  async #enter(): Promise<void> {
    const left = this.#left;
    try {
      const told = await shop.api.POST("/api/v1/events/{eventId}/queue/enter", { params: { path: this.#path, ...this.#shown() } });
      if (left !== this.#left) return;
      if (told.data) {
        this.entry = { token: told.data.token, until: serverClock.exact() + told.data.expiresIn * 1_000 };
        if (this.standing) this.standing.status = "entered";
        remember(this.#name("most"), null);
        this.#later(Math.min(20, told.data.expiresIn / 3) * 1_000);
      } else if ((told.error as Refusal).reason !== "not_ready") this.#refuse(told.error as Refusal);
    } catch {
      this.#later(2_000);
    }
  }
}
