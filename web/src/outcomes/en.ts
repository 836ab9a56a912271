import { day, number } from "../i18n/format";
import type { Facts, Outcomes, Told } from "./facts";

const busy = ({ retryAfter }: Facts): Told => ({
  what: "Busy for a moment.",
  next: retryAfter ? `Nothing was lost. Try again in ${retryAfter} s.` : "Nothing was lost. Try again in a moment.",
});
const yours = (facts: Facts): Told => ({
  what: facts.seat ? `You already have seat ${facts.seat.name}.` : "You already have a seat here.",
  next: "It is on this page and under My tickets.",
});

export const en: Outcomes = {
  sold_out: () => ({ what: "All seats are gone.", next: "If one is returned, it appears here." }),
  held_out: ({ again }) => ({
    what: "Every free seat is in somebody's checkout.",
    next: again ? `The first one may return at ${again}.` : "One may return at any moment; it appears here.",
  }),
  contention: () => ({ what: "Too many people wanted it at the same moment.", next: "Nothing was bought. Try again." }),
  lock_timeout: () => ({ what: "Too many people wanted it at the same moment.", next: "Nothing was held. Try again." }),
  duplicate: (facts) =>
    facts.scope === "user"
      ? { what: "Your earlier request is still being worked on.", next: "Wait a moment; the answer appears here." }
      : facts.scope === "ip"
        ? { what: "Many requests come from your network right now.", next: `Try again in ${facts.retryAfter ?? 1} s.` }
        : yours(facts),
  already_reserved: yours,
  limit_reached: ({ limit, current }) =>
    limit === undefined
      ? { what: "It cannot be held any longer.", next: "Confirm before the time is over." }
      : { what: `The limit is ${number(limit)} per person; you have ${number(current ?? 0)}.`, next: "Choose fewer, or give something back first." },
  seat_taken: () => ({ what: "Somebody was a moment faster.", next: "Choose a free seat nearby." }),
  not_available: ({ seats, nights }) =>
    nights?.length
      ? { what: `No room is left on ${nights.map(day).join(", ")}.`, next: "Choose other nights; the calendar shows what is left." }
      : { what: seats ? `Somebody was a moment faster: ${seats}.` : "Somebody was a moment faster.", next: "Nothing was held. Choose free seats nearby." },
  not_open: () => ({ what: "The sale is not open.", next: "This page updates by itself when it opens." }),
  closed: () => ({ what: "The sale is closed.", next: "What you bought stays yours." }),
  entry_required: () => ({ what: "Your turn has ended.", next: "Join the line again, and we'll let you in when it's your turn." }),
  not_ready: () => ({ what: "It is not your turn yet.", next: "Keep this page open. You'll be let in automatically." }),
  not_queued: () => ({ what: "You are not in the line.", next: "Join it to be let in." }),
  no_waiting_room: () => ({ what: "This event has no waiting room any more.", next: "You can choose a seat right away." }),
  queue_full: ({ retryAfter }) => ({ what: "The line is full.", next: `Try to join again in ${retryAfter ?? 5} s.` }),
  validation: ({ message }) => ({ what: message ?? "Something in the form is not right.", next: "Correct it and send it again." }),
  missing_user: () => ({ what: "The server does not know who you are.", next: "Choose a user at the top of the page." }),
  unauthorized: () => ({ what: "You are not signed in, or your sign-in has expired.", next: "Sign in at the top of the page, then continue here." }),
  forbidden: () => ({ what: "This belongs to somebody else.", next: "Check the user at the top of the page." }),
  not_found: () => ({ what: "It does not exist any more.", next: "Reload the page to see what is there." }),
  idempotency_mismatch: () => ({ what: "This request was already sent with other content.", next: "Try again: it is sent as a new one." }),
  rate_limited: ({ retryAfter }) => ({ what: "Too many tries in a short time.", next: `Try again in ${retryAfter ?? 1} s.` }),
  service_unavailable: busy,
  redis_error: busy,
  sequence_unavailable: busy,
  internal_error: ({ traceId }) => ({ what: "Something went wrong on our side.", next: `Look at My tickets before you try again.${traceId ? ` Support number: ${traceId}.` : ""}` }),
  hold_not_found: () => ({ what: "This hold has ended.", next: "Please choose again." }),
  hold_expired: () => ({ what: "The time to confirm is over.", next: "What you held is back on sale. It may still be free: choose again." }),
  hold_already_processed: () => ({ what: "This was already confirmed or given back.", next: "My tickets shows what you have." }),
  hold_key_conflict: () => ({ what: "Somebody else has just held this.", next: "Choose again." }),
  unreachable: () => ({ what: "The server did not answer.", next: "We do not know yet whether it went through. Try again: you will not pay twice." }),
};
