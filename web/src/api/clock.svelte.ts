/**
 * The server's clock, as far as a page can know it. Every answer bounds the difference: the server wrote its
 * `Date` after the request left and before the answer came. The bounds narrow with each answer.
 */

class ServerClock {
  #low = -Infinity;
  #high = Infinity;
  /** The server's time minus ours, in milliseconds. */
  offset = $state(0);
  /** How far `offset` may be wrong. */
  doubt = $state(Infinity);
  /** Ticks four times a second; whoever shows a countdown reads it. */
  #now = $state(Date.now());

  constructor() {
    setInterval(() => (this.#now = Date.now()), 250);
  }

  /** The server's time, now; what reads it is shown anew as time goes by. */
  get now(): number {
    return this.#now + this.offset;
  }

  /** The server's time of this very moment, without ticking. */
  exact(): number {
    return Date.now() + this.offset;
  }

  /** `at` was written between `sent` and `came`; its unit is as long as `unit`. */
  heard(at: number, sent: number, came: number, unit: number): void {
    const low = at - came;
    const high = at + unit - sent;
    this.#low = Math.max(this.#low, low);
    this.#high = Math.min(this.#high, high);
    if (this.#low > this.#high) {
      // A clock was set in between: begin anew.
      this.#low = low;
      this.#high = high;
    }
    const doubt = (this.#high - this.#low) / 2;
    if (doubt === this.doubt) return;
    this.doubt = doubt;
    this.offset = Math.round((this.#low + this.#high) / 2);
  }
}

export const serverClock = new ServerClock();
