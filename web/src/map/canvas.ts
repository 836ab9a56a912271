/**
 * Seats on a canvas, for stadiums. From afar one picture of the whole hall is moved and scaled, and a change paints
 * one dot of it; near by, the seats in the window are drawn one by one, with their signs.
 */

import { DISC, lookOf, PULSES_MOST, SIGNS, type Look, type Painter, type Scene } from "./painter";
import type { Viewport } from "./viewport";

const LOOKS = Object.keys(SIGNS) as Look[];
/** Seats drawn one by one at most. */
const SINGLE_MOST = 7_000;
const SINGLE_LEAST_PX = 7;
const PICTURE_MOST_PX = 4_096;
const PULSE_MS = 450;
/** What styles obey by themselves, a canvas has to ask for. */
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

type Colours = Record<Look | "ink" | "soft" | "stage" | "edge", string> & { signs: Record<Look, string> };

export class CanvasPainter implements Painter {
  #canvas = document.createElement("canvas");
  #context = this.#canvas.getContext("2d")!;
  #picture = document.createElement("canvas");
  #dots = this.#picture.getContext("2d")!;
  /** Pixels of the picture per unit. */
  #grain: number;
  #colours: Colours;
  #viewport: Viewport | null = null;
  #asked = 0;
  #pulses: { seat: number; from: number }[] = [];
  #whole = false;

  constructor(
    readonly element: HTMLElement,
    readonly scene: Scene,
  ) {
    const { plan } = scene;
    this.#grain = Math.min(8, PICTURE_MOST_PX / Math.max(plan.width, plan.height));
    this.#picture.width = Math.ceil(plan.width * this.#grain);
    this.#picture.height = Math.ceil(plan.height * this.#grain);
    this.#canvas.className = "map-canvas";
    this.#canvas.setAttribute("aria-hidden", "true");
    this.#colours = this.#read();
    element.append(this.#canvas);
  }

  moved(viewport: Viewport): void {
    this.#viewport = viewport;
    this.#ask();
  }

  turned(seats: readonly number[] | null, pulse: boolean): void {
    if (seats === null) this.#whole = false;
    else if (this.#whole) for (const seat of seats) this.#dot(seat);
    if (seats && pulse && seats.length <= PULSES_MOST && !STILL.matches) {
      const from = performance.now();
      this.#pulses.push(...seats.map((seat) => ({ seat, from })));
    }
    this.#ask();
  }

  refresh(): void {
    this.#colours = this.#read();
    this.#whole = false;
    this.#ask();
  }

  destroy(): void {
    cancelAnimationFrame(this.#asked);
    this.#canvas.remove();
  }

  #read(): Colours {
    const style = getComputedStyle(this.element);
    const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
    return {
      free: of("card"),
      accessible: of("card"),
      held: of("amber"),
      sold: of("sand"),
      mine: of("pine"),
      chosen: of("brick"),
      ink: of("ink"),
      soft: of("soft"),
      stage: of("sand"),
      edge: of("edge"),
      signs: { free: of("edge"), accessible: of("ink"), held: of("on-amber"), sold: of("on-sand"), mine: of("on-pine"), chosen: of("on-brick") },
    };
  }

  #dot(seat: number): void {
    const { plan } = this.scene;
    const look = lookOf(this.scene, seat);
    const free = look === "free" || look === "accessible";
    const size = 0.72 * this.#grain;
    const [x, y] = [plan.xs[seat]! * this.#grain - size / 2, plan.ys[seat]! * this.#grain - size / 2];
    // A free seat is the colour of its outline: from afar the inside is too small to be seen.
    this.#dots.fillStyle = free ? this.#colours.edge : this.#colours[look];
    this.#dots.fillRect(x, y, size, size);
  }

  #paintPicture(): void {
    this.#dots.clearRect(0, 0, this.#picture.width, this.#picture.height);
    for (let seat = 1; seat <= this.scene.plan.seatCount; seat += 1) this.#dot(seat);
    this.#whole = true;
  }

  #ask(): void {
    if (!this.#asked) this.#asked = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#asked = 0;
    const viewport = this.#viewport;
    if (!viewport || viewport.width === 0) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [Math.round(viewport.width * ratio), Math.round(viewport.height * ratio)];
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
    const { view } = viewport;
    const context = this.#context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
    this.#stage();
    const near = view.scale >= SINGLE_LEAST_PX && (viewport.width * viewport.height) / view.scale ** 2 < SINGLE_MOST;
    if (near) this.#single(viewport);
    else {
      if (!this.#whole) this.#paintPicture();
      // Otherwise rows and columns of dots beat against those of the screen.
      context.imageSmoothingQuality = "medium";
      context.drawImage(this.#picture, 0, 0, this.#picture.width / this.#grain, this.#picture.height / this.#grain);
    }
    this.#labels(view.scale);
    this.#rings();
  }

  #stage(): void {
    const { stage } = this.scene.plan;
    const [left, right] = [stage.x - stage.width / 2, stage.x + stage.width / 2];
    const context = this.#context;
    context.fillStyle = this.#colours.stage;
    context.beginPath();
    context.moveTo(left, stage.y);
    context.quadraticCurveTo(stage.x, stage.y + stage.depth * 0.5, right, stage.y);
    context.lineTo(right - stage.depth * 0.3, stage.y - stage.depth * 0.75);
    context.lineTo(left + stage.depth * 0.3, stage.y - stage.depth * 0.75);
    context.fill();
  }

  /** One path per look: as many fills as there are looks, not as there are seats. */
  #single(viewport: Viewport): void {
    const { plan } = this.scene;
    const seen: Record<Look, number[]> = { free: [], accessible: [], held: [], sold: [], mine: [], chosen: [] };
    const from = viewport.toPlan(0, 0);
    const to = viewport.toPlan(viewport.width, viewport.height);
    plan.within(from.x - 1, from.y - 1, to.x + 1, to.y + 1, (seat) => seen[lookOf(this.scene, seat)].push(seat));
    const context = this.#context;
    for (const look of LOOKS) {
      context.beginPath();
      for (const seat of seen[look]) {
        context.moveTo(plan.xs[seat]! + DISC, plan.ys[seat]!);
        context.arc(plan.xs[seat]!, plan.ys[seat]!, DISC, 0, 2 * Math.PI);
      }
      context.fillStyle = this.#colours[look];
      context.fill();
      if (look === "free" || look === "accessible") {
        context.strokeStyle = this.#colours.edge;
        context.lineWidth = 0.07;
        context.stroke();
      }
      this.#signs(look, seen[look]);
    }
  }

  #signs(look: Look, seats: number[]): void {
    const { plan } = this.scene;
    const context = this.#context;
    context.beginPath();
    for (const seat of seats) {
      const [x, y] = [plan.xs[seat]!, plan.ys[seat]!];
      for (const line of SIGNS[look]) {
        context.moveTo(x + line[0]!, y + line[1]!);
        for (let i = 2; i < line.length; i += 2) context.lineTo(x + line[i]!, y + line[i + 1]!);
      }
    }
    context.lineCap = "round";
    context.lineWidth = look === "chosen" ? 0.26 : 0.08;
    context.strokeStyle = this.#colours.signs[look];
    context.stroke();
  }

  #labels(scale: number): void {
    const context = this.#context;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const label of this.scene.plan.labels) {
      const section = label.kind === "section";
      if (!section && scale < 11) continue;
      const size = section ? Math.max(0.9, 13 / scale) : 0.62;
      context.font = `${section ? 600 : 450} ${size}px ${getComputedStyle(this.element).fontFamily}`;
      context.fillStyle = section ? this.#colours.ink : this.#colours.soft;
      context.fillText(label.text, label.x, label.y);
    }
  }

  #rings(): void {
    const { plan, cursor } = this.scene;
    const context = this.#context;
    const now = performance.now();
    this.#pulses = this.#pulses.filter((pulse) => now - pulse.from < PULSE_MS);
    for (const { seat, from } of this.#pulses) {
      const part = (now - from) / PULSE_MS;
      context.globalAlpha = 1 - part;
      context.strokeStyle = this.#colours[lookOf(this.scene, seat)];
      context.lineWidth = 0.12;
      context.beginPath();
      context.arc(plan.xs[seat]!, plan.ys[seat]!, 0.4 + part * 0.6, 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
    if (cursor) {
      context.strokeStyle = this.#colours.ink;
      context.lineWidth = 0.1;
      context.beginPath();
      context.arc(plan.xs[cursor]!, plan.ys[cursor]!, 0.49, 0, 2 * Math.PI);
      context.stroke();
    }
    if (this.#pulses.length > 0) this.#ask();
  }
}
