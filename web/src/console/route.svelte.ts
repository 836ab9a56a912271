/** Where in the console one is, as the fragment says it: a reload and the back button come to the same place. */

export type Place = { at: "live" | "new-event" | "new-room" | "history" | "audit" | "webhooks" | "rush" } | { at: "event" | "room" | "webhook"; id: number };

const PLAIN = ["live", "new-event", "new-room", "history", "audit", "webhooks", "rush"] as const;

function read(): Place {
  const [name = "", id = ""] = location.hash.slice(1).split("/").filter(Boolean);
  if ((name === "event" || name === "room" || name === "webhook") && /^\d+$/.test(id)) return { at: name, id: Number(id) };
  return { at: PLAIN.find((plain) => plain === name) ?? "live" };
}

class Route {
  now = $state<Place>(read());

  constructor() {
    addEventListener("hashchange", () => (this.now = read()));
  }
}

export const route = new Route();
export const to = (place: Place): string => `#/${place.at}${"id" in place ? `/${place.id}` : ""}`;
export const go = (place: Place): void => void (location.hash = to(place).slice(1));
