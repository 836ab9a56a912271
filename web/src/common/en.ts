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
  whoHeader: "This server believes the user id that a page sends: for trying out on one machine. Change it to be somebody else.",
  whoToken: "Paste the token that your shop gave you when you signed in. It stays in this browser.",
  userId: "User id",
  token: "Token",
  newUser: "Somebody new",
  save: "Use it",
  signIn: "Sign in",
  signOut: "Sign out",
  tokenRefused: "The server did not accept this token, or it has expired. Sign in again at your shop and paste the new one.",
  raw: "The server's answer, as JSON",
  close: "Close",
  loading: "Loading",
};

export type CommonWords = typeof en;
