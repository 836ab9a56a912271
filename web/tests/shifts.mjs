// Layout shift, as the browser measures it: every move of something that was already shown and that nobody asked for.

/** Answers of the API come this late, so that what is shown before them is painted. */
const SLOW_MS = 150;

/** From now on the pages of this person note their shifts, and their API is slow. */
export async function watchShifts({ context }) {
  await context.addInitScript(() => {
    const name = (node) => {
      const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
      return element?.tagName ? `${element.tagName.toLowerCase()}.${[...element.classList].join(".")}` : "gone";
    };
    const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
    // The browser's `hadRecentInput` is also true for half a second after a phone's viewport got its size, which is
    // when its page loads. So input is noted here.
    let input = -Infinity;
    for (const kind of ["pointerdown", "pointerup", "keydown"]) {
      addEventListener(kind, ({ timeStamp }) => (input = timeStamp), { capture: true, passive: true });
    }
    window.shifts = [];
    new PerformanceObserver((list) => {
      for (const { value, startTime, hadRecentInput, sources } of list.getEntries()) {
        if (hadRecentInput && startTime - input < 500) continue;
        window.shifts.push({ value, moved: sources.map(({ node, previousRect, currentRect }) => `${name(node)} ${box(previousRect)} -> ${box(currentRect)}`) });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await context.route("**/api/**", async (route) => {
    await new Promise((done) => setTimeout(done, SLOW_MS));
    await route.continue().catch(() => undefined);
  });
}

/** What has shifted on this page so far: the sum, and what moved. */
export async function shifted(page) {
  // An entry comes a frame after the shift; two frames are certain.
  const shifts = await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(window.shifts), 50)))),
  );
  return { sum: shifts.reduce((sum, { value }) => sum + value, 0), shifts };
}
