/** Tells an open panel that the viewer turned to something else. */

import type { Attachment } from "svelte/attachments";

/** Calls `left` when a pointer is pressed outside of the element, or the focus goes there. */
export function outside(left: () => void): Attachment<HTMLElement> {
  return (element) => {
    const elsewhere = (target: EventTarget | null) => target instanceof Node && !element.contains(target);
    const pressed = (event: PointerEvent) => elsewhere(event.target) && left();
    const blurred = (event: FocusEvent) => elsewhere(event.relatedTarget) && left();
    window.addEventListener("pointerdown", pressed);
    element.addEventListener("focusout", blurred);
    return () => {
      window.removeEventListener("pointerdown", pressed);
      element.removeEventListener("focusout", blurred);
    };
  };
}
