/** Whether the server answers. The bar on top of a page shows it, and goes by itself. */

class Connection {
  away = $state(false);
  /** Counts how often the server came back; what was missed meanwhile is read anew. */
  returns = $state(0);

  answered(): void {
    if (!this.away) return;
    this.away = false;
    this.returns += 1;
  }

  failed(): void {
    this.away = true;
  }
}

export const connection = new Connection();
addEventListener("offline", () => connection.failed());
