/** What an event with a draw has beside the others. Loaded for those only. */

export { check, gather } from "./draw/Parts.svelte";
