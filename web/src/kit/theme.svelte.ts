/** Light or dark: as the system has it, until the viewer chooses; the choice is remembered. */

import { onElsewhere, recall, remember } from "./remembered";

export type Theme = "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");
const known = (text: string | null): Theme | null => (text === "light" || text === "dark" ? text : null);

class ThemeChoice {
  #chosen = $state<Theme | null>(known(recall("theme")));
  #system = $state<Theme>(dark.matches ? "dark" : "light");
  readonly now = $derived(this.#chosen ?? this.#system);

  constructor() {
    this.#apply();
    dark.addEventListener("change", () => {
      this.#system = dark.matches ? "dark" : "light";
      this.#apply();
    });
    onElsewhere("theme", (value) => {
      this.#chosen = known(value);
      this.#apply();
    });
  }

  turn(): void {
    const next: Theme = this.now === "dark" ? "light" : "dark";
    const system: Theme = dark.matches ? "dark" : "light";
    this.#chosen = next === system ? null : next;
    remember("theme", this.#chosen);
    this.#apply();
  }

  #apply(): void {
    document.documentElement.dataset.theme = this.#chosen ?? this.#system;
  }
}

export const theme = new ThemeChoice();
