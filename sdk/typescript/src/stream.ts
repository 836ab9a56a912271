import type { components } from "./schema.js";

/** A message of an event's live stream: its name in `event`, its content in `data`. */
export type StreamMessage = components["schemas"]["EventStreamMessage"];

type Received = StreamMessage & { id?: string };

/** There is no stream to be had: too many watchers, or something on the way that lets none pass. */
export class NoStream extends Error {
  override readonly name = "NoStream";
  constructor(
    /** The status of the answer, where it is known: an `EventSource` does not tell. */
    readonly status?: number,
  ) {
    super(status ? `the stream was refused with ${status}` : "the stream could not be opened");
  }
}

export interface Connecting {
  url: string;
  onMessage: (message: Received) => void;
  signal?: AbortSignal | undefined;
  /** Without it an `EventSource`, where there is one. */
  fetch?: typeof fetch | undefined;
}

const NAMES = ["snapshot", "seats", "remaining", "state", "queue", "place", "hold", "reservation"] as const;

/** Reads one connection to its end. Rejects with `NoStream` if it never began. */
export function connect(to: Connecting): Promise<void> {
  return typeof EventSource === "undefined" || to.fetch ? read(to) : listen(to);
}

function listen({ url, onMessage, signal }: Connecting): Promise<void> {
  return new Promise((resolve, reject) => {
    const source = new EventSource(url);
    let began = false;
    const end = (settle: () => void) => {
      source.close();
      signal?.removeEventListener("abort", stop);
      settle();
    };
    const stop = () => end(resolve);
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) return stop();
    source.onopen = () => (began = true);
    // It would reconnect with the same address; the caller does, with a fresh one.
    source.onerror = () => end(() => (began ? resolve() : reject(new NoStream())));
    for (const name of NAMES) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        onMessage({ event: name, data: JSON.parse(event.data), ...(event.lastEventId ? { id: event.lastEventId } : {}) } as Received);
      });
    }
  });
}

async function read({ url, onMessage, signal, fetch: send = fetch }: Connecting): Promise<void> {
  const headers = { Accept: "text/event-stream" };
  const answer = await send(url, { headers, ...(signal ? { signal } : {}) }).catch(() => undefined);
  if (signal?.aborted) return;
  if (!answer?.ok || !answer.body) throw new NoStream(answer?.status);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      let end: number;
      while ((end = text.indexOf("\n\n")) >= 0) {
        const message = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (message) onMessage(message);
      }
    }
  } catch (broken) {
    // The connection broke, or was cancelled: its end in any case. What a callback throws is not.
    if (!(broken instanceof TypeError) && !signal?.aborted) throw broken;
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** None: a comment, or a name that this version does not know. */
function parse(text: string): Received | undefined {
  const fields: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
  }
  const { event, data, id } = fields;
  if (!data || !NAMES.some((name) => name === event)) return undefined;
  return { event, data: JSON.parse(data), ...(id ? { id } : {}) } as Received;
}

const STATES: Record<string, "free" | "held" | "sold"> = { f: "free", h: "held", s: "sold" };

/** The states of a snapshot, by seat from 1: `2s1f` is sold, sold, free. */
export function* seatStates(states: string): Generator<[number, "free" | "held" | "sold"]> {
  let seat = 1;
  for (const [, count, letter] of states.matchAll(/(\d+)([fhs])/g)) {
    for (let left = Number(count); left > 0; left--) yield [seat++, STATES[letter ?? "f"] ?? "free"];
  }
}
