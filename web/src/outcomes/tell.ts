/** Puts a refusal into the viewer's words. */

import { clock } from "../i18n/format";
import { language } from "../i18n/language.svelte";
import { common } from "../kit/words";
import type { BuyerReason, Refusal, Told } from "./facts";

/** `name` gives the name of a seat. A reason of a newer server is told in the server's own words. */
export function tell(refusal: Refusal, name: (seat: number) => string = String): Told {
  const words = common[language.now].outcomes[refusal.reason as BuyerReason];
  if (!words) return { what: refusal.message ?? refusal.reason, next: "" };
  const again = refusal.at && refusal.retryAfter ? clock(new Date(refusal.at + refusal.retryAfter * 1_000)) : null;
  return words({ ...refusal, seats: (refusal.seatIds ?? []).map(name).join(", "), again });
}
