import { day, number } from "../i18n/format";
import type { Facts, Outcomes, Told } from "./facts";

const busy = ({ retryAfter }: Facts): Told => ({
  what: "접속이 많아 잠시 처리하지 못했습니다.",
  next: `진행하시던 내용은 그대로입니다. ${retryAfter ? `${retryAfter}초` : "잠시"} 뒤에 다시 시도해 주세요.`,
});
const yours = (facts: Facts): Told => ({
  what: facts.seat ? `이미 ${facts.seat.name} 좌석을 예매하셨습니다.` : "이미 예매하신 좌석이 있습니다.",
  next: "이 페이지와 내 예매에서 확인할 수 있습니다.",
});

export const ko: Outcomes = {
  sold_out: () => ({ what: "모든 좌석이 판매되었습니다.", next: "취소 좌석이 나오면 여기에 바로 표시됩니다." }),
  held_out: ({ again }) => ({
    what: "남은 좌석이 모두 결제 중입니다.",
    next: again ? `${again}에 다시 나올 수 있습니다.` : "다시 나오는 좌석은 여기에 바로 표시됩니다.",
  }),
  contention: () => ({ what: "요청이 한꺼번에 몰렸습니다.", next: "아직 예매되지 않았습니다. 다시 시도해 주세요." }),
  lock_timeout: () => ({ what: "요청이 한꺼번에 몰렸습니다.", next: "아직 선점되지 않았습니다. 다시 시도해 주세요." }),
  duplicate: (facts) =>
    facts.scope === "user"
      ? { what: "이전 요청을 처리하고 있습니다.", next: "잠시만 기다려 주세요. 결과가 여기에 표시됩니다." }
      : facts.scope === "ip"
        ? { what: "같은 네트워크에서 요청이 많이 들어오고 있습니다.", next: `${facts.retryAfter ?? 1}초 뒤에 다시 시도해 주세요.` }
        : yours(facts),
  already_reserved: yours,
  limit_reached: ({ limit, current }) =>
    limit === undefined
      ? { what: "더 이상 연장할 수 없습니다.", next: "남은 시간 안에 확정해 주세요." }
      : { what: `1인당 최대 ${number(limit)}개까지 가능합니다. 현재 ${number(current ?? 0)}개를 선점하거나 예매하셨습니다.`, next: "수량을 줄이거나 먼저 다른 것을 취소해 주세요." },
  seat_taken: () => ({ what: "방금 다른 분이 선택한 좌석입니다.", next: "가까운 빈 좌석을 골라 보세요." }),
  not_available: ({ seats, nights }) =>
    nights?.length
      ? { what: `${nights.map(day).join(", ")}에는 남은 객실이 없습니다.`, next: "달력에서 남은 객실을 확인하고 다른 날짜를 골라 주세요." }
      : { what: seats ? `방금 다른 분이 선택한 좌석입니다: ${seats}` : "방금 다른 분이 선택한 좌석입니다.", next: "선점된 좌석은 없습니다. 가까운 빈 좌석을 골라 보세요." },
  not_open: () => ({ what: "지금은 판매 중이 아닙니다.", next: "판매가 시작되면 화면이 자동으로 바뀝니다." }),
  closed: () => ({ what: "판매가 종료되었습니다.", next: "이미 예매한 좌석은 그대로 유지됩니다." }),
  entry_required: () => ({ what: "입장 시간이 끝났습니다.", next: "대기열에 다시 들어가시면 순서대로 입장합니다." }),
  not_ready: () => ({ what: "아직 입장할 차례가 아닙니다.", next: "이 페이지를 열어 두시면 자동으로 입장합니다." }),
  not_queued: () => ({ what: "대기열에 등록되어 있지 않습니다.", next: "대기열에 들어가 주세요." }),
  no_waiting_room: () => ({ what: "이제 대기 없이 예매할 수 있습니다.", next: "바로 좌석을 선택해 주세요." }),
  queue_full: ({ retryAfter }) => ({ what: "대기 인원이 가득 찼습니다.", next: `${retryAfter ?? 5}초 뒤에 다시 시도해 주세요.` }),
  validation: ({ message }) => ({ what: message ?? "입력한 내용을 확인해 주세요.", next: "수정한 뒤 다시 시도해 주세요." }),
  missing_user: () => ({ what: "사용자를 확인할 수 없습니다.", next: "화면 위쪽에서 사용자를 선택해 주세요." }),
  unauthorized: () => ({ what: "로그인하지 않으셨거나 로그인이 만료되었습니다.", next: "화면 위쪽에서 로그인한 뒤 계속해 주세요." }),
  forbidden: () => ({ what: "다른 사용자의 예매입니다.", next: "화면 위쪽에서 현재 사용자를 확인해 주세요." }),
  not_found: () => ({ what: "더 이상 존재하지 않습니다.", next: "페이지를 새로고침해 주세요." }),
  idempotency_mismatch: () => ({ what: "이 요청은 이미 다른 내용으로 접수되었습니다.", next: "다시 시도하시면 새 요청으로 보냅니다." }),
  rate_limited: ({ retryAfter }) => ({ what: "짧은 시간에 요청이 너무 많았습니다.", next: `${retryAfter ?? 1}초 뒤에 다시 시도해 주세요.` }),
  service_unavailable: busy,
  redis_error: busy,
  sequence_unavailable: busy,
  internal_error: ({ traceId }) => ({ what: "서버에 문제가 발생했습니다.", next: `다시 시도하기 전에 내 예매를 확인해 주세요.${traceId ? ` 문의용 번호: ${traceId}` : ""}` }),
  hold_not_found: () => ({ what: "이미 해제된 선점입니다.", next: "다시 선택해 주세요." }),
  hold_expired: () => ({ what: "확정할 수 있는 시간이 지났습니다.", next: "선점이 해제되어 다시 판매됩니다. 아직 남아 있다면 다시 선택해 주세요." }),
  hold_already_processed: () => ({ what: "이미 확정되었거나 취소된 선점입니다.", next: "내 예매에서 확인해 주세요." }),
  hold_key_conflict: () => ({ what: "방금 다른 분이 선점했습니다.", next: "다시 선택해 주세요." }),
  unreachable: () => ({ what: "서버가 응답하지 않았습니다.", next: "처리되었는지 아직 알 수 없습니다. 다시 시도해도 두 번 예매되지 않습니다." }),
};
