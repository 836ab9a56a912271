/** What somebody types while a list has the focus: the letters of one word, which name a choice. */

/** After this long without a letter, the next one begins another word. */
const PAUSE_MS = 600;

/** Without case, accents or syllable blocks: "ㅂ" is the beginning of "봄". */
const plain = (text: string) => text.normalize("NFKD").toLowerCase();

export class Typeahead {
  #typed = "";
  #last = 0;

  /** A space belongs to the word that is being typed. */
  get active(): boolean {
    return this.#typed !== "" && performance.now() - this.#last < PAUSE_MS;
  }

  /** The next choice from `at` that begins with what was typed; the same letter again and again goes through its choices. */
  find(letter: string, texts: readonly string[], at: number): number {
    this.#typed = (this.active ? this.#typed : "") + plain(letter);
    this.#last = performance.now();
    const first = this.#typed[0] ?? "";
    const repeated = [...this.#typed].every((one) => one === first);
    const wanted = repeated ? first : this.#typed;
    // One letter moves on; a longer word may still be the choice where we are.
    const from = repeated ? at + 1 : at;
    for (let i = 0; i < texts.length; i += 1) {
      const n = (from + i) % texts.length;
      if (plain(texts[n] ?? "").startsWith(wanted)) return n;
    }
    return at;
  }
}
