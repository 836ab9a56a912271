/** Seats as elements of an SVG: crisp at every size, styled by the page's own colours. Up to some 5,000. */

import { DISC, lookOf, PULSES_MOST, signOf, SIGNS, type Look, type Painter, type Scene } from "./painter";
import type { Viewport } from "./viewport";

const NS = "http://www.w3.org/2000/svg";

function make<Name extends keyof SVGElementTagNameMap>(name: Name, attributes: Record<string, string | number>): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function symbol(look: Look): SVGGElement {
  const group = make("g", { id: `seat-${look}`, class: `seat-look ${look}` });
  group.append(make("circle", { r: DISC, class: "seat-disc" }), make("path", { d: signOf(look), class: "seat-glyph" }));
  return group;
}

export class SvgPainter implements Painter {
  #svg = make("svg", { "aria-hidden": "true", class: "map-svg" });
  #world = make("g", {});
  #seats: SVGUseElement[] = [];
  #cursor = make("circle", { r: 0.48, class: "cursor", visibility: "hidden" });

  constructor(
    element: HTMLElement,
    readonly scene: Scene,
  ) {
    const { plan } = scene;
    const defs = make("defs", {});
    defs.append(...(Object.keys(SIGNS) as Look[]).map(symbol));
    this.#svg.append(defs, this.#world);
    const { stage } = plan;
    const [left, right] = [stage.x - stage.width / 2, stage.x + stage.width / 2];
    this.#world.append(
      make("path", {
        class: "stage",
        d: `M${left} ${stage.y}Q${stage.x} ${stage.y + stage.depth * 0.5} ${right} ${stage.y}L${right - stage.depth * 0.3} ${stage.y - stage.depth * 0.75}H${left + stage.depth * 0.3}Z`,
      }),
    );
    for (const label of plan.labels) {
      const text = make("text", { x: label.x, y: label.y, class: `label ${label.kind}` });
      text.textContent = label.text;
      this.#world.append(text);
    }
    for (let seat = 1; seat <= plan.seatCount; seat += 1) {
      const use = make("use", { x: plan.xs[seat]!.toFixed(3), y: plan.ys[seat]!.toFixed(3) });
      this.#seats[seat] = use;
      this.#world.append(use);
    }
    this.#world.append(this.#cursor);
    this.turned(null, false);
    element.append(this.#svg);
  }

  moved({ view }: Viewport): void {
    this.#world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
    // Names of rows are noise where they cannot be read.
    this.#svg.classList.toggle("far", view.scale < 11);
  }

  turned(seats: readonly number[] | null, pulse: boolean): void {
    const all = seats ?? Array.from({ length: this.scene.plan.seatCount }, (_, i) => i + 1);
    const pulses = pulse && all.length <= PULSES_MOST;
    for (const seat of all) {
      this.#seats[seat]?.setAttribute("href", `#seat-${lookOf(this.scene, seat)}`);
      if (pulses) this.#pulse(seat);
    }
  }

  refresh(): void {
    const { cursor, plan } = this.scene;
    this.#cursor.setAttribute("visibility", cursor ? "visible" : "hidden");
    if (!cursor) return;
    this.#cursor.setAttribute("cx", String(plan.xs[cursor]));
    this.#cursor.setAttribute("cy", String(plan.ys[cursor]));
  }

  destroy(): void {
    this.#svg.remove();
  }

  /** A ring that widens once. */
  #pulse(seat: number): void {
    const { plan } = this.scene;
    const ring = make("circle", { cx: plan.xs[seat]!, cy: plan.ys[seat]!, r: 0.4, class: `pulse ${lookOf(this.scene, seat)}` });
    ring.addEventListener("animationend", () => ring.remove(), { once: true });
    this.#world.append(ring);
  }
}
