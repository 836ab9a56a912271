/** Where an arrow key goes from a seat: along its row, or to the nearest seat of the row above or below. */

import type { Plan } from "./geometry";

export function step(plan: Plan, from: number, key: string): number {
  if (!from) return plan.lines[0]?.first ?? 0;
  const line = plan.rowOf(from);
  if (key === "ArrowLeft") return Math.max(line.first, from - 1);
  if (key === "ArrowRight") return Math.min(line.first + line.count - 1, from + 1);
  const next = plan.lines[line.index + (key === "ArrowDown" ? 1 : -1)];
  if (!next) return from;
  const along = Math.round(plan.xs[from]! - plan.xs[next.first]!);
  return next.first + Math.max(0, Math.min(next.count - 1, along));
}
