import { lazy } from "../i18n/language.svelte";
import type { EventWords } from "./words/en";

export const eventWords = lazy<EventWords>({
  en: () => import("./words/en").then((module) => module.en),
  ko: () => import("./words/ko").then((module) => module.ko),
});
