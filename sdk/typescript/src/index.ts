/** Client for Tickettock. See the README for the first twenty lines. */

export { Tickettock } from "./client.js";
export type { Changed, HoldRequest, Settings, Stand, StreamOptions, WaitOptions, WatchOptions } from "./client.js";
export { commitmentOf, drawnNumber, DRAWN_FROM } from "./draw.js";
export { NoStream, seatStates } from "./stream.js";
export type { StreamMessage } from "./stream.js";
export { Unreachable } from "./retry.js";
export type { RetrySettings } from "./retry.js";
export type { Reason, Refused, Result, Succeeded } from "./result.js";
export type { components, operations, paths } from "./schema.js";
