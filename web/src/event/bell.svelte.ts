/** "Tell me when one returns": a notice in the page, and one of the system where the viewer allows it. */

import { language } from "../i18n/language.svelte";
import { toasts } from "../kit/toasts.svelte";
import type { Sale } from "./sale.svelte";
import { eventWords } from "./words";

class Bell {
  on = $state(false);
  #stop: (() => void) | null = null;

  async turn(sale: Sale): Promise<void> {
    this.on = !this.on;
    this.#stop?.();
    this.#stop = null;
    const { board, event } = sale;
    if (!this.on || !board || !event) return;
    let before = board.free;
    this.#stop = board.listen(() => {
      if (before === 0 && board.free > 0) this.#ring(eventWords[language.now].returned(event.name, board.free));
      before = board.free;
    });
    if ("Notification" in window && Notification.permission === "default") await Notification.requestPermission();
  }

  #ring(text: string): void {
    toasts.say(text, "good");
    try {
      if ("Notification" in window && Notification.permission === "granted" && document.hidden) new Notification(text);
    } catch {
      // Chrome on Android shows those of service workers only.
    }
  }
}

export const bell = new Bell();
