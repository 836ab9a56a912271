/**
 * The states of an event's seats, as the stream or the polls tell them. The bytes are not reactive: a hall has up
 * to a million of them. Maps listen for the seats that changed; the counts are reactive.
 */

export const FREE = 0;
export const HELD = 1;
export const SOLD = 2;
export type SeatState = typeof FREE | typeof HELD | typeof SOLD;

const BY_LETTER: Record<string, SeatState> = { f: FREE, h: HELD, s: SOLD };

/** The seats that changed, or null: all may have. */
export type BoardListener = (changed: readonly number[] | null) => void;

export class SeatBoard {
  /** By seat id; the first seat is 1. */
  readonly states: Uint8Array;
  free = $state(0);
  held = $state(0);
  sold = $state(0);
  /** A snapshot was read. */
  known = $state(false);
  readonly #listeners = new Set<BoardListener>();

  constructor(readonly seatCount: number) {
    this.states = new Uint8Array(seatCount + 1);
    this.free = seatCount;
  }

  at(seat: number): SeatState {
    return this.states[seat] as SeatState;
  }

  listen(listener: BoardListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Run-length text: `684s4h312f`. */
  readRuns(runs: string): void {
    const next = new Uint8Array(this.states.length);
    let seat = 1;
    for (const [, count, letter] of runs.matchAll(/(\d+)([fhs])/g)) {
      const end = seat + Number(count);
      next.fill(BY_LETTER[letter ?? "f"] ?? FREE, seat, end);
      seat = end;
    }
    this.#replace(next);
  }

  /** Every seat's state, in order. */
  readAll(states: Iterable<SeatState>): void {
    const next = new Uint8Array(this.states.length);
    let seat = 1;
    for (const state of states) next[seat++] = state;
    this.#replace(next);
  }

  /** Some seats are in this state now. */
  turn(seats: readonly number[], state: SeatState): void {
    const changed = seats.filter((seat) => seat > 0 && seat <= this.seatCount && this.states[seat] !== state);
    for (const seat of changed) {
      this.#count(this.at(seat), -1);
      this.#count(state, 1);
      this.states[seat] = state;
    }
    if (changed.length > 0) this.#tell(changed);
  }

  /** What the server counted. It is right where a seat is in between. */
  counted(free: number, held: number, sold: number): void {
    this.free = free;
    this.held = held;
    this.sold = sold;
  }

  #replace(next: Uint8Array): void {
    const changed: number[] = [];
    const counts = [0, 0, 0];
    for (let seat = 1; seat < next.length; seat += 1) {
      counts[next[seat]!]! += 1;
      if (next[seat] !== this.states[seat]) changed.push(seat);
    }
    this.states.set(next);
    this.counted(counts[FREE]!, counts[HELD]!, counts[SOLD]!);
    const first = !this.known;
    this.known = true;
    if (first) this.#tell(null);
    else if (changed.length > 0) this.#tell(changed);
  }

  #count(state: SeatState, by: number): void {
    if (state === FREE) this.free += by;
    else if (state === HELD) this.held += by;
    else this.sold += by;
  }

  #tell(changed: readonly number[] | null): void {
    for (const listener of this.#listeners) listener(changed);
  }
}
