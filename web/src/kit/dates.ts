/** Days of a calendar without a zone, as texts such as "2026-12-24". */

const DAY_MS = 86_400_000;

export const addDays = (date: string, days: number): string => new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);

export const daysBetween = (from: string, to: string): number => Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);

export const addMonths = (month: string, by: number): string => {
  const [year = 1970, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7);
};

/** The weeks of a month, Monday first; null: a day of another month. */
export function weeks(month: string): (string | null)[][] {
  const first = `${month}-01`;
  const before = (new Date(first).getUTCDay() + 6) % 7;
  const days = daysBetween(first, `${addMonths(month, 1)}-01`);
  const cells: (string | null)[] = [...Array<null>(before).fill(null), ...Array.from({ length: days }, (_, i) => addDays(first, i))];
  while (cells.length % 7) cells.push(null);
  return Array.from({ length: cells.length / 7 }, (_, i) => cells.slice(7 * i, 7 * i + 7));
}

/** Today, where the property is. */
export function today(zone: string, now: number): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" }).format(new Date(now));
}

/** The same day of another month, or its last. */
export function sameDay(date: string, by: number): string {
  const month = addMonths(date.slice(0, 7), by);
  const last = addDays(`${addMonths(month, 1)}-01`, -1);
  const same = `${month}${date.slice(7)}`;
  return same < last ? same : last;
}

/** The day that a key goes to in a calendar; undefined: it is none of its keys. */
export function reached(key: string, from: string): string | undefined {
  const weekday = (new Date(from).getUTCDay() + 6) % 7;
  const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7, Home: -weekday, End: 6 - weekday }[key];
  if (days !== undefined) return addDays(from, days);
  const months = { PageUp: -1, PageDown: 1 }[key];
  return months === undefined ? undefined : sameDay(from, months);
}
