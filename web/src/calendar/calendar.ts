/** Entries for calendars, as files (RFC 5545). Made here: nothing is sent anywhere. Loaded when somebody wants one. */

export interface Entry {
  /** Added again with the same one, the entry is changed. */
  id: string;
  /** A moment; or the first day and the day after the last one. */
  when: Date | { from: string; to: string };
  title: string;
  text: string;
  place?: string | null | undefined;
}

/**
 * How long an event lasts is not known. Without an end Exchange does not take the entry, and other calendars show a
 * whole day; an end as a `DURATION` is not read by all of them. So there is a `DTEND`, after a usual evening.
 */
const EVENING_MS = 2 * 3_600_000;
/** Of a line, without its end. */
const BYTES_MOST = 75;

const moment = (at: Date): string => at.toISOString().replace(/[-:]|\.\d+/g, "");
const day = (date: string): string => date.replaceAll("-", "");
const escaped = (text: string): string => text.replace(/[\\,;]/g, "\\$&").replace(/\r\n?|\n/g, "\\n");

/** A line that is too long goes on after a space in the next one. No character is cut. */
function folded(line: string): string {
  const bytes = new TextEncoder();
  let all = "";
  let length = 0;
  for (const character of line) {
    const more = bytes.encode(character).length;
    if (length + more > BYTES_MOST) {
      all += "\r\n ";
      length = 1;
    }
    all += character;
    length += more;
  }
  return all;
}

function file({ id, when, title, text, place }: Entry): string {
  const times =
    when instanceof Date
      ? [`DTSTART:${moment(when)}`, `DTEND:${moment(new Date(when.getTime() + EVENING_MS))}`]
      : [`DTSTART;VALUE=DATE:${day(when.from)}`, `DTEND;VALUE=DATE:${day(when.to)}`];
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Tickettock//EN",
    "BEGIN:VEVENT",
    `UID:${id}@tickettock`,
    `DTSTAMP:${moment(new Date())}`,
    ...times,
    `SUMMARY:${escaped(title)}`,
    ...(place ? [`LOCATION:${escaped(place)}`] : []),
    `DESCRIPTION:${escaped(text)}`,
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join("");
}

/** Hands the file to the browser. */
export function save(name: string, entry: Entry): void {
  const url = URL.createObjectURL(new Blob([file(entry)], { type: "text/calendar;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
