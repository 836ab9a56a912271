// The built binary as a process that a test stops and starts again: same port, same data.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

export class Server {
  /** `settings` beside those of the suite. */
  static async start(settings = {}) {
    const server = new Server();
    server.settings = settings;
    server.port = await freePort();
    server.base = `http://127.0.0.1:${server.port}`;
    await server.up();
    return server;
  }

  async up() {
    const { TICKETTOCK, DATA_DIR } = process.env;
    this.child = spawn(TICKETTOCK, ["serve"], {
      env: { ...process.env, DATA_DIR, APP_PORT: String(this.port), RUST_LOG: "error", ...this.settings },
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.ended = new Promise((done) => this.child.once("exit", done));
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`the server ended with ${this.child.exitCode}`);
      const ready = await fetch(`${this.base}/readyz`).then((answer) => answer.ok, () => false);
      if (ready) return;
      await new Promise((done) => setTimeout(done, 30));
    }
  }

  /** kill -9. */
  async down() {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  get token() {
    return process.env.ADMIN_TOKEN ?? readFileSync(join(process.env.DATA_DIR, "admin-token"), "utf8").trim();
  }
}
