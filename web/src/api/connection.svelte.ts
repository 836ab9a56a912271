/** Whether the server answers. The bar on top of a page shows it, and goes by itself. */

class Connection {
  away = $state(false);
  /** The seconds after which a busy server is asked again for what the viewer wants; 0: nothing waits. */
  again = $state(0);
  #listeners: (() => void)[] = [];

  /** Calls back when the server is back: what was missed meanwhile is read anew. */
  onReturn(back: () => void): void {
    this.#listeners.push(back);
  }

  answered(): void {
    if (!this.away) return;
    this.away = false;
    for (const back of this.#listeners) back();
  }

  failed(): void {
    this.away = true;
  }
}

export const connection = new Connection();
addEventListener("offline", () => connection.failed());
