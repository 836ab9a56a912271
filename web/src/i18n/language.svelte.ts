/** Korean or English: as the browser prefers, until the viewer chooses; the choice is remembered. */

import { onElsewhere, recall, remember } from "../kit/remembered";

export type Language = "en" | "ko";

export const LANGUAGES: readonly { code: Language; name: string }[] = [
  { code: "ko", name: "한국어" },
  { code: "en", name: "English" },
];

const known = (text: string | null): Language | null => (text === "en" || text === "ko" ? text : null);

/** The first language of the list that we speak. It is what the browser sends as `Accept-Language`. */
function preferred(): Language {
  for (const tag of navigator.languages ?? [navigator.language]) {
    const language = known(tag.slice(0, 2).toLowerCase());
    if (language) return language;
  }
  return "en";
}

class LanguageChoice {
  #now = $state<Language>(known(recall("language")) ?? preferred());

  constructor() {
    document.documentElement.lang = this.#now;
    onElsewhere("language", (value) => this.#turn(known(value) ?? preferred()));
  }

  get now(): Language {
    return this.#now;
  }

  choose(language: Language): void {
    remember("language", language);
    this.#turn(language);
  }

  /** Once its words are there; while the server is away the page stays as it is. */
  #turn(language: Language): void {
    loadWords(language).then(
      () => {
        this.#now = language;
        document.documentElement.lang = language;
      },
      () => undefined,
    );
  }
}

export const language = new LanguageChoice();

/**
 * A dictionary per language with the same keys; entries are texts or functions that make one.
 * `const t = $derived(words[language.now])`, then `t.title` and `t.ahead(12)`.
 */
export type Dictionary<Words> = Record<Language, Words>;

const loaders: ((language: Language) => Promise<void>)[] = [];

/** A dictionary of which a viewer loads one language only. */
export function lazy<Words>(load: Record<Language, () => Promise<Words>>): Dictionary<Words> {
  const made = {} as Dictionary<Words>;
  loaders.push(async (language) => {
    made[language] ??= await load[language]();
  });
  return made;
}

export const loadWords = (language: Language): Promise<unknown> => Promise.all(loaders.map((load) => load(language)));
