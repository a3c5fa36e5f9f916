// Pointer, wheel and keyboard on the map.

const STILL = 4; // pixels that the pointer may move during a click

/**
 * Listen to the map's canvas. `view` is a `MapView`. Calls `click(point)`, `hover(point)` or `hover(null)`,
 * `drawBox(corner, opposite)` or `drawBox(null)` while a box is drawn, and `selectBox(corner, opposite)` at its end;
 * `isBoxMode()` returns whether the next drag draws a box.
 */
export function listenToPointer(canvas, view, { click, hover, drawBox, selectBox, isBoxMode }) {
  const pointers = new Map(); // id -> point
  let start = null; // {x, y, isBox} of a drag with one pointer
  let distance = 0;
  const pointOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, pointOf(event));
    if (pointers.size > 1) start = null;
    else [start, distance] = [{ ...pointOf(event), isBox: event.shiftKey || isBoxMode() }, 0];
  });
  canvas.addEventListener("pointermove", (event) => {
    const point = pointOf(event);
    const last = pointers.get(event.pointerId);
    if (!last) {
      hover(point);
      return;
    }
    distance += Math.hypot(point.x - last.x, point.y - last.y);
    if (start?.isBox) {
      if (distance > STILL) drawBox(start, point);
    } else if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const apart = (place) => Math.hypot(place.x - other.x, place.y - other.y);
      view.zoom(apart(point) / Math.max(apart(last), 1), other, false);
    } else if (distance > STILL) {
      view.pan(point.x - last.x, point.y - last.y);
    }
    pointers.set(event.pointerId, point);
  });
  const end = (event) => {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return;
    const isBox = Boolean(start?.isBox) && distance > STILL;
    if (isBox) drawBox(null);
    if (event.type !== "pointerup") return;
    if (isBox) selectBox(start, pointOf(event));
    else if (distance <= STILL) click(pointOf(event));
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("wheel", (event) => {
    // The wheel scrolls the page until the map has the focus; a pinch always zooms the map.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    view.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), pointOf(event), false);
  }, { passive: false });
}

/** Listen to the keys of the map. Calls `fit()`, `setNear(point)` for Enter and `selectBox(corner, opposite)` for B. */
export function listenToKeys(canvas, view, { fit, setNear, selectBox }) {
  const actions = {
    ArrowLeft: () => view.pan(60, 0, true), ArrowRight: () => view.pan(-60, 0, true),
    ArrowUp: () => view.pan(0, 45, true), ArrowDown: () => view.pan(0, -45, true),
    "+": () => view.zoom(2), "=": () => view.zoom(2), "-": () => view.zoom(0.5), 0: fit,
    Enter: () => setNear(view.middle),
    b: () => selectBox({ x: 0, y: 0 }, { x: view.width, y: view.height }),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
