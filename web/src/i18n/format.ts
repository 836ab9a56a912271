/** Numbers, times and spans as the viewer's language writes them. */

import { language } from "./language.svelte";

const LOCALE = { en: "en-GB", ko: "ko-KR" } as const;
const made = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** One formatter per language, made when it is needed. */
export function once<T extends Intl.NumberFormat | Intl.DateTimeFormat>(name: string, make: (locale: string) => T): T {
  const key = `${language.now} ${name}`;
  let format = made.get(key) as T | undefined;
  if (!format) made.set(key, (format = make(LOCALE[language.now])));
  return format;
}

export const number = (value: number): string => once("number", (locale) => new Intl.NumberFormat(locale)).format(value);

/** As it was set: no digit is added or rounded away. Without a currency it is a number. */
export function money(amount: string | number, currency?: string): string {
  const digits = String(amount).split(".")[1]?.length ?? 0;
  const exact = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const form = currency ? ({ style: "currency", currency, ...exact } as const) : exact;
  return once(`money ${currency} ${digits}`, (l) => new Intl.NumberFormat(l, form)).format(Number(amount));
}

/** 19:04:12 */
export const clock = (at: Date): string =>
  once("clock", (l) => new Intl.DateTimeFormat(l, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })).format(at);

/** Sunday 18 April 2027, 19:00 */
export const moment = (at: Date): string =>
  once(
    "moment",
    (l) =>
      new Intl.DateTimeFormat(l, {
        weekday: "short",
        year: "numeric",
        month: "short",
        day: "numeric",
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23",
      }),
  ).format(at);

/** 18/04/2027, 19:00: in tables. */
export const brief = (at: Date): string =>
  once("brief", (l) => new Intl.DateTimeFormat(l, { dateStyle: "short", timeStyle: "short", hourCycle: "h23" })).format(at);

/** 18/04/2027, 19:00:12: in tables where seconds matter. */
export const stamp = (at: Date): string =>
  once("stamp", (l) => new Intl.DateTimeFormat(l, { dateStyle: "short", timeStyle: "medium", hourCycle: "h23" })).format(at);

/** The viewer's zone at a moment: "Asia/Seoul, GMT+9". */
export const zone = (at: Date): string => {
  const parts = once("zone", (l) => new Intl.DateTimeFormat(l, { timeZoneName: "shortOffset" }));
  const offset = parts.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value;
  return [parts.resolvedOptions().timeZone, offset].filter(Boolean).join(", ");
};

/** A day of a calendar that has no zone, such as "2026-12-24". */
export const day = (date: string): string =>
  once("day", (l) => new Intl.DateTimeFormat(l, { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" })).format(
    new Date(`${date}T00:00:00Z`),
  );

const two = (n: number): string => String(n).padStart(2, "0");

/** What is left, as digits: 09:41, 02:13:44, 3d 02:13:44. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3_600) % 24;
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  if (days > 0) return `${days}${language.now === "ko" ? "일" : "d"} ${two(hours)}:${rest}`;
  return hours > 0 ? `${two(hours)}:${rest}` : rest;
}

/** About how long, in words: "about 4 min", "약 4분". */
export function about(seconds: number): string {
  const ko = language.now === "ko";
  if (seconds < 60) return ko ? "1분 이내" : "less than a minute";
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return ko ? `약 ${number(minutes)}분` : `about ${number(minutes)} min`;
  const hours = Math.round(minutes / 60);
  return ko ? `약 ${number(hours)}시간` : `about ${number(hours)} h`;
}

/** How long something took: "0.6 s", "12 min", "3 h". */
export function lasted(seconds: number): string {
  const step = [120, 7_200, 172_800].filter((most) => seconds >= most).length;
  const value = seconds < 10 ? Math.max(0.1, seconds).toFixed(1) : number(Math.round(seconds / [1, 60, 3_600, 86_400][step]!));
  return language.now === "ko" ? value + ["초", "분", "시간", "일"][step] : `${value} ${["s", "min", "h", "days"][step]}`;
}
