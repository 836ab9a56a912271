/** What `tickettock rush --html` writes into the page (`rush/page.rs`), and the lines that are drawn of it. */

import type { Line } from "../chart/options";

export interface RushReport {
  /** Where the crowd went. */
  target: string;
  eventId: number;
  /** When it ended, in milliseconds since 1970. */
  at: number;
  seats: number;
  /** As `--json` prints it. */
  report: {
    offered: number;
    answered: number;
    seconds: number;
    outcomes: Record<string, number>;
    latencyMs: Record<string, number>;
    sold: number;
    soldTwice: number;
    toldSoldOut: number;
    lost: number;
    unexplained: number;
    orderBroken: number;
    numbersTwice: number;
    invariantsBroken: number | null;
    notInContract: number;
    comparedWithServer: boolean;
    holds: boolean;
    crowd: { people: number; gaveUp: number; goodput: number; amplification: number };
  };
  timeline: {
    sliceMs: number;
    /** Requests that ended in each slice. */
    outcomes: Record<string, number[]>;
    /** Milliseconds; null where nothing was answered. */
    latencyMs: Record<string, (number | null)[]>;
    /** Seats that stand at the end of each slice. */
    sold: number[];
  };
}

const COLOURS: Record<string, string> = {
  reserved: "pine",
  sold_out: "amber",
  service_unavailable: "brick",
  duplicate: "ink",
  cancelled: "amber-ink",
  "no answer": "faint",
};
const OTHERS = ["edge", "brick-strong", "soft", "on-sand"];
/** What people came for is at the bottom of the stack. */
const ORDER = ["reserved", "sold_out", "duplicate", "cancelled"];

const rank = (outcome: string) => (ORDER.includes(outcome) ? ORDER.indexOf(outcome) : ORDER.length);

export function outcomeLines({ report, timeline }: RushReport, label: (outcome: string) => string): Line[] {
  const names = Object.keys(timeline.outcomes).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  const others = names.filter((name) => !COLOURS[name]);
  return names.map((name) => ({
    label: label(name),
    colour: COLOURS[name] ?? OTHERS[others.indexOf(name) % OTHERS.length] ?? "edge",
    values: held(timeline.outcomes[name] ?? []),
    figure: report.outcomes[name] ?? 0,
    dashed: name === "no answer",
  }));
}

/** The last slice has a width too: its value holds until its end. */
const held = <T>(values: T[]): T[] => [...values, ...values.slice(-1)];

const LATENCIES = { p50: "pine", p90: "amber", p99: "brick" };

export const latencyLines = ({ report, timeline }: RushReport): Line[] =>
  Object.entries(LATENCIES).map(([name, colour]) => ({
    label: name,
    colour,
    values: held(timeline.latencyMs[name] ?? []),
    figure: report.latencyMs[name] ?? 0,
  }));

/** Nothing is sold at the start; a slice's count is true at its end. */
export const soldLine = ({ timeline }: RushReport, label: string): Line => ({ label, colour: "pine", values: [0, ...timeline.sold], fill: true });

/** Where slices begin and the last one ends, in seconds since the first arrival. */
export const times = ({ timeline }: RushReport): number[] => [0, ...timeline.sold].map((_, i) => (i * timeline.sliceMs) / 1_000);
