import { ko as outcomes } from "../outcomes/ko";
import type { CommonWords } from "./en";

export const ko: CommonWords = {
  outcomes,
  skip: "본문으로 건너뛰기",
  ways: "페이지",
  events: "공연",
  rooms: "객실",
  mine: "내 예매",
  docs: "API 문서",
  tryApi: "API 써 보기",
  console: "운영 콘솔",
  who: "사용자 확인",
  whoTitle: "지금 사용자",
  whoHeader: "이 서버는 페이지가 보내는 사용자 ID를 그대로 믿습니다. 한 대의 컴퓨터에서 써 보기 위한 설정입니다. ID를 바꾸면 다른 사람이 됩니다.",
  whoToken: "로그인했을 때 받은 토큰을 붙여 넣어 주세요. 토큰은 이 브라우저에만 저장됩니다.",
  userId: "사용자 ID",
  token: "토큰",
  newUser: "새 사용자",
  save: "이 사용자로 계속",
  signIn: "로그인",
  signOut: "로그아웃",
  tokenRefused: "토큰이 올바르지 않거나 만료되었습니다. 다시 로그인해서 받은 새 토큰을 붙여 넣어 주세요.",
  raw: "서버의 응답 (JSON)",
  close: "닫기",
  loading: "불러오는 중",
};
