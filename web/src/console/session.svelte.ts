/** The operator: their token, kept until the tab is closed, and what they ask the server with it. */

import { send, type components } from "../api/client";
import { language } from "../i18n/language.svelte";
import { consoleWords } from "./words";

export type Schema = components["schemas"];

const KEY = "tickettock.operator";

function stored(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** The server said no; its message is for people. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** What is wrong, by its path in the request. */
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

class Operator {
  token = $state(stored());
  /** The server runs as a demo: it has a crowd and a plug. Null: not known yet. */
  demo = $state<boolean | null>(null);

  use(token: string | null): void {
    this.token = token;
    try {
      if (token === null) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, token);
    } catch {
      // Storage is forbidden: it lasts as long as the page.
    }
  }

  async raw(method: string, path: string, body?: unknown, accept = "application/json", token = this.token): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${token ?? ""}`, Accept: accept };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const request = new Request(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    let answer: Response;
    try {
      answer = await send(request);
    } catch {
      throw new Refused(0, consoleWords[language.now].away);
    }
    if (answer.ok) return answer;
    if (answer.status === 401 && token === this.token) this.use(null);
    const refusal = (await answer.json().catch(() => null)) as { message?: string; field?: string } | null;
    throw new Refused(answer.status, refusal?.message ?? consoleWords[language.now].away, refusal?.field);
  }

  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    return (await (await this.raw(method, path, body)).json()) as T;
  }

  get<T>(path: string): Promise<T> {
    return this.ask<T>("GET", path);
  }

  /** A file that needs the token: fetched, then handed to the browser. */
  async download(path: string, name: string): Promise<void> {
    const answer = await this.raw("GET", path, undefined, "text/csv");
    const address = URL.createObjectURL(await answer.blob());
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}

export const operator = new Operator();
/** Nobody answered, or nobody had the time: asking again may help. */
export const isAway = (error: unknown): boolean => error instanceof Refused && (error.status === 0 || error.status === 429 || error.status >= 500);
export const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));
