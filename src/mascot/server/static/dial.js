// A picture that is also a control: one stop for the keyboard, a value that is dragged or stepped to.

/**
 * Make `element` a slider. `at(event)` is the value under the pointer (or null), `step(value, steps)` the one that many
 * keys further, `start()` where the keyboard begins; `pick(value)` hears of every new value, `clear()` of Delete.
 */
export function dial(element, { at, step, start, pick, clear, hover }) {
  let dragging = false;
  element.addEventListener("pointerdown", (event) => {
    const value = event.button === 0 ? at(event) : null;
    if (value === null) return;
    dragging = true;
    element.setPointerCapture(event.pointerId);
    element.focus({ preventScroll: true });
    pick(value);
  });
  element.addEventListener("pointermove", (event) => {
    const value = at(event);
    if (dragging && value !== null) pick(value);
    else if (!dragging) hover(value);
  });
  const end = () => { dragging = false; };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
  element.addEventListener("pointerleave", () => hover(null));
  keyed(element, { step, start, pick, clear });
}

/** The keyboard's part of it. */
export function keyed(element, { step, start, pick, clear }) {
  element.tabIndex = 0;
  element.setAttribute("role", "slider");
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 6, PageDown: -6 }[event.key];
    if (steps !== undefined) {
      event.preventDefault();
      pick(step(start(), steps));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      clear();
    }
  });
}
