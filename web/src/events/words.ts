import { number } from "../i18n/format";
import type { Dictionary } from "../i18n/language.svelte";

const en = {
  title: "Events",
  lead: "First come, first served. Every seat goes to exactly one person.",
  left: (n: number): string => (n === 1 ? "seat left" : "seats left"),
  of: (n: number) => `of ${number(n)}`,
  soldOutIn: (n: number, s: string) => `${number(n)} ${n === 1 ? "seat" : "seats"} in ${s}`,
  untilOpen: "until it opens",
  waitingRoom: "Waiting room",
  upTo: (n: number) => (n === 1 ? "One per person" : `Up to ${number(n)} per person`),
  none: "Nothing is on sale right now.",
  noneHint: "New events appear here right away.",
  more: "Show more",
};
const ko: typeof en = {
  title: "공연",
  lead: "선착순으로 판매하며, 한 좌석은 반드시 한 분께만 판매합니다.",
  left: () => "석 남음",
  of: (n) => `전체 ${number(n)}석`,
  soldOutIn: (n, s) => `${number(n)}석 ${s} 만에 매진`,
  untilOpen: "후 오픈",
  waitingRoom: "대기열 운영",
  upTo: (n) => `1인당 최대 ${number(n)}석`,
  none: "지금 판매 중인 공연이 없습니다.",
  noneHint: "공연이 등록되면 여기에 바로 표시됩니다.",
  more: "더 보기",
};
export const eventsWords: Dictionary<typeof en> = { en, ko };
