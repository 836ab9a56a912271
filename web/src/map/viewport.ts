/** What of the plan is seen: zoom by wheel, pinch and buttons, pan by dragging. Knows no seats. */

export interface View {
  /** Pixels per unit. */
  scale: number;
  /** Where the plan's origin is, in pixels. */
  x: number;
  y: number;
}

const TAP_PX = 6;
const CLOSEST = 44;
const FIT_MOST = 36;
/** A map that is narrower has its buttons below the seats (map.css), in a strip of this height. */
const NARROW_PX = 620;
const CONTROLS_PX = 50;

export class Viewport {
  view: View = { scale: 1, x: 0, y: 0 };
  width = 0;
  height = 0;
  #least = 1;
  #pointers = new Map<number, { x: number; y: number }>();
  #moved = 0;
  #fitted = true;
  #stop = new AbortController();
  #observer: ResizeObserver;

  constructor(
    readonly element: HTMLElement,
    readonly plan: { width: number; height: number },
    readonly changed: () => void,
    readonly tapped: (x: number, y: number) => void,
    readonly hovered: (x: number, y: number) => void,
  ) {
    const { signal } = this.#stop;
    element.addEventListener("wheel", (event) => this.#wheel(event), { signal, passive: false });
    element.addEventListener("pointerdown", (event) => this.#down(event), { signal });
    element.addEventListener("pointermove", (event) => this.#move(event), { signal });
    for (const name of ["pointerup", "pointercancel"] as const) {
      element.addEventListener(name, (event) => this.#up(event, name === "pointerup"), { signal });
    }
    // Two fingers are always for the map: without this the browser may take them for scrolling.
    for (const name of ["touchstart", "touchmove"] as const) {
      element.addEventListener(name, (event) => event.touches.length > 1 && event.preventDefault(), { signal, passive: false });
    }
    this.#observer = new ResizeObserver(() => this.#resized());
    this.#observer.observe(element);
    this.#resized();
  }

  stop(): void {
    this.#stop.abort();
    this.#observer.disconnect();
  }

  /** Without the strip of a narrow map's buttons. */
  get #clear(): number {
    return this.width < NARROW_PX ? this.height - CONTROLS_PX : this.height;
  }

  /** The whole plan, in the middle. */
  fit(): void {
    const scale = Math.min(this.width / this.plan.width, this.#clear / this.plan.height, FIT_MOST);
    this.#least = scale;
    this.#fitted = true;
    this.view = { scale, x: (this.width - this.plan.width * scale) / 2, y: (this.#clear - this.plan.height * scale) / 2 };
    this.#settle();
  }

  get zoomed(): boolean {
    return this.view.scale > this.#least * 1.01;
  }

  get atClosest(): boolean {
    return this.view.scale >= CLOSEST * 0.99;
  }

  zoom(by: number, x = this.width / 2, y = this.height / 2): void {
    const scale = Math.max(this.#least, Math.min(Math.max(CLOSEST, this.#least), this.view.scale * by));
    const ratio = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
    this.#fitted = !this.zoomed;
    this.#settle();
  }

  /** Makes this place of the plan visible. */
  show(x: number, y: number): void {
    const { scale } = this.view;
    const [px, py] = [this.view.x + x * scale, this.view.y + y * scale];
    const room = Math.min(60, this.width / 4, this.height / 4);
    this.view.x += Math.max(0, room - px) - Math.max(0, px - (this.width - room));
    this.view.y += Math.max(0, room - py) - Math.max(0, py - (this.height - room));
    this.#settle();
  }

  /** From pixels of the element to the plan. */
  toPlan(x: number, y: number): { x: number; y: number } {
    return { x: (x - this.view.x) / this.view.scale, y: (y - this.view.y) / this.view.scale };
  }

  #resized(): void {
    this.width = this.element.clientWidth;
    this.height = this.element.clientHeight;
    if (this.#fitted) this.fit();
    else this.#settle();
  }

  /** The plan never leaves the window. */
  #settle(): void {
    const { view } = this;
    const bound = (at: number, size: number, room: number) =>
      size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, at));
    view.x = bound(view.x, this.plan.width * view.scale, this.width);
    const tall = this.plan.height * view.scale;
    view.y = bound(view.y, tall, tall <= this.#clear + 1 ? this.#clear : this.height);
    // At its smallest a finger scrolls the page; zoomed in it moves the map.
    this.element.style.touchAction = this.zoomed ? "none" : "pan-y";
    this.changed();
  }

  #at(event: MouseEvent): { x: number; y: number } {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** A wheel scrolls the page until the map is in use. */
  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !this.element.contains(document.activeElement)) return;
    event.preventDefault();
    const { x, y } = this.#at(event);
    this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), x, y);
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#pointers.set(event.pointerId, this.#at(event));
    this.#moved = this.#pointers.size > 1 ? Infinity : 0;
  }

  #move(event: PointerEvent): void {
    const now = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.hovered(now.x, now.y);
      return;
    }
    this.#moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (this.#moved > TAP_PX && !this.element.hasPointerCapture(event.pointerId)) {
      this.element.setPointerCapture(event.pointerId);
    }
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const [far, near] = [Math.hypot(now.x - other.x, now.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
      // What is between the fingers stays there.
      this.view.x += (now.x - before.x) / 2;
      this.view.y += (now.y - before.y) / 2;
      this.zoom(far / Math.max(1, near), (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else if (this.#moved > TAP_PX) {
      this.view.x += now.x - before.x;
      this.view.y += now.y - before.y;
      this.#settle();
    }
    this.#pointers.set(event.pointerId, now);
  }

  #up(event: PointerEvent, done: boolean): void {
    if (!this.#pointers.delete(event.pointerId)) return;
    if (!done || this.#moved > TAP_PX || this.#pointers.size > 0) return;
    const { x, y } = this.#at(event);
    this.tapped(x, y);
  }
}
