/**
 * Who the viewer is. The server writes into the page how it tells users apart: by a header that it believes
 * (trying out, or behind a proxy that sets it), or by a token that the shop handed out.
 */

import { onElsewhere, recall, remember } from "../kit/remembered";

const [mode = "header", header = "X-User-Id"] = (document.documentElement.dataset.identity ?? "").split(" ");

function fresh(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(5));
  return `guest-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** What somebody may choose as their id. */
export const USER_ID = /^[!-~]{1,128}$/;
/** What a header can carry: with anything else no request leaves the page. */
const CARRIED = /^[ -~]+$/;

function firstUser(): string {
  const kept = recall("user");
  const user = kept && CARRIED.test(kept) ? kept : fresh();
  remember("user", user);
  return user;
}

/** A shop hands the token over in the fragment, which no server sees; it is taken out of the address at once. */
function handedToken(): string | null {
  const handed = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!handed) return recall("token");
  remember("token", handed);
  history.replaceState(history.state, "", location.pathname + location.search);
  return handed;
}

/** The `sub` of a token, to show it. The server alone decides whether the token is good. */
function subject(token: string | null): string | null {
  try {
    const body = (token ?? "").split(".")[1] ?? "";
    const text = atob(body.replaceAll("-", "+").replaceAll("_", "/"));
    const read: unknown = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    return read && typeof read === "object" && "sub" in read ? String(read.sub) : null;
  } catch {
    return null;
  }
}

class Identity {
  readonly mode: "header" | "jwt" = mode === "jwt" ? "jwt" : "header";
  #user = $state(firstUser());
  #token = $state(handedToken());
  /** The server refused the token, or needs one: the page asks for it. */
  refused = $state(false);
  /** How often it asks: once, and again when the viewer does something that needs it. */
  asks = $state(0);
  readonly name = $derived(this.mode === "jwt" ? subject(this.#token) : this.#user);

  constructor() {
    // Somebody else looks at this page now, here or in another tab: it begins anew.
    onElsewhere("user", () => location.reload());
    onElsewhere("token", () => location.reload());
  }

  get token(): string | null {
    return this.#token;
  }

  get user(): string {
    return this.#user;
  }

  become(user: string): void {
    if (user === this.#user) return;
    remember("user", user);
    this.#user = user;
    location.reload();
  }

  becomeFresh(): void {
    this.become(fresh());
  }

  useToken(token: string | null): void {
    remember("token", token);
    this.#token = token;
    this.refused = false;
    location.reload();
  }

  /** An answer said so. `acted`: to something that the viewer did. */
  refuse(acted: boolean): void {
    if (acted || !this.refused) this.asks += 1;
    this.refused = true;
  }

  /** There is somebody to ask for. */
  get known(): boolean {
    return this.mode === "header" || this.#token !== null;
  }

  sign(headers: Headers): void {
    if (this.mode === "header") headers.set(header, this.#user);
    else if (this.#token) headers.set("Authorization", `Bearer ${this.#token}`);
  }
}

export const identity = new Identity();
