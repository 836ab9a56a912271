/** When and where an event takes place, as a form has it. */

import { tick } from "svelte";

import type { Occasion } from "../i18n/when";
import { MomentField } from "./moment.svelte";
import { Refused, why } from "./session.svelte";

type Name = keyof Occasion;
const NAMES: readonly string[] = ["startsAt", "timeZone", "place"] satisfies Name[];

export class OccasionForm {
  readonly starts: MomentField;
  timeZone = $state("");
  place = $state("");
  #wrong = $state<{ field: string; text: string } | null>(null);

  constructor(event: Occasion = {}) {
    this.starts = new MomentField(event.startsAt ?? null);
    this.timeZone = event.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    this.place = event.place ?? "";
  }

  /** A zone alone says nothing. */
  get sent() {
    const startsAt = this.starts.sent;
    return { startsAt, timeZone: (startsAt && this.timeZone.trim()) || null, place: this.place.trim() || null };
  }

  /** What is wrong with this field. */
  error(name: Name): string | null {
    return this.#wrong?.field === name ? this.#wrong.text : null;
  }

  /** It is being put right. */
  typed(): void {
    this.#wrong = null;
  }

  /** Sends it. True: it was refused for one of these fields. That is said beside it, and there the cursor goes. */
  async refused(send: () => Promise<void>): Promise<boolean> {
    this.typed();
    try {
      await send();
    } catch (error) {
      if (!(error instanceof Refused) || !error.field || !NAMES.includes(error.field)) throw error;
      this.#wrong = { field: error.field, text: why(error) };
      await tick();
      document.querySelector<HTMLElement>(".field:has(> .error) > .box")?.focus();
      return true;
    }
    return false;
  }
}
