/** One event, live: its seats, and how they and its line went over time. */

import { watchEvent } from "../api/live";
import type { LiveStream } from "../api/stream";
import { SeatBoard } from "../map/board.svelte";
import type { Layout } from "../map/geometry";
import { metrics } from "./metrics.svelte";
import { isAway, operator, type Schema } from "./session.svelte";

export interface TracePoint {
  at: number;
  sold: number;
  held: number;
  waiting: number;
  inside: number;
}

const KEEP = 3_600;
const AGAIN_MS = 1_000;

export class WatchedEvent {
  layout = $state.raw<Layout | null>(null);
  board = $state.raw<SeatBoard | null>(null);
  trace = $state.raw<TracePoint[]>([]);
  #stream: LiveStream | null = null;
  #stopped = false;
  #ticking: ReturnType<typeof setInterval> | undefined;

  constructor(
    readonly id: number,
    changed: () => void,
  ) {
    void this.#begin(changed);
  }

  get waiting(): number {
    return metrics.newest?.waiting.get(this.id) ?? 0;
  }

  get inside(): number {
    return metrics.newest?.inside.get(this.id) ?? 0;
  }

  async #begin(changed: () => void): Promise<void> {
    const layout = await this.#read();
    if (!layout || this.#stopped) return;
    const board = new SeatBoard(layout.seatCount);
    this.layout = layout;
    this.board = board;
    this.#stream = watchEvent(this.id, board, { state: changed });
    this.#ticking = setInterval(() => {
      if (!board.known) return;
      const point = { at: Date.now() / 1_000, sold: board.sold, held: board.held, waiting: this.waiting, inside: this.inside };
      this.trace = [...this.trace.slice(-(KEEP - 1)), point];
    }, 1_000);
  }

  /** A server in the middle of a rush may be too busy for it, or dark. */
  async #read(): Promise<Layout | null> {
    while (!this.#stopped) {
      try {
        return (await operator.get<Schema["LayoutAnswer"]>(`/api/v1/events/${this.id}/layout`)).layout;
      } catch (error) {
        if (!isAway(error)) return null;
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    return null;
  }

  stop(): void {
    this.#stopped = true;
    this.#stream?.stop();
    clearInterval(this.#ticking);
  }
}
