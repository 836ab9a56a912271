/**
 * A stay dragged over the nights. A mouse selects from the press on. A finger also scrolls the page, so how it begins
 * decides, as in the calendars of phones:
 * - sideways, or in any direction after it rested on a night: it selects, over as many weeks as it likes, and the page
 *   stays where it is, but for the edges of the screen, which scroll on;
 * - up or down at once: it scrolls the page and selects nothing;
 * - lifted where it came down: a tap, however long it took.
 */

/** Shorter than a browser's long press. */
const REST_MS = 250;
/** A finger at rest trembles. */
const STILL_PX = 10;
/** From where on the edge of the screen scrolls, and how far a finger must have come for it. */
const EDGE_PX = 40;
const SCROLL_PX = 6;

interface Doing {
  sellable: (date: string) => boolean;
  tap: (date: string) => void;
  drag: (from: string, to: string) => void;
}

export class Drag {
  /** The night that the finger rested on: from now on it selects. */
  grabbed = $state<string | null>(null);
  #from: string | null = null;
  #to: string | null = null;
  #began = { x: 0, y: 0 };
  #last = { x: 0, y: 0 };
  #selects = false;
  #calendar: HTMLElement | undefined;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;

  constructor(readonly doing: Doing) {}

  /** Of the calendar: while a finger selects, the page does not scroll, and no menu opens. */
  readonly keep = (element: HTMLElement): (() => void) => {
    this.#calendar = element;
    const still = (event: Event) => this.#selects && event.cancelable && event.preventDefault();
    const names = ["touchmove", "contextmenu"];
    for (const name of names) element.addEventListener(name, still, { passive: false });
    return () => {
      for (const name of names) element.removeEventListener(name, still);
      this.end();
    };
  };

  down(event: PointerEvent, date: string): void {
    if (event.button !== 0 || !event.isPrimary || !this.doing.sellable(date)) return;
    // A finger drags over other days too.
    (event.target as Element).releasePointerCapture(event.pointerId);
    this.#from = this.#to = date;
    this.#began = this.#last = { x: event.clientX, y: event.clientY };
    this.#selects = event.pointerType === "mouse";
    if (!this.#selects) this.#rest = setTimeout(() => this.#grab(date), REST_MS);
  }

  moved(event: PointerEvent): void {
    if (!this.#from || !event.isPrimary) return;
    this.#last = { x: event.clientX, y: event.clientY };
    if (!this.#selects) {
      const [x, y] = [Math.abs(event.clientX - this.#began.x), Math.abs(event.clientY - this.#began.y)];
      if (Math.max(x, y) < STILL_PX) return;
      if (y >= x) return this.end();
      clearTimeout(this.#rest);
      this.#selects = true;
    }
    this.#reach();
    if (event.pointerType !== "mouse") this.#scroll();
  }

  up(event: PointerEvent): void {
    if (!event.isPrimary) return;
    const [from, to] = [this.#from, this.#to];
    this.end();
    if (from && to === from) this.doing.tap(from);
  }

  end(): void {
    clearTimeout(this.#rest);
    cancelAnimationFrame(this.#frame);
    this.#from = this.#to = this.grabbed = null;
    this.#selects = false;
    this.#frame = 0;
  }

  #grab(date: string): void {
    this.#selects = true;
    this.grabbed = date;
  }

  /** The night under the pointer. A stay that went over others and came back is one night. */
  #reach(): void {
    const date = document.elementFromPoint(this.#last.x, this.#last.y)?.closest<HTMLElement>("[data-date]")?.dataset.date;
    if (!date || !this.#from || date === this.#to || !this.doing.sellable(date)) return;
    this.#to = date;
    this.doing.drag(this.#from, date);
  }

  /** Goes on while the finger is at an edge that hides nights. */
  #scroll(): void {
    cancelAnimationFrame(this.#frame);
    const by = this.#from ? this.#beyond() * SCROLL_PX : 0;
    if (by === 0) return;
    this.#frame = requestAnimationFrame(() => {
      scrollBy(0, by);
      this.#reach();
      this.#scroll();
    });
  }

  #beyond(): -1 | 0 | 1 {
    const hidden = this.#calendar?.getBoundingClientRect();
    if (!hidden) return 0;
    const dock = parseFloat(document.documentElement.style.getPropertyValue("--dock")) || 0;
    const [y, came, bottom] = [this.#last.y, this.#last.y - this.#began.y, innerHeight - dock];
    if (y < EDGE_PX && came < -EDGE_PX && hidden.top < 0) return -1;
    return y > bottom - EDGE_PX && came > EDGE_PX && hidden.bottom > bottom ? 1 : 0;
  }
}
