/** How every chart is drawn: the palette's colours, units on the axes, one crosshair over all charts of a page. */

import uPlot from "uplot";

import { number } from "../i18n/format";

export interface Line {
  label: string;
  /** A token of the palette. */
  colour: string;
  values: readonly (number | null)[];
  dashed?: boolean;
  fill?: boolean;
  /** Shown beside the label; the newest value unless given. */
  figure?: number;
}

export interface ChartForm {
  unit: string;
  lines: readonly Line[];
  /** Each line stands on the one before it. */
  stacked: boolean;
  /** A value holds until the next one. */
  stepped: boolean;
  /** Times are seconds since a start, not moments; this names them. */
  since: string | undefined;
  /** Called with the place of the crosshair among the times; null: it is nowhere. */
  point: (index: number | null) => void;
}

export const HEIGHT = 220;

const two = (n: number) => String(n).padStart(2, "0");
const clock = (seconds: number) => {
  const date = new Date(seconds * 1_000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
};

/** A time of the chart, as a reader writes it. */
export const placed = (at: number, since: string | undefined): string => (since ? `${number(Math.round(at * 10) / 10)} s` : clock(at));

/** How far the crosshair may be from the time that it shows: beside all values it shows none. */
const NEAR_PX = 16;

function near({ cursor, data, valToPos }: uPlot): number | null {
  const at = cursor.idx == null ? undefined : data[0][cursor.idx];
  return at !== undefined && Math.abs(valToPos(at, "x") - (cursor.left ?? 0)) <= NEAR_PX ? (cursor.idx ?? null) : null;
}

/** The values as they are drawn: in a stack, each is added to the sum of those below it. */
export function drawn(lines: readonly Line[], stacked: boolean): (number | null)[][] {
  if (!stacked) return lines.map((line) => [...line.values]);
  const sums: number[] = [];
  return lines.map((line) => line.values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))));
}

export function options(width: number, { unit, lines, stacked, stepped, since, point }: ChartForm): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const font = "13px system-ui";
  const axis = { stroke: token("soft"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false }, font, labelFont: font, labelSize: 18, labelGap: 2 };
  const paths = stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    width,
    height: HEIGHT,
    cursor: { sync: { key: "charts" }, y: false, drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [(plot) => point(near(plot))] },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
    axes: [
      { ...axis, space: since ? 60 : 90, size: 30, ...(since ? { label: since } : {}), values: (_, splits) => splits.map(since ? number : clock) },
      { ...axis, size: 54, ...(unit ? { label: unit } : {}), values: (_, splits) => splits.map((value) => number(value)) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: token(line.colour),
        width: stacked ? 1 : 1.6,
        spanGaps: !stacked,
        points: { show: false },
        ...(paths ? { paths } : {}),
        ...(line.dashed ? { dash: [5, 4] } : {}),
        ...(stacked ? { fill: `${token(line.colour)}88` } : line.fill ? { fill: `${token(line.colour)}22` } : {}),
      })),
    ],
    // Between a line of a stack and the one below it.
    ...(stacked ? { bands: lines.slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number] })) } : {}),
  };
}
