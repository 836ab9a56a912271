/** Begins a page: theme and language first, then its component. */

import "./base.css";
import "./theme.svelte";

import { mount, type Component } from "svelte";

import { language, loadWords } from "../i18n/language.svelte";

export async function start(page: Component): Promise<void> {
  await loadWords(language.now);
  mount(page, { target: document.body });
}
