/** What `/metrics` says, read once a second and kept for an hour: rates, quantiles and gauges over time. */

export interface Sample {
  /** Unix seconds. */
  at: number;
  ok: number;
  soldOut: number;
  refused: number;
  overload: number;
  other: number;
  requests: number;
  p50: number | null;
  p99: number | null;
  batch: number | null;
  depth: number;
  /** Seats of all events. */
  sold: number;
  held: number;
  /** People, by event. */
  waiting: Map<number, number>;
  inside: Map<number, number>;
}

interface Reading {
  at: number;
  outcomes: Record<Kind, number>;
  requests: number;
  gateRefused: number;
  batchSum: number;
  batchCount: number;
  depth: number;
  seats: Map<string, number>;
  waiting: Map<number, number>;
  inside: Map<number, number>;
  /** Upper bound in seconds, and how many were below it. */
  times: [number, number][];
  ownTimes: boolean;
}

type Kind = "ok" | "soldOut" | "refused" | "overload" | "other";

const KEEP = 3_600;
const GOT = new Set(["reserved", "held", "confirmed", "entered", "joined", "extended", "cancelled", "released"]);
const GONE = new Set(["sold_out", "held_out", "seat_taken", "no_availability"]);
const BUSY = new Set(["service_unavailable", "contention", "internal_error", "queue_full"]);
/** What a refusal of these is, is not worth a chart. */
const SALE = /^(reserve|createHold|confirmHold|extendHold|cancel|join|enter|seed|leave)/;

const kindOf = (outcome: string, operation: string): Kind => {
  if (GOT.has(outcome)) return "ok";
  if (GONE.has(outcome)) return "soldOut";
  if (BUSY.has(outcome)) return "overload";
  return SALE.test(operation) ? "refused" : "other";
};

export function read(text: string, at: number): Reading {
  const outcomes: Record<Kind, number> = { ok: 0, soldOut: 0, refused: 0, overload: 0, other: 0 };
  const reading: Reading = {
    at,
    outcomes,
    requests: 0,
    gateRefused: 0,
    batchSum: 0,
    batchCount: 0,
    depth: 0,
    seats: new Map(),
    waiting: new Map(),
    inside: new Map(),
    times: [],
    ownTimes: false,
  };
  const commits = new Map<number, number>();
  const asked = new Map<number, number>();
  for (const line of text.split("\n")) {
    const match = /^tickettock_(\w+)(?:\{([^}]*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const [, name, labels = "", figure] = match;
    const value = Number(figure);
    const label = (key: string) => new RegExp(`${key}="([^"]*)"`).exec(labels)?.[1] ?? "";
    if (name === "outcomes_total") outcomes[kindOf(label("outcome"), label("operation"))] += value;
    else if (name === "requests_total") reading.requests = value;
    else if (name === "gate_refused_total") reading.gateRefused = value;
    else if (name === "batch_requests_sum") reading.batchSum = value;
    else if (name === "batch_requests_count") reading.batchCount = value;
    else if (name === "queue_waiting") reading.waiting.set(Number(label("event")), value);
    else if (name === "queue_inside") reading.inside.set(Number(label("event")), value);
    else if (name === "seats") reading.seats.set(label("state"), value);
    else if (name === "waiting_requests") reading.depth = value;
    else if (name === "commit_seconds_bucket") add(commits, label("le"), value);
    else if (name === "request_seconds_bucket" && SALE.test(label("operation"))) add(asked, label("le"), value);
  }
  reading.ownTimes = asked.size > 0;
  reading.times = [...(asked.size > 0 ? asked : commits)].sort((a, b) => a[0] - b[0]);
  return reading;
}

function add(buckets: Map<number, number>, bound: string, value: number): void {
  const key = bound === "+Inf" ? Infinity : Number(bound);
  buckets.set(key, (buckets.get(key) ?? 0) + value);
}

/** Milliseconds below which this share was, between two readings; null: there was nothing. */
export function quantile(share: number, before: [number, number][], now: [number, number][]): number | null {
  const grown = now.map(([bound, count], i) => [bound, count - (before[i]?.[1] ?? 0)] as const);
  const total = grown.at(-1)?.[1] ?? 0;
  if (total <= 0) return null;
  let [low, below] = [0, 0];
  for (const [bound, count] of grown) {
    if (count >= share * total) {
      if (bound === Infinity) return low * 1_000;
      const part = count === below ? 1 : (share * total - below) / (count - below);
      return (low + (bound - low) * part) * 1_000;
    }
    [low, below] = [bound, count];
  }
  return low * 1_000;
}

/** Of all events together. */
export const everybody = (people: Map<number, number>): number => [...people.values()].reduce((sum, count) => sum + count, 0);

class Metrics {
  samples = $state.raw<Sample[]>([]);
  newest = $derived(this.samples.at(-1) ?? null);
  /** Latencies are those of requests, not of batches. */
  ofRequests = $state(false);
  #before: Reading | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): () => void {
    const again = async () => {
      await this.#look().catch(() => (this.#before = null));
      this.#timer = setTimeout(() => void again(), document.hidden ? 5_000 : 1_000);
    };
    void again();
    return () => clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const answer = await fetch("/metrics", { cache: "no-store" });
    if (!answer.ok) return;
    const now = read(await answer.text(), Date.now() / 1_000);
    const before = this.#before;
    this.#before = now;
    this.ofRequests = now.ownTimes;
    // A server that was started again counts from nothing.
    if (!before || now.requests < before.requests) return;
    const seconds = Math.max(0.2, now.at - before.at);
    const rate = (kind: Kind) => Math.max(0, now.outcomes[kind] - before.outcomes[kind]) / seconds;
    const batches = now.batchCount - before.batchCount;
    const sample: Sample = {
      at: now.at,
      ok: rate("ok"),
      soldOut: rate("soldOut"),
      refused: rate("refused"),
      overload: rate("overload") + (now.gateRefused - before.gateRefused) / seconds,
      other: rate("other"),
      requests: (now.requests - before.requests) / seconds,
      p50: quantile(0.5, before.times, now.times),
      p99: quantile(0.99, before.times, now.times),
      batch: batches > 0 ? (now.batchSum - before.batchSum) / batches : null,
      depth: now.depth,
      sold: now.seats.get("sold") ?? 0,
      held: now.seats.get("held") ?? 0,
      waiting: now.waiting,
      inside: now.inside,
    };
    this.samples = [...this.samples.slice(-(KEEP - 1)), sample];
  }
}

export const metrics = new Metrics();
