/** Puts a refusal into the viewer's words. */

import { serverClock } from "../api/clock.svelte";
import { clock } from "../i18n/format";
import { language, lazy } from "../i18n/language.svelte";
import type { BuyerReason, Outcomes, Refusal, Told } from "./facts";

const outcomes = lazy<Outcomes>({
  en: () => import("./en").then((module) => module.en),
  ko: () => import("./ko").then((module) => module.ko),
});

/** `name` gives the name of a seat. A reason of a newer server is told in the server's own words. */
export function tell(refusal: Refusal, name: (seat: number) => string = String): Told {
  const words = outcomes[language.now][refusal.reason as BuyerReason];
  if (!words) return { what: refusal.message ?? refusal.reason, next: "" };
  const again = refusal.retryAfter ? clock(new Date(serverClock.exact() - serverClock.offset + refusal.retryAfter * 1_000)) : null;
  return words({ ...refusal, seats: (refusal.seatIds ?? []).map(name).join(", "), again });
}
