/** What there is: events and room types, read again every few seconds. */

import { operator, type Schema } from "./session.svelte";

const AGAIN_MS = 3_000;
const PAGE = 200;
/** Points of a sparkline: three minutes. */
const TRAIL = 60;

class Catalog {
  events = $state.raw<Schema["AdminEvent"][] | null>(null);
  rooms = $state.raw<Schema["RoomType"][] | null>(null);
  /** By event, how many seats were not free at each reading. */
  trails = $state.raw<ReadonlyMap<number, number[]>>(new Map());
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): () => void {
    const again = async () => {
      await this.refresh().catch(() => undefined);
      this.#timer = setTimeout(() => void again(), AGAIN_MS);
    };
    void again();
    return () => clearTimeout(this.#timer);
  }

  async refresh(): Promise<void> {
    const events: Schema["AdminEvent"][] = [];
    let after = "";
    do {
      const page = await operator.get<Schema["AdminEventsAnswer"]>(`/api/v1/admin/events?limit=${PAGE}${after}`);
      events.push(...page.events);
      after = page.next ? `&after=${page.next}` : "";
    } while (after && events.length < 2_000);
    // The newest first: it is the one that is being worked on.
    this.events = events.reverse();
    this.trails = new Map(events.map(({ id, seatCount, remainingSeats }) => [id, [...(this.trails.get(id) ?? []).slice(1 - TRAIL), seatCount - remainingSeats]]));
    this.rooms = (await operator.get<Schema["RoomTypesAnswer"]>(`/api/v1/admin/room-types?limit=${PAGE}`)).roomTypes;
  }

  /** Everything that has a history, to choose from; a value is the name of its kind and its id. */
  subjects(event: string, room: string): { value: string; text: string }[] {
    const choices = (kind: string, all: readonly { id: number; name: string }[] | null) => (all ?? []).map(({ id, name }) => ({ value: `${kind}=${id}`, text: name }));
    return [...choices(event, this.events), ...choices(room, this.rooms)];
  }

  event(id: number): Schema["AdminEvent"] | undefined {
    return this.events?.find((event) => event.id === id);
  }
}

/** Sold out is an open event whose every seat is sold; while some are on hold, they may come back. */
export const saleState = ({ state, soldOut }: Schema["AdminEvent"]): string => (state === "open" && soldOut ? "soldOut" : state);

export const catalog = new Catalog();
