/** Begins a page: theme and language first, then its component. */

import "./base.css";
import "./theme.svelte";
import "../i18n/language.svelte";

import { mount, type Component } from "svelte";

export function start(page: Component): void {
  mount(page, { target: document.body });
}
