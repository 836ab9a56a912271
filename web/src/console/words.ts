import { lazy } from "../i18n/language.svelte";
import type { ConsoleWords } from "./words/en";

export const consoleWords = lazy<ConsoleWords>({
  en: () => import("./words/en").then((module) => module.en),
  ko: () => import("./words/ko").then((module) => module.ko),
});
