// A receiver of webhooks that a test controls, and that checks signatures by itself.

import { createHmac } from "node:crypto";
import { createServer } from "node:http";

class Message {
  constructor(headers, text) {
    this.id = headers["webhook-id"];
    this.type = JSON.parse(text).type;
    this.signatures = headers["webhook-signature"].split(" ");
    this.content = `${this.id}.${headers["webhook-timestamp"]}.${text}`;
  }

  signedBy(secret) {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    return this.signatures.includes(`v1,${createHmac("sha256", key).update(this.content).digest("base64")}`);
  }
}

export class Receiver {
  /** What it answers. */
  status = 204;
  messages = [];

  static async start() {
    const receiver = new Receiver();
    receiver.server = createServer(async (request, answer) => {
      let text = "";
      for await (const part of request) text += part;
      receiver.messages.push(new Message(request.headers, text));
      answer.writeHead(receiver.status).end();
    });
    await new Promise((done) => receiver.server.listen(0, "127.0.0.1", done));
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}/hooks`;
    return receiver;
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Waits for the first, or another one, of a type. */
  async last(type, count = 1) {
    for (let tries = 0; tries < 1_000; tries += 1) {
      const found = this.messages.filter((message) => message.type === type);
      if (found.length >= count) return found[count - 1];
      await new Promise((done) => setTimeout(done, 20));
    }
    throw new Error(`no ${type} number ${count}: ${this.messages.map((message) => message.type)}`);
  }
}
