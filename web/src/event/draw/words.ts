/** The words of a draw, in both languages: they come with its part of the page. */

import { number } from "../../i18n/format";
import type { Dictionary } from "../../i18n/language.svelte";

const en = {
  why: "At the opening the order is drawn by lot among everybody who has joined. Joining early makes no difference.",
  from: (when: string) => `You can join from ${when}.`,
  join: "Join the draw",
  joined: "You are in. At the opening the order is drawn by lot; joining early makes no difference.",
  stays: "A reload or a lost connection does not cost you your part in the draw.",
  gathered: (n: number) => (n === 1 ? "1 person is in so far" : `${number(n)} people are in so far`),
  leave: "Leave the draw",
  stay: "Stay in the draw",
  leaveText: "You will not be in the draw. You can join again until the opening.",
  title: (over: boolean): string => (over ? "How the order was drawn" : "How the order will be drawn"),
  how: "Before anybody could join, the server chose a secret seed and published its SHA-256, the commitment. At the opening everybody's number is calculated from the seed, the event and the user ID, and the lowest number is first. So nobody can choose a number, and nobody can exchange the seed afterwards.",
  commitment: "Commitment, public since before the opening",
  kept: "Commitment that this browser kept from before the opening",
  seed: "Seed, public since the opening",
  soon: "The seed appears here a few seconds after the opening.",
  user: "Your user ID",
  mine: "Your number",
  check: "Check the draw",
  byHand: "The browser cannot check the draw on this connection, but you can in a terminal. The first line calculates your number, the second one the commitment:",
  first: (digits: string) => `The result of the first line must begin with ${digits}: that is your number in hexadecimal digits, less 1,000,000,000,000,000.`,
  seedIs: {
    kept: "The seed matches the commitment that this browser kept from before the opening.",
    fits: "The seed matches the commitment. This browser has none from before the opening; somebody who was there can compare.",
    differs: "The seed does not match the commitment from before the opening. Please show this to the organiser.",
  },
  numberIs: {
    drawn: "Your number is the one that the seed gives you.",
    before: "You joined before the draw was announced, so you were not drawn: you stand before everybody who was.",
    behind: "You joined after the opening, so you were not drawn: you stand behind everybody who was, in the order of joining.",
    differs: "Your number is not the one that the seed gives you. Please show this to the organiser.",
    none: "You have no number here, so only the seed could be checked.",
  },
};

type Words = typeof en;

const ko: Words = {
  why: "오픈 시각까지 참여하신 모든 분의 순서를 추첨합니다. 일찍 참여해도 순서에는 영향이 없습니다.",
  from: (when) => `${when}부터 참여할 수 있습니다.`,
  join: "추첨 참여하기",
  joined: "추첨에 참여하셨습니다. 오픈 시각에 순서를 추첨하며, 일찍 참여해도 순서에는 영향이 없습니다.",
  stays: "새로고침하거나 연결이 끊겨도 추첨 참여는 유지됩니다.",
  gathered: (n) => `지금까지 ${number(n)}명 접수`,
  leave: "추첨 참여 취소",
  stay: "계속 참여하기",
  leaveText: "취소하시면 추첨에서 제외됩니다. 오픈 전까지는 다시 참여하실 수 있습니다.",
  title: (over) => (over ? "순서를 추첨한 방법" : "순서를 추첨하는 방법"),
  how: "접수가 시작되기 전에 서버가 비밀 시드를 정하고 그 SHA-256 값(커밋값)을 공개했습니다. 오픈 시각에 시드와 공연, 사용자 ID로 각자의 번호를 계산하며 번호가 작은 순서로 입장합니다. 누구도 번호를 고를 수 없고, 나중에 시드를 바꿀 수도 없습니다.",
  commitment: "커밋값 (오픈 전부터 공개)",
  kept: "이 브라우저가 오픈 전에 저장한 커밋값",
  seed: "시드 (오픈 후 공개)",
  soon: "시드는 오픈 몇 초 뒤 여기에 표시됩니다.",
  user: "내 사용자 ID",
  mine: "내 번호",
  check: "추첨 확인하기",
  byHand: "이 연결에서는 브라우저가 직접 확인할 수 없습니다. 터미널에서 확인할 수 있습니다. 첫 줄은 내 번호를, 둘째 줄은 커밋값을 계산합니다.",
  first: (digits) => `첫 줄의 결과는 ${digits}로 시작해야 합니다. 내 번호에서 1,000,000,000,000,000을 뺀 값을 16진수로 쓴 것입니다.`,
  seedIs: {
    kept: "시드가 이 브라우저에 오픈 전부터 저장된 커밋값과 일치합니다.",
    fits: "시드가 커밋값과 일치합니다. 이 브라우저에는 오픈 전의 커밋값이 없으므로, 오픈 전에 접속한 분의 값과 비교해 보실 수 있습니다.",
    differs: "시드가 오픈 전의 커밋값과 일치하지 않습니다. 이 화면을 주최자에게 보여 주세요.",
  },
  numberIs: {
    drawn: "내 번호가 시드로 계산한 번호와 일치합니다.",
    before: "추첨이 공지되기 전에 들어오셔서 추첨 없이 앞 순서를 유지합니다.",
    behind: "오픈 후에 들어오셔서 추첨에 포함되지 않았습니다. 추첨된 분들 뒤에 들어온 순서대로 입장합니다.",
    differs: "내 번호가 시드로 계산한 번호와 일치하지 않습니다. 이 화면을 주최자에게 보여 주세요.",
    none: "이 공연의 번호가 없어 시드만 확인했습니다.",
  },
};

export const drawWords: Dictionary<Words> = { en, ko };
