/** The words of every page. A viewer loads one language, so they are not part of the kit. */

import type { CommonWords } from "../common/en";
import { lazy } from "../i18n/language.svelte";

export const common = lazy<CommonWords>({
  en: () => import("../common/en").then((module) => module.en),
  ko: () => import("../common/ko").then((module) => module.ko),
});
