// The pages' logic without a browser: the sources as Vite hands them to a server, where Svelte's state is plain fields;
// a stand-in for the few things of a browser that they use; a server that answers what a test says; time that a test
// lets pass. Each test file runs in a process of its own.

import { before, mock } from "node:test";
import { fileURLToPath } from "node:url";

import { createServer } from "vite";

/** Kept by the browser; a test may look and write. */
export const stored = new Map();
/** Every request that left the page: `GET /api/v1/holds`, its headers and body. */
export const asked = [];
/** What is answered, by `GET /api/v1/holds`: `told(…)`, or a function that makes one. Anything else is a busy server. */
export const answers = {};
/** The live streams that the page opened. */
export const streams = [];

export const told = (body, status = 200, headers = {}) => ({ body, status, headers });
export const refused = (reason, status = 409, more = {}) => told({ success: false, reason, ...more }, status);
export const busy = (retryAfter = 1) => told({ success: false, reason: "service_unavailable", retryAfter }, 503, { "Retry-After": String(retryAfter) });
/** The connection breaks. */
export const lost = () => {
  throw new TypeError("the connection broke");
};

class Stream extends EventTarget {
  constructor(url) {
    super();
    this.url = url;
    streams.push(this);
    queueMicrotask(() => this.onopen?.());
  }
  close() {}
  tell(name, data) {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data), lastEventId: "1" }));
  }
}

async function answered(input, init) {
  const request = input instanceof Request ? input : new Request(new URL(input, location.origin), init);
  const what = `${request.method} ${new URL(request.url).pathname}`;
  const text = await request.text();
  asked.push({ what, headers: request.headers, body: text ? JSON.parse(text) : null });
  const answer = answers[what] ?? busy();
  const { body, status, headers } = typeof answer === "function" ? await answer(request) : answer;
  return new Response(JSON.stringify(body), { status, headers });
}

function standIn(path, dataset) {
  const nothing = () => undefined;
  const body = {};
  const document = { documentElement: { dataset, lang: "en" }, hidden: false, visibilityState: "visible", body, activeElement: body, addEventListener: nothing, removeEventListener: nothing, querySelector: () => null };
  const storage = { getItem: (name) => stored.get(name) ?? null, setItem: (name, value) => void stored.set(name, String(value)), removeItem: (name) => void stored.delete(name) };
  const browser = {
    window: globalThis,
    document,
    localStorage: storage,
    location: { origin: "http://shop.test", pathname: path, search: "", hash: "", reload: nothing },
    history: { state: null, replaceState: nothing },
    navigator: { languages: ["en"], language: "en" },
    addEventListener: nothing,
    removeEventListener: nothing,
    EventSource: Stream,
    fetch: answered,
  };
  for (const [name, value] of Object.entries(browser)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

/**
 * A page at `path`, and the modules of `src/` by the names that a test gives them. From then on time stands still but
 * for `pass`.
 */
export function pageAt(path, modules, { dataset = {}, keeps = {} } = {}) {
  const loaded = {};
  before(async () => {
    const web = fileURLToPath(new URL("../..", import.meta.url));
    const vite = await createServer({
      root: web,
      configFile: `${web}vite.config.ts`,
      logLevel: "error",
      appType: "custom",
      server: { middlewareMode: true, hmr: false, ws: false, watch: null },
      optimizeDeps: { noDiscovery: true, include: [] },
    });
    for (const [name, value] of Object.entries(keeps)) stored.set(`tickettock.${name}`, value);
    standIn(path, dataset);
    const load = (file) => vite.ssrLoadModule(file);
    for (const [name, file] of Object.entries(modules)) loaded[name] = await load(file.startsWith("@") ? file : `/src/${file}`);
    await (await load("/src/i18n/language.svelte.ts")).loadWords("en");
    // One attempt per request: that it is sent again is tested by itself.
    (await load("@sdk/retry")).DEFAULTS.attempts = 1;
    await vite.close();
    mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2027-04-18T10:00:00Z") });
    performance.now = () => Date.now();
  });
  return loaded;
}

/** What was promised happens. */
export async function settled() {
  for (let i = 0; i < 12; i += 1) await new Promise(setImmediate);
}

/** Time goes by, in steps as small as those of the page's own clock. */
export async function pass(ms, step = 250) {
  for (let gone = 0; gone < ms; gone += step) {
    mock.timers.tick(Math.min(step, ms - gone));
    await settled();
  }
}

/** The requests that left the page since `from`, by what they are. */
export const sent = (what, from = 0) => asked.slice(from).filter((one) => one.what === what);
