/**
 * A live stream that comes back by itself: over Server-Sent Events where the server has them, else by polling.
 * Reconnects are ours, not the browser's: a stream that shows one's own messages needs a new ticket each time.
 */

import { connection } from "./connection.svelte";
import { serverClock } from "./clock.svelte";

export interface StreamSource {
  path: string;
  /** Messages by name. `first`: it is the first numbered one of a connection, so something may have been missed. */
  on: Record<string, (data: never, id: string, first: boolean) => void>;
  /** A ticket for one's own messages; null: none. */
  ticket?: () => Promise<string | null>;
  /** Asked instead, while there is no stream. Gives the milliseconds until the next time. */
  poll: (signal: AbortSignal) => Promise<number>;
}

/** A browser opens six connections to a server: a tab that nobody sees gives its own back, and polls. */
const HIDDEN_MS = 20_000;
const HIDDEN_POLL_MS = 5_000;
const AGAIN_LEAST_MS = 1_000;
const AGAIN_MOST_MS = 30_000;

export class LiveStream {
  #source: StreamSource;
  #events: EventSource | null = null;
  #lastId: string | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;
  #hide: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #polling: AbortController | null = null;
  #stopped = new AbortController();

  constructor(source: StreamSource) {
    this.#source = source;
    const { signal } = this.#stopped;
    document.addEventListener("visibilitychange", () => this.#seen(), { signal });
    addEventListener("online", () => this.reopen(), { signal });
    void this.#open();
    this.#poll();
  }

  stop(): void {
    this.#stopped.abort();
    this.#close();
    this.#polling?.abort();
    clearTimeout(this.#hide);
  }

  /** Begins anew, with a new ticket: the viewer is somebody else now, or has joined a line. */
  reopen(): void {
    if (this.#stopped.signal.aborted) return;
    this.#close();
    void this.#open();
  }

  #seen(): void {
    clearTimeout(this.#hide);
    if (document.hidden) {
      this.#hide = setTimeout(() => {
        this.#close();
        this.#poll();
      }, HIDDEN_MS);
    } else if (!this.#events) this.reopen();
  }

  #close(): void {
    clearTimeout(this.#again);
    this.#events?.close();
    this.#events = null;
  }

  async #open(): Promise<void> {
    const ticket = (await this.#source.ticket?.().catch(() => null)) ?? null;
    if (this.#stopped.signal.aborted || this.#events) return;
    const query = new URLSearchParams();
    if (ticket) query.set("ticket", ticket);
    if (this.#lastId) query.set("lastEventId", this.#lastId);
    const text = query.toString();
    const sent = Date.now();
    const { path } = this.#source;
    let first = true;
    const events = new EventSource(text ? `${path}${path.includes("?") ? "&" : "?"}${text}` : path);
    this.#events = events;
    events.onopen = () => {
      this.#failures = 0;
      connection.answered();
      this.#polling?.abort();
      this.#polling = null;
    };
    events.onerror = () => {
      if (this.#events !== events) return;
      this.#close();
      this.#poll();
      const pause = Math.min(AGAIN_MOST_MS, AGAIN_LEAST_MS * 2 ** this.#failures) * (1 + Math.random() / 4);
      this.#failures += 1;
      this.#again = setTimeout(() => void this.#open(), pause);
    };
    for (const [name, handle] of Object.entries(this.#source.on)) {
      events.addEventListener(name, (message: MessageEvent<string>) => {
        if (this.#events !== events) return;
        const data = JSON.parse(message.data) as { time?: string };
        // A later one was not asked for, so it says nothing about the way there and back.
        if (first && data.time) serverClock.heard(Date.parse(data.time), sent, Date.now(), 1);
        handle(data as never, message.lastEventId, first);
        if (!message.lastEventId) return;
        this.#lastId = message.lastEventId;
        first = false;
      });
    }
  }

  #poll(): void {
    if (this.#polling || this.#stopped.signal.aborted) return;
    const polling = new AbortController();
    this.#polling = polling;
    const { signal } = polling;
    const run = async () => {
      while (!signal.aborted) {
        const pause = await this.#source.poll(signal).catch(() => 2_000);
        await new Promise((done) => setTimeout(done, document.hidden ? Math.max(pause, HIDDEN_POLL_MS) : pause));
      }
    };
    void run();
  }
}
