/** Events on sale, read again every two seconds. */

import { open, type components } from "../api/client";

export type ListedEvent = components["schemas"]["Event"];

export class EventList {
  events = $state<ListedEvent[] | null>(null);
  more = $state(false);
  #pages = 1;

  constructor() {
    void this.#run();
  }

  async showMore(): Promise<void> {
    this.#pages += 1;
    await this.#read();
  }

  async #run(): Promise<void> {
    for (;;) {
      if (!document.hidden || this.events === null) await this.#read().catch(() => undefined);
      await new Promise((done) => setTimeout(done, this.events === null ? 1_000 : 2_000));
    }
  }

  async #read(): Promise<void> {
    const all: ListedEvent[] = [];
    let after: string | undefined;
    for (let page = 0; page < this.#pages; page += 1) {
      const query = after ? { limit: 50, after } : { limit: 50 };
      const { data } = await open.api.GET("/api/v1/events", { params: { query } });
      if (!data) return;
      all.push(...data.events);
      after = data.next ?? undefined;
      if (!after) break;
    }
    this.more = after !== undefined;
    this.events = all;
  }
}
