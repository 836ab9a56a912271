/** A hall as a table of rows, and as the API and the map have it. */

import type { Layout } from "../map/geometry";
import type { Schema } from "./session.svelte";

export interface HallLine {
  section: string;
  row: string;
  seats: string;
  /** Places in the row, such as `1-2, 19`. */
  accessible: string;
}

const SEATS_MOST = 100_000;

/**
 * Lines of a spreadsheet: section, row, seats and, where there are any, accessible places, apart by tabs, semicolons or
 * commas. Headings are left out.
 */
export function pasted(text: string): HallLine[] {
  const lines = text.split(/\r?\n/).map((line) => line.split(/\t|;|,/).map((cell) => cell.trim()));
  return lines
    .map((cells) => (cells.length === 2 ? ["", ...cells] : cells))
    .filter((cells) => whole(cells[2] ?? "") !== null)
    .map(([section, row, seats, ...places]) => ({ section: section!, row: row!, seats: seats!, accessible: places.filter(Boolean).join(", ") }));
}

/** `1-2, 19` as numbers in order; null if it is something else or leaves the row. */
function placesIn(text: string, seats: number): number[] | null {
  const places = new Set<number>();
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (from === undefined || Number(from) < 1 || Number(to) > seats || Number(from) > Number(to)) return null;
    for (let place = Number(from); place <= Number(to); place += 1) places.add(place);
  }
  return [...places].sort((a, b) => a - b);
}

function whole(text: string): number | null {
  const value = Number(text);
  return /^\d+$/.test(text.trim()) && value >= 1 && value <= SEATS_MOST ? value : null;
}

/** A cell that is empty repeats the section above it, as spreadsheets write it. */
function filled(lines: readonly HallLine[], unnamed: string): HallLine[] {
  let section = unnamed;
  return lines.map((line) => ({ ...line, section: (section = line.section.trim() || section) }));
}

/** What is wrong with the table, and in which cell first. `twice` has the name that is there twice. */
export interface HallProblem {
  kind: "bad" | "twice" | "places";
  name: string;
  line: number;
  cell: "row" | "seats" | "accessible";
}

export function problem(lines: readonly HallLine[], unnamed: string): HallProblem | null {
  const seen = new Set<string>();
  for (const [at, line] of filled(lines, unnamed).entries()) {
    const name = `${line.section} ${line.row.trim()}`;
    if (!line.row.trim()) return { kind: "bad", name, line: at, cell: "row" };
    if (whole(line.seats) === null) return { kind: "bad", name, line: at, cell: "seats" };
    if (placesIn(line.accessible, whole(line.seats) ?? 0) === null) return { kind: "places", name, line: at, cell: "accessible" };
    if (seen.has(name)) return { kind: "twice", name, line: at, cell: "row" };
    seen.add(name);
  }
  return lines.length === 0 ? { kind: "bad", name: unnamed, line: 0, cell: "row" } : null;
}

export function hallOf(lines: readonly HallLine[], unnamed: string): Schema["Hall"] {
  const sections: Schema["HallSection"][] = [];
  for (const line of filled(lines, unnamed)) {
    const seats = whole(line.seats) ?? 0;
    const accessible = placesIn(line.accessible, seats) ?? [];
    const row = { name: line.row.trim(), seats, ...(accessible.length > 0 && { accessible }) };
    const known = sections.find((section) => section.name === line.section);
    if (known) known.rows.push(row);
    else sections.push({ name: line.section, rows: [row] });
  }
  return { sections };
}

/** Numbered as the server will number it. */
export function layoutOf(hall: Schema["Hall"]): Layout {
  let next = 1;
  const sections = hall.sections.map((section) => {
    const firstSeat = next;
    const rows = section.rows.map((row) => {
      const at = next;
      next += row.seats;
      const accessible = row.accessible?.map((place) => at + place - 1);
      return { name: row.name, firstSeat: at, seats: row.seats, ...(accessible && { accessible }) };
    });
    return { name: section.name, firstSeat, seatCount: next - firstSeat, rows };
  });
  return { seatCount: next - 1, sections };
}

/** The name behind this one: A after nothing, B after A, AA after Z, 8 after 7. */
export function rowAfter(name: string): string {
  if (/^\d+$/.test(name)) return String(Number(name) + 1);
  if (!/^[A-Z]+$/.test(name)) return "A";
  const last = name.at(-1)!;
  if (last !== "Z") return name.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1);
  return `${name.length > 1 ? rowAfter(name.slice(0, -1)) : "A"}A`;
}
