/**
 * Where the seats of a hall are drawn. A layout has sections and rows but no coordinates: rows are centred before
 * the stage and bent around it, sections fill shelves from left to right. The unit is the pitch of two seats.
 */

import type { components } from "../api/client";

export type Layout = components["schemas"]["Layout"];

export interface Label {
  text: string;
  x: number;
  y: number;
  kind: "section" | "row";
}

export interface Plan {
  seatCount: number;
  /** Those that a wheelchair can reach. */
  accessible: ReadonlySet<number>;
  /** By seat id. */
  xs: Float32Array;
  ys: Float32Array;
  labels: Label[];
  width: number;
  height: number;
  /** The middle of its front edge, and how large it is. */
  stage: { x: number; y: number; width: number; depth: number };
  /** The seat at this place; 0: none. */
  hit: (x: number, y: number) => number;
  /** Seats within these bounds. */
  within: (left: number, top: number, right: number, bottom: number, seen: (seat: number) => void) => void;
  name: (seat: number) => string;
  /** Drawn in this row, for the keys: the seats left and right of it. */
  rowOf: (seat: number) => Line;
  lines: Line[];
}

/** A row as it is drawn: long ones are folded. */
export interface Line {
  index: number;
  first: number;
  count: number;
}

interface Block {
  title: string | null;
  lines: { name: string; first: number; count: number }[];
  width: number;
  height: number;
}

const ROW_MOST = 64;
/** A hall that is only a number of seats has one row, which nobody built. */
const ONLY_ROW_MOST = 24;
const GAP = 2.5;
const TITLE = 1.7;
const LABEL_ROOM = 2;
const ROW_LABELS_MOST = 2_000;

/** About 1.8 times as wide as high, in lines of about the same length; a row that fits is never folded. */
function fold(row: Layout["sections"][number]["rows"][number], fits: number): { name: string; first: number; count: number }[] {
  const wide = row.seats <= fits ? row.seats : Math.max(fits / 2, Math.ceil(Math.sqrt(row.seats * 1.8)));
  const most = Math.ceil(row.seats / Math.ceil(row.seats / wide));
  const lines = [];
  for (let from = 0; from < row.seats; from += most) {
    lines.push({ name: from === 0 ? row.name : "", first: row.firstSeat + from, count: Math.min(most, row.seats - from) });
  }
  return lines;
}

function blocks(layout: Layout): Block[] {
  const fits = layout.sections.length === 1 && layout.sections[0]!.rows.length === 1 ? ONLY_ROW_MOST : ROW_MOST;
  return layout.sections.map((section) => {
    const lines = section.rows.flatMap((row) => fold(row, fits));
    const width = Math.max(1, ...lines.map((line) => line.count));
    return { title: section.name, lines, width, height: lines.length + (section.name ? TITLE : 0) };
  });
}

function shelves(all: Block[]): Block[][] {
  const area = all.reduce((sum, block) => sum + (block.width + GAP) * (block.height + GAP), 0);
  const most = Math.max(Math.sqrt(area * 1.8), ...all.map((block) => block.width));
  const made: Block[][] = [];
  let used = Infinity;
  for (const block of all) {
    if (used + GAP + block.width > most) {
      made.push([]);
      used = -GAP;
    }
    made.at(-1)!.push(block);
    used += GAP + block.width;
  }
  return made;
}

const across = (shelf: Block[]) => shelf.reduce((sum, block) => sum + block.width + GAP, -GAP);

export function plan(layout: Layout): Plan {
  const { seatCount } = layout;
  const xs = new Float32Array(seatCount + 1);
  const ys = new Float32Array(seatCount + 1);
  const labels: Label[] = [];
  const lines: Line[] = [];
  const rows = shelves(blocks(layout));
  const inner = Math.max(1, ...rows.map(across));
  const width = inner + 2 * LABEL_ROOM + 1;
  const middle = width / 2;
  // The ends of a row are nearer to the stage, by at most two seats.
  const bend = (x: number) => -Math.min(2, inner / 16) * ((x - middle) / (inner / 2)) ** 2;
  const depth = -bend(middle + inner / 2);
  const named = layout.sections.reduce((sum, section) => sum + section.rows.length, 0) <= ROW_LABELS_MOST;
  const plain = layout.sections.length === 1 && layout.sections[0]!.name === null;

  const stageDepth = Math.max(1.6, Math.min(2.4, inner * 0.12), inner * 0.05);
  const stage = { x: middle, y: stageDepth * 0.75 + Math.max(0.7, inner * 0.015), width: Math.max(7, inner * 0.5), depth: stageDepth };
  let top = stage.y + stageDepth * 0.5 + 0.8 + depth;
  for (const shelf of rows) {
    let left = middle - across(shelf) / 2;
    for (const block of shelf) {
      const centre = left + block.width / 2;
      let y = top + 0.5;
      if (block.title) {
        labels.push({ text: block.title, x: centre, y: y + bend(centre) + 0.4, kind: "section" });
        y += TITLE;
      }
      for (const line of block.lines) {
        const from = centre - (line.count - 1) / 2;
        if (named && !plain && line.name) {
          labels.push({ text: line.name, x: from - 1.2, y: y + bend(from), kind: "row" });
        }
        for (let i = 0; i < line.count; i += 1) {
          xs[line.first + i] = from + i;
          ys[line.first + i] = y + bend(from + i);
        }
        lines.push({ index: lines.length, first: line.first, count: line.count });
        y += 1;
      }
      left += block.width + GAP;
    }
    top += Math.max(...shelf.map((block) => block.height)) + GAP;
  }
  const height = top - GAP + 1;
  const index = buckets(xs, ys, width, height);
  const byFirst = [...lines].sort((a, b) => a.first - b.first);
  const rowOf = (seat: number) => byFirst[last(byFirst, (line) => line.first <= seat)]!;
  const accessible = new Set(layout.sections.flatMap((section) => section.rows.flatMap((row) => row.accessible ?? [])));
  return { seatCount, accessible, xs, ys, labels, width, height, stage, ...index, name: namer(layout), rowOf, lines };
}

/** The last entry for which it is true; they are true first and false then. */
function last<T>(all: T[], is: (one: T) => boolean): number {
  let low = 0;
  let high = all.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (is(all[middle]!)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** As the server names them: `1층 A5`; `1층 12-5` where the row's own name ends in a digit; `A5` without sections. */
function namer(layout: Layout): (seat: number) => string {
  const rows = layout.sections.flatMap((section) => section.rows.map((row) => ({ section: section.name, ...row })));
  rows.sort((a, b) => a.firstSeat - b.firstSeat);
  return (seat) => {
    const row = rows[last(rows, (one) => one.firstSeat <= seat)];
    if (!row) return String(seat);
    const place = `${row.name}${/[0-9]$/.test(row.name) ? "-" : ""}${seat - row.firstSeat + 1}`;
    return row.section === null ? place : `${row.section} ${place}`;
  };
}

function buckets(xs: Float32Array, ys: Float32Array, width: number, height: number) {
  const across = Math.ceil(width) + 1;
  const down = Math.ceil(height) + 1;
  const head = new Int32Array(across * down);
  const next = new Int32Array(xs.length);
  for (let seat = 1; seat < xs.length; seat += 1) {
    const cell = Math.floor(ys[seat]!) * across + Math.floor(xs[seat]!);
    next[seat] = head[cell]!;
    head[cell] = seat;
  }
  const clamp = (n: number, most: number) => Math.max(0, Math.min(most - 1, Math.floor(n)));
  function within(left: number, top: number, right: number, bottom: number, seen: (seat: number) => void) {
    for (let y = clamp(top, down); y <= clamp(bottom, down); y += 1) {
      for (let x = clamp(left, across); x <= clamp(right, across); x += 1) {
        for (let seat = head[y * across + x]!; seat; seat = next[seat]!) seen(seat);
      }
    }
  }
  function hit(x: number, y: number): number {
    let best = 0;
    let nearest = 0.55 ** 2;
    within(x - 1, y - 1, x + 1, y + 1, (seat) => {
      const far = (xs[seat]! - x) ** 2 + (ys[seat]! - y) ** 2;
      if (far < nearest) {
        nearest = far;
        best = seat;
      }
    });
    return best;
  }
  return { within, hit };
}
