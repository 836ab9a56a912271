/** The words of a month. Apart from `format`: most pages have no calendar. */

import { once } from "./format";

export const month = (text: string): string =>
  once("month", (l) => new Intl.DateTimeFormat(l, { year: "numeric", month: "long", timeZone: "UTC" })).format(
    new Date(`${text}-01T00:00:00Z`),
  );

/** Monday first. */
export const weekdays = (): string[] => {
  const format = once("weekday", (l) => new Intl.DateTimeFormat(l, { weekday: "short", timeZone: "UTC" }));
  return [5, 6, 7, 8, 9, 10, 11].map((n) => format.format(new Date(Date.UTC(2026, 0, n))));
};
