/** What draws a map. There are two: SVG for halls, a canvas for stadiums. */

import { FREE, HELD, type SeatBoard } from "./board.svelte";
import type { Plan } from "./geometry";
import type { Viewport } from "./viewport";

/** How a seat looks. */
export type Look = "free" | "held" | "sold" | "mine" | "chosen";

export interface Scene {
  plan: Plan;
  board: SeatBoard;
  mine: ReadonlySet<number>;
  chosen: ReadonlySet<number>;
  /** Where the keyboard is; 0: nowhere. */
  cursor: number;
}

export interface Painter {
  /** The window moved. */
  moved: (viewport: Viewport) => void;
  /** These seats may look different; null: all. `pulse`: show that something happened. */
  turned: (seats: readonly number[] | null, pulse: boolean) => void;
  /** The cursor moved, or the colours changed. */
  refresh: () => void;
  destroy: () => void;
}

/** More at once is a rush: it is seen anyway. */
export const PULSES_MOST = 150;
export const SVG_MOST = 5_000;

export function lookOf(scene: Scene, seat: number): Look {
  if (scene.mine.has(seat)) return "mine";
  const state = scene.board.at(seat);
  if (state === FREE) return scene.chosen.has(seat) ? "chosen" : "free";
  return state === HELD ? "held" : "sold";
}
