import type { operations } from "./schema.js";

/** What an operation answers with when it succeeds. */
export type Body<Op extends keyof operations> = Extract<Content<operations[Op]["responses"]>, { success: true }>;

/** What it answers with when it refuses; `reason` is one of the words that this operation has. */
export type Refusal<Op extends keyof operations> = Extract<Content<operations[Op]["responses"]>, { success: false }>;

/** The words with which it refuses. */
export type Reason<Op extends keyof operations> = Refusal<Op> extends infer Each
  ? Each extends { reason: infer Word extends string }
    ? Word
    : never
  : never;

type Content<Responses> = {
  [Status in keyof Responses]: Responses[Status] extends { content: { "application/json": infer Json } } ? Json : never;
}[keyof Responses];

/** The server did it. `replayed`: an earlier request with the same key had done it. */
export type Succeeded<Op extends keyof operations> = { ok: true; status: number; replayed: boolean; data: Body<Op> };

/** The server refused: sold out, not open, another's. Not an exception, because it is how most requests end. */
export type Refused<Op extends keyof operations> = {
  ok: false;
  status: number;
  reason: Reason<Op>;
  /** For people, in their language. */
  message: string;
  /** Seconds after which to ask again, where that makes sense. */
  retryAfter: number | undefined;
  refusal: Refusal<Op>;
};

export type Result<Op extends keyof operations> = Succeeded<Op> | Refused<Op>;
