/** Copies a text. False: this browser does not let the page; over plain HTTP only localhost may. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
