/** Puts a refusal into the viewer's words. */

import { serverClock } from "../api/clock.svelte";
import { clock } from "../i18n/format";
import { language } from "../i18n/language.svelte";
import { common } from "../kit/words";
import type { BuyerReason, Refusal, Told } from "./facts";

/** `name` gives the name of a seat. A reason of a newer server is told in the server's own words. */
export function tell(refusal: Refusal, name: (seat: number) => string = String): Told {
  const words = common[language.now].outcomes[refusal.reason as BuyerReason];
  if (!words) return { what: refusal.message ?? refusal.reason, next: "" };
  const again = refusal.retryAfter ? clock(new Date(serverClock.exact() - serverClock.offset + refusal.retryAfter * 1_000)) : null;
  return words({ ...refusal, seats: (refusal.seatIds ?? []).map(name).join(", "), again });
}
