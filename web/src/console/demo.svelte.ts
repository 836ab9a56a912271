/** The crowd of a demo, and its plug. The serving process may be dark meanwhile: what it said last stays. */

import { isAway, operator } from "./session.svelte";

export interface Verdict {
  soldByLedger: number;
  receipts: number;
  soldTwice: number;
  lost: number;
  toldSoldOut: number;
  gaveUp: number;
  unexplained: number;
  invariantsBroken: number | null;
  holds: boolean;
  sentence: string;
  latencyMs: Record<string, number>;
}

export interface DemoState {
  phase: "idle" | "rushing" | "dark" | "counting" | "done" | "failed";
  run: number;
  eventId: number | null;
  crowd: { buyers: number; seats: number } | null;
  arrived: number;
  settled: number;
  reserved: number;
  plug: { soldBefore: number; darkMs: number | null } | null;
  verdict: Verdict | null;
  error: string | null;
}

const BUSY = new Set(["rushing", "dark", "counting"]);

class Demo {
  state = $state.raw<DemoState | null>(null);
  /** A wish was sent; the demo takes it within moments. */
  asked = $state(false);
  running = $derived(this.asked || BUSY.has(this.state?.phase ?? "idle"));
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Whether this server is one of a demo; null: it does not answer. */
  async find(): Promise<boolean | null> {
    try {
      const { demo } = await operator.get<{ demo: DemoState | null }>("/api/v1/admin/demo");
      this.state = demo;
      return demo !== null;
    } catch (error) {
      return isAway(error) ? null : false;
    }
  }

  start(): () => void {
    const again = async () => {
      const run = this.state?.run;
      if (!(await this.find()) && this.state && BUSY.has(this.state.phase) && this.state.plug === null) {
        // Nobody answers in the middle of a rush: somebody pulled the plug.
        this.state = { ...this.state, phase: "dark" };
      }
      if (this.state?.run !== run || BUSY.has(this.state?.phase ?? "")) this.asked = false;
      this.#timer = setTimeout(() => void again(), this.running ? 250 : 1_500);
    };
    void again();
    return () => clearTimeout(this.#timer);
  }

  async rush(crowd: Record<string, number | boolean>): Promise<void> {
    await operator.ask("POST", "/api/v1/admin/demo/rush", crowd);
    this.asked = true;
    this.#soon();
  }

  /** Of the rush that runs, or of a new one with this crowd. */
  async pullThePlug(crowd: Record<string, number | boolean>): Promise<void> {
    if (this.running) await operator.ask("POST", "/api/v1/admin/demo/plug");
    else await this.rush({ ...crowd, pullThePlug: true });
  }

  #soon(): void {
    setTimeout(() => (this.asked = false), 5_000);
  }
}

export const demo = new Demo();
