/** When and where an event takes place: by the viewer's clock, and by those there if they show something else. */

import { moment, once } from "./format";

export interface Occasion {
  startsAt?: string | null;
  timeZone?: string | null;
  place?: string | null;
}

const CLOCK = { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

/** "Sun, 19:00 Korean Standard Time"; empty: the clocks there show what the viewer's shows. */
export function there(at: Date, timeZone: string): string {
  const read = (name: string, more: Intl.DateTimeFormatOptions) => once(name, (l) => new Intl.DateTimeFormat(l, { ...CLOCK, ...more })).format(at);
  try {
    return read("here", {}) === read(`in ${timeZone}`, { timeZone }) ? "" : read(`there ${timeZone}`, { timeZone, timeZoneName: "long" });
  } catch {
    // A zone that this browser has not heard of yet.
    return "";
  }
}

/** "Sun, 18 Apr 2027, 12:00 (Sun, 19:00 Korean Standard Time) · Seoul"; empty: nothing is known of it. */
export function whenAndWhere({ startsAt, timeZone, place }: Occasion): string {
  const at = startsAt ? new Date(startsAt) : null;
  const clocks = at && timeZone && there(at, timeZone);
  return [at && moment(at) + (clocks ? ` (${clocks})` : ""), place].filter(Boolean).join("\u00a0· ");
}
