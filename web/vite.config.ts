import { fileURLToPath } from "node:url";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Connect, type Plugin } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** One HTML file per page, so that a buyer does not load the console. */
const PAGES = ["index", "event", "rooms", "me", "missing"];
/** Built by itself (`--mode console`), so that what it needs of the framework makes no buyer's page larger. */
const CONSOLE = ["admin"];

/** One script and one style, which `tickettock rush --html` writes into the page (`rush/page.rs`). */
const REPORT = {
  input: here("./src/report/main.ts"),
  output: { format: "iife" as const, codeSplitting: false, entryFileNames: "report/report.js", assetFileNames: "report/report[extname]" },
};

/** The addresses under which the server serves them (`http/resources/page.rs`). */
function pageOf(path: string): string | undefined {
  if (/^\/events\/[^/]+$/.test(path)) return "/event.html";
  return ["/rooms", "/me", "/admin"].includes(path) ? `${path}.html` : undefined;
}

function addresses(): Plugin {
  const serve = (server: { middlewares: { use: (handle: Connect.NextHandleFunction) => void } }) => {
    server.middlewares.use((request, _, next) => {
      const page = pageOf((request.url ?? "").split("?")[0] ?? "");
      if (page) request.url = page;
      next();
    });
  };
  return { name: "addresses", configureServer: serve, configurePreviewServer: serve };
}

/** Nothing is painted before the script has set theme and language: no flash of the other one. */
function paintOnce(): Plugin {
  return {
    name: "paint-once",
    enforce: "post",
    transformIndexHtml: (html) => html.replace('<script type="module" crossorigin', '<script type="module" blocking="render"'),
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [svelte(), addresses(), paintOnce()],
  resolve: {
    alias: {
      "@sdk": here("../sdk/typescript/src"),
      // The client's own sources are outside this folder and find their one dependency here.
      "openapi-fetch": here("./node_modules/openapi-fetch/dist/index.mjs"),
    },
  },
  build: {
    target: "es2022",
    // The policy of the pages allows no `data:`.
    assetsInlineLimit: 0,
    emptyOutDir: mode === "production",
    cssCodeSplit: mode !== "report",
    modulePreload: { polyfill: false },
    rolldownOptions: mode === "report" ? REPORT : {
      input: Object.fromEntries((mode === "console" ? CONSOLE : PAGES).map((page) => [page, here(`./${page}.html`)])),
      // One chunk of what all pages share: it is cached once, and compresses better than many small ones. A month is
      // on one of the buyer's pages only, and its dates and words with it.
      output: {
        codeSplitting: {
          groups: [{ name: "kit", test: /node_modules\/(svelte|openapi-fetch|clsx|esm-env)\/|sdk\/typescript\/src\/(?!draw\.)|src\/(kit(?!\/(Month|MonthGrid|dates)\.)|api|i18n(?!\/month\.))\/|outcomes\/tell|event\/purchase/ }],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/docs", "/openapi", "/try", "/assets/page.", "/assets/docs.", "/livez", "/readyz", "/metrics"].map((path) => [
        path,
        process.env.SHOP_URL ?? "http://127.0.0.1:5800",
      ]),
    ),
    fs: { allow: [here("."), here("../sdk")] },
  },
}));
