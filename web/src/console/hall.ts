/** A hall as a table of rows, and as the API and the map have it. */

import type { Layout } from "../map/geometry";
import type { Schema } from "./session.svelte";

export interface HallLine {
  section: string;
  row: string;
  seats: string;
}

const SEATS_MOST = 100_000;

/** Lines of a spreadsheet: section, row, seats, apart by tabs, semicolons or commas. Headings are left out. */
export function pasted(text: string): HallLine[] {
  const lines = text.split(/\r?\n/).map((line) => line.split(/\t|;|,/).map((cell) => cell.trim()));
  return lines
    .filter((cells) => cells.length >= 2 && whole(cells.at(-1) ?? "") !== null)
    .map((cells) =>
      cells.length === 2 ? { section: "", row: cells[0]!, seats: cells[1]! } : { section: cells[0]!, row: cells[1]!, seats: cells[2]! },
    );
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
  kind: "bad" | "twice";
  name: string;
  line: number;
  cell: "row" | "seats";
}

export function problem(lines: readonly HallLine[], unnamed: string): HallProblem | null {
  const seen = new Set<string>();
  for (const [at, line] of filled(lines, unnamed).entries()) {
    const name = `${line.section} ${line.row.trim()}`;
    if (!line.row.trim()) return { kind: "bad", name, line: at, cell: "row" };
    if (whole(line.seats) === null) return { kind: "bad", name, line: at, cell: "seats" };
    if (seen.has(name)) return { kind: "twice", name, line: at, cell: "row" };
    seen.add(name);
  }
  return lines.length === 0 ? { kind: "bad", name: unnamed, line: 0, cell: "row" } : null;
}

export function hallOf(lines: readonly HallLine[], unnamed: string): Schema["Hall"] {
  const sections: Schema["HallSection"][] = [];
  for (const line of filled(lines, unnamed)) {
    const row = { name: line.row.trim(), seats: whole(line.seats) ?? 0 };
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
      return { name: row.name, firstSeat: at, seats: row.seats };
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
