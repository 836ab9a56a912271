/** What draws a map. There are two: SVG for halls, a canvas for stadiums. */

import { FREE, HELD, type SeatBoard } from "./board.svelte";
import type { Plan } from "./geometry";
import type { Viewport } from "./viewport";

/** How a seat looks. `accessible`: free, and a wheelchair can reach it. */
export type Look = "free" | "accessible" | "held" | "sold" | "mine" | "chosen";

export const DISC = 0.41;
/** Told apart without colour: outline, wheelchair, clock hands, cross, check, dot. Lines of x and y from the seat's middle. */
export const SIGNS: Record<Look, number[][]> = {
  free: [],
  // A head, a body on its seat, and a wheel.
  accessible: [
    [-0.06, -0.25, -0.05, -0.25],
    [-0.05, -0.13, -0.05, 0.05, 0.1, 0.05, 0.17, 0.2],
    [-0.12, -0.03, -0.18, 0.06, -0.17, 0.17, -0.09, 0.24, 0.01, 0.25, 0.08, 0.19],
  ],
  held: [[0, -0.2, 0, 0, 0.15, 0.1]],
  sold: [
    [-0.13, -0.13, 0.13, 0.13],
    [0.13, -0.13, -0.13, 0.13],
  ],
  mine: [[-0.19, 0.01, -0.05, 0.15, 0.2, -0.15]],
  chosen: [[-0.01, 0, 0.01, 0]],
};

/** A sign as the path of an SVG. */
export const signOf = (look: Look): string => SIGNS[look].map((line) => `M${line.join(" ")}`).join("");

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
  if (state === FREE) return scene.chosen.has(seat) ? "chosen" : scene.plan.accessible.has(seat) ? "accessible" : "free";
  return state === HELD ? "held" : "sold";
}
