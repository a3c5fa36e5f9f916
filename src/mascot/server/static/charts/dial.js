// A chart that is also a slider: it has one tab stop, and its value is dragged or changed by keys.

/**
 * Make `element` a slider. `valueAt(event)` returns the value under the pointer or null, `step(value, steps)` the value
 * some steps further and `start()` the value at which the keyboard begins. Calls `pick(value)` for every new value,
 * `clear()` for Delete and `hover(value)` for the pointer.
 */
export function makeDial(element, { valueAt, step, start, pick, clear, hover }) {
  let isDragging = false;
  element.addEventListener("pointerdown", (event) => {
    const value = event.button === 0 ? valueAt(event) : null;
    if (value === null) return;
    isDragging = true;
    element.setPointerCapture(event.pointerId);
    element.focus({ preventScroll: true });
    pick(value);
  });
  element.addEventListener("pointermove", (event) => {
    const value = valueAt(event);
    if (isDragging && value !== null) pick(value);
    else if (!isDragging) hover(value);
  });
  const end = () => { isDragging = false; };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
  element.addEventListener("pointerleave", () => hover(null));
  addSliderKeys(element, { step, start, pick, clear });
}

/** Add the keyboard of a slider to an element. */
export function addSliderKeys(element, { step, start, pick, clear }) {
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
