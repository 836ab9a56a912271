import { connection } from "../api/connection.svelte";
import type { Entry } from "../calendar/calendar";

/** Gives an entry to the viewer's calendar. What makes its file is loaded then; away from the server the page says so. */
export async function toCalendar(name: string, entry: Entry): Promise<void> {
  try {
    (await import("../calendar/calendar")).save(name, entry);
  } catch {
    connection.failed();
  }
}
