import type { Dictionary } from "../i18n/language.svelte";
import type { Look } from "./painter";

const en = {
  stage: "Stage",
  map: (picks: boolean) => `Seat map. Move with the arrow keys,${picks ? " choose with Enter," : ""} zoom with plus and minus.`,
  closer: "Zoom in",
  farther: "Zoom out",
  whole: "Show the whole hall",
  looks: { free: "free", accessible: "free, wheelchair accessible", held: "on hold", sold: "sold", mine: "yours", chosen: "chosen" } as Record<Look, string>,
  key: "What the signs mean",
};

const ko: typeof en = {
  stage: "무대",
  map: (picks) => `좌석 배치도. 방향키로 이동하고 ${picks ? "Enter 키로 선택하며 " : ""}+와 - 키로 확대하거나 축소합니다.`,
  closer: "확대",
  farther: "축소",
  whole: "전체 보기",
  looks: { free: "선택 가능", accessible: "선택 가능(휠체어석)", held: "결제 중", sold: "판매됨", mine: "내 좌석", chosen: "선택함" },
  key: "기호 설명",
};

export const mapWords: Dictionary<typeof en> = { en, ko };
