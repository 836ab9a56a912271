/** Sends a request until it is answered by anything else than "come again". */

export interface RetrySettings {
  /** How often to send a request at most. */
  attempts: number;
  /** How long all attempts may take together, in milliseconds. */
  withinMs: number;
  /** Called before each pause, with its length in milliseconds: to tell people that the request is sent again. */
  waits?: (ms: number) => void;
}

export const DEFAULTS: RetrySettings = { attempts: 8, withinMs: 120_000 };

/** No attempt was answered. Whether a request was carried out is not known; the same key will tell. */
export class Unreachable extends Error {
  constructor(
    readonly attempts: number,
    /** Send it again with this key: if an attempt was carried out after all, the answer is that one's. */
    readonly idempotencyKey: string | undefined,
    cause: unknown,
  ) {
    super(`no answer after ${attempts} attempts`, { cause });
    this.name = "Unreachable";
  }
}

const LEAST_MS = 250;
const MOST_MS = 5_000;
/** Statuses that say "come again" whatever was asked. */
const AGAIN = new Set([408, 429, 502, 503, 504]);
/** Reasons with another status that say the same. */
const REASONS = new Set(["contention", "lock_timeout"]);

export async function persistent(
  send: () => Promise<Response>,
  settings: RetrySettings,
  key: string | undefined,
  signal?: AbortSignal,
): Promise<Response> {
  const until = Date.now() + settings.withinMs;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send().catch((error: unknown) => {
      if (signal?.aborted) throw error;
      return error;
    });
    if (answer instanceof Response && !(await comesAgain(answer))) return answer;
    const pause = pauseMs(answer, attempt);
    if (attempt >= settings.attempts || Date.now() + pause > until) {
      if (answer instanceof Response) return answer;
      throw new Unreachable(attempt, key, answer);
    }
    settings.waits?.(pause);
    await rest(pause, signal);
  }
}

async function comesAgain(answer: Response): Promise<boolean> {
  if (AGAIN.has(answer.status)) return (await reasonOf(answer)) !== "queue_full";
  return answer.status === 409 && REASONS.has(await reasonOf(answer));
}

async function reasonOf(answer: Response): Promise<string> {
  const body: unknown = await answer.clone().json().catch(() => undefined);
  return body && typeof body === "object" && "reason" in body ? String(body.reason) : "";
}

/** What the server asked for and a little more, so that not everybody comes at once. */
function pauseMs(answer: unknown, attempt: number): number {
  const asked = answer instanceof Response ? Number(answer.headers.get("retry-after")) : 0;
  const least = asked > 0 ? asked * 1_000 : Math.min(MOST_MS, LEAST_MS * 2 ** (attempt - 1));
  return least * (1 + Math.random() / 4);
}

/** Waits, unless it is cancelled. */
export function rest(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, cancelled) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      cancelled(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
