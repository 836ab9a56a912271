/** What a browser remembers between visits. Where storage is forbidden, a page remembers until it is closed. */

const PREFIX = "tickettock.";
const fallback = new Map<string, string>();

export function recall(name: string): string | null {
  const kept = fallback.get(name);
  if (kept !== undefined) return kept;
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string | null): void {
  fallback.delete(name);
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Forbidden or full. What could be stored is not kept twice: another tab may change it.
    if (value !== null) fallback.set(name, value);
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
