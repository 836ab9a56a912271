import { number } from "../i18n/format";
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
      ? { what: "Your earlier request is still being worked on.", next: "Wait a moment; its answer comes here." }
      : facts.scope === "ip"
        ? { what: "Many requests come from your network right now.", next: `Try again in ${facts.retryAfter ?? 1} s.` }
        : yours(facts),
  already_reserved: yours,
  limit_reached: ({ limit, current }) => ({
    what: limit ? `One person can have ${number(limit)} here; you have ${number(current ?? 0)}.` : "This is as much as one person can have here.",
    next: "Choose fewer, or give something back first.",
  }),
  seat_taken: () => ({ what: "Somebody was a moment faster.", next: "These seats on the map are still free." }),
  not_available: ({ seats, nights }) =>
    nights?.length
      ? { what: `No room is left on ${nights.join(", ")}.`, next: "Choose other nights; the calendar shows what is left." }
      : { what: seats ? `Somebody was a moment faster: ${seats}.` : "Somebody was a moment faster.", next: "Nothing was held. The seats around are still free." },
  not_open: () => ({ what: "The sale is not open.", next: "This page turns by itself when it opens." }),
  closed: () => ({ what: "The sale is closed.", next: "What you bought stays yours." }),
  entry_required: () => ({ what: "Your turn has ended.", next: "Join the line again; this page leads you in." }),
  not_ready: () => ({ what: "It is not your turn yet.", next: "Keep this page open; the door opens by itself." }),
  not_queued: () => ({ what: "You are not in the line.", next: "Join it to be let in." }),
  no_waiting_room: () => ({ what: "This event has no waiting room any more.", next: "You can choose a seat right away." }),
  queue_full: ({ retryAfter }) => ({ what: "The line is full.", next: `Try to join again in ${retryAfter ?? 5} s.` }),
  validation: ({ message }) => ({ what: message ?? "Something in the form is not right.", next: "Correct it and send it again." }),
  missing_user: () => ({ what: "The server does not know who you are.", next: "Say who you are at the top of the page." }),
  unauthorized: () => ({ what: "You are not signed in, or your sign-in has expired.", next: "Sign in at the top of the page, then go on here." }),
  forbidden: () => ({ what: "This belongs to somebody else.", next: "Check at the top of the page who you are." }),
  not_found: () => ({ what: "It does not exist any more.", next: "Reload the page to see what is there." }),
  idempotency_mismatch: () => ({ what: "This request was sent before with other content.", next: "Try again; it is sent as a new one." }),
  rate_limited: ({ retryAfter }) => ({ what: "That was a little fast.", next: `Try again in ${retryAfter ?? 1} s.` }),
  service_unavailable: busy,
  redis_error: busy,
  sequence_unavailable: busy,
  internal_error: ({ traceId }) => ({ what: "Something broke on our side.", next: `Look at My tickets before you try again. For the support: ${traceId ?? "no id"}.` }),
  hold_not_found: () => ({ what: "What you held is not held any more.", next: "Choose again; the map shows what is free." }),
  hold_expired: () => ({ what: "The time to confirm is over.", next: "The seats went back on sale. They may still be free: choose again." }),
  hold_already_processed: () => ({ what: "This was already confirmed or given back.", next: "My tickets shows what you have." }),
  hold_key_conflict: () => ({ what: "Somebody else has just held this.", next: "Choose again." }),
  unreachable: () => ({ what: "The server did not answer.", next: "We do not know yet whether it went through. Try again: you will not pay twice." }),
};
