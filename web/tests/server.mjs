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
  static async start() {
    const server = new Server();
    server.port = await freePort();
    server.base = `http://127.0.0.1:${server.port}`;
    await server.up();
    return server;
  }

  async up() {
    const { TICKETTOCK, DATA_DIR } = process.env;
    this.child = spawn(TICKETTOCK, ["serve"], {
      env: { ...process.env, DATA_DIR, APP_PORT: String(this.port), RUST_LOG: "error" },
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.ended = new Promise((done) => this.child.once("exit", done));
    for (;;) {
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
