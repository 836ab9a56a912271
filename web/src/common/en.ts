/** What every page may say: the words around it, and what an outcome means. */

import { en as outcomes } from "../outcomes/en";

export const en = {
  outcomes,
  skip: "Skip to the content",
  ways: "Pages",
  events: "Events",
  rooms: "Rooms",
  mine: "My tickets",
  docs: "API reference",
  tryApi: "Try the API",
  console: "Console",
  who: "Who am I?",
  whoTitle: "Who am I?",
  whoHeader: "For trying things out: this server accepts any user ID. Change it to act as somebody else.",
  whoToken: "Paste the token that your shop gave you when you signed in. It stays in this browser.",
  userId: "User ID",
  userIdSigns: "Use letters, digits and signs, without spaces.",
  token: "Token",
  newUser: "New user",
  save: "Use this ID",
  signIn: "Sign in",
  signOut: "Sign out",
  tokenRefused: "The server did not accept this token, or it has expired. Sign in again at your shop and paste the new one.",
  raw: "The server's answer, as JSON",
  close: "Close",
  again: (s: number) => `Busy for a moment. We'll try again in ${s} s.`,
  states: { scheduled: "Not open yet", open: "On sale", paused: "Paused", closed: "Closed", soldOut: "Sold out" },
  loading: "Loading",
  away: "The server is away. We keep trying; nothing you did is lost.",
  stub: { number: "Arrival number", reservation: "Reservation", bought: "Bought", copy: "Copy the reservation id", copied: "Copied.", notCopied: "This browser does not let the page copy it: select it instead." },
};

export type CommonWords = typeof en;
