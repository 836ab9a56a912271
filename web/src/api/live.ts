/** What happens to an event, as it happens: its seats, what is left, the line, its state, and what is one's own. */

import { FREE, HELD, SOLD, type SeatBoard, type SeatState } from "../map/board.svelte";
import { open, type components } from "./client";
import { identity } from "./identity.svelte";
import { LiveStream } from "./stream";

export type EventState = components["schemas"]["Event"]["state"];
export type QueueStanding = components["schemas"]["QueueStanding"];

/** The line, as everybody sees it. */
export interface LineFigures {
  serving: number;
  waiting: number;
  inside?: number;
  admittedPerMinute: number;
  soldOut: boolean;
}

export interface EventListeners {
  state?: (state: EventState | "deleted", opensAt: string | null) => void;
  line?: (line: LineFigures) => void;
  /** One's own place in the line. */
  place?: (place: QueueStanding) => void;
  /** Something of one's own changed: read holds and reservations anew. */
  mine?: () => void;
}

interface Snapshot {
  state: EventState;
  opensAt: string | null;
  states: string;
  remaining: number;
  held: number;
  sold: number;
}

const STATE: Record<string, SeatState> = { free: FREE, held: HELD, sold: SOLD };
/** How often seats are polled where there is no stream, by how many there are. */
const pollMs = (seatCount: number) => (seatCount > 20_000 ? 5_000 : seatCount > 5_000 ? 2_000 : 800);

/** Feeds `board` and tells the listeners, until it is stopped. */
export function watchEvent(eventId: number, board: SeatBoard, listeners: EventListeners, personal = false): LiveStream {
  const params = { path: { eventId } };
  let etag: string | null = null;
  let known = "";
  let polls = 0;

  const state = (now: EventState | "deleted", opensAt: string | null) => {
    if (known === now + opensAt) return;
    known = now + opensAt;
    listeners.state?.(now, opensAt);
  };

  const poll = async (signal: AbortSignal): Promise<number> => {
    polls += 1;
    const headers: Record<string, string> = etag ? { "If-None-Match": etag } : {};
    const { data, response } = await open.api.GET("/api/v1/events/{eventId}/seats", { params, headers, signal });
    etag = response.headers.get("etag") ?? etag;
    if (data) board.readAll(data.seats.map((seat) => STATE[seat.state] ?? FREE));
    if (polls % 2 === 1) {
      const event = await open.api.GET("/api/v1/events/{eventId}", { params, signal });
      if (event.data) state(event.data.event.state, event.data.event.opensAt);
      else if (event.response.status === 404) state("deleted", null);
    }
    return pollMs(board.seatCount);
  };

  return new LiveStream({
    path: `/api/v1/events/${eventId}/stream`,
    poll,
    ...(personal ? { ticket: () => streamTicket(eventId) } : {}),
    on: {
      snapshot: (data: Snapshot, _id: string, first: boolean) => {
        board.readRuns(data.states);
        board.counted(data.remaining, data.held, data.sold);
        state(data.state, data.opensAt);
        // What was missed meanwhile may be one's own. A later one only stands for many changes.
        if (first) listeners.mine?.();
      },
      seats: (data: { sold?: number[]; held?: number[]; free?: number[] }) => {
        board.turn(data.free ?? [], FREE);
        board.turn(data.held ?? [], HELD);
        board.turn(data.sold ?? [], SOLD);
      },
      remaining: (data: { remaining: number; held: number; sold: number }) =>
        board.counted(data.remaining, data.held, data.sold),
      queue: (data: LineFigures) => listeners.line?.(data),
      state: (data: { state: EventState | "deleted"; opensAt: string | null }) => state(data.state, data.opensAt),
      place: (data: QueueStanding) => listeners.place?.(data),
      hold: () => listeners.mine?.(),
      reservation: () => listeners.mine?.(),
    },
  });
}

/** `EventSource` sends no headers: a short-lived ticket says whose messages to add. */
async function streamTicket(eventId: number): Promise<string | null> {
  if (!identity.known) return null;
  const request = new Request(`/api/v1/events/${eventId}/stream-ticket`, { method: "POST" });
  identity.sign(request.headers);
  const answer = await fetch(request);
  if (!answer.ok) return null;
  const { ticket } = (await answer.json()) as { ticket?: string };
  return ticket ?? null;
}

