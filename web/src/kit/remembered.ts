/** What a browser remembers between visits. Where storage is forbidden, a page remembers until it is closed. */

const PREFIX = "tickettock.";
const fallback = new Map<string, string>();

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name) ?? fallback.get(name) ?? null;
  } catch {
    return fallback.get(name) ?? null;
  }
}

export function remember(name: string, value: string | null): void {
  if (value === null) fallback.delete(name);
  else fallback.set(name, value);
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Forbidden or full: `fallback` has it.
  }
}

/** Calls back when another tab changes it. */
export function onElsewhere(name: string, changed: (value: string | null) => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === PREFIX + name) changed(event.newValue);
  };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}
