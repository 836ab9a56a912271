/** A moment in a form: of the minute, as `DateTime` has it. What was not changed is sent as it was, with its seconds. */

const local = (at: string) => new Date(Date.parse(at) - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

export class MomentField {
  value = $state("");
  readonly #shown: string;

  constructor(readonly before: string | null) {
    this.#shown = before ? local(before) : "";
    this.value = this.#shown;
  }

  get changed(): boolean {
    return this.value !== this.#shown;
  }

  /** Null: none. */
  get sent(): string | null {
    if (!this.changed) return this.before;
    return this.value ? new Date(this.value).toISOString() : null;
  }
}
