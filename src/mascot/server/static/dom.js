// Making elements, and a few questions about the reader's settings.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("button", {class: "x", onclick: go}, "text", child)`. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A name that may be broken where its parts meet. */
export const breakable = (text) => text.split(/(?<=[_/-])(?=.)/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

export const byId = (id) => document.getElementById(id);

const still = matchMedia("(prefers-reduced-motion: reduce)");
export const calm = () => still.matches;

/** Calls `step` with 0 to 1, eased, until 1; at once where motion is not wanted. Returns what stops it. */
export function tween(ms, step) {
  if (calm() || document.hidden) {
    step(1);
    return () => {};
  }
  const started = performance.now();
  let frame = 0;
  const tick = (now) => {
    const t = Math.min(Math.max((now - started) / ms, 0), 1);
    step(1 - (1 - t) ** 3);
    if (t < 1) frame = requestAnimationFrame(tick);
  };
  frame = requestAnimationFrame(tick);
  return () => cancelAnimationFrame(frame);
}
