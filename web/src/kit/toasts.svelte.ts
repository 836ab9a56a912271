/** Short notices at the bottom of the page that go by themselves. */

export interface Toast {
  id: number;
  text: string;
  tone: "plain" | "good" | "bad";
}

const STAYS_MS = 6_000;

class Toasts {
  list = $state<Toast[]>([]);
  #last = 0;

  say(text: string, tone: Toast["tone"] = "plain"): void {
    this.list = [...this.list.filter((toast) => toast.text !== text), { id: (this.#last += 1), text, tone }].slice(-3);
    const id = this.#last;
    setTimeout(() => this.dismiss(id), STAYS_MS);
  }

  dismiss(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
