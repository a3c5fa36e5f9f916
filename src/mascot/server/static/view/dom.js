// Helpers for elements and animation.

const SVG = "http://www.w3.org/2000/svg";

/** Create an element: `h("button", {class: "x", onclick: open}, "text", child)`. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Create an SVG element. */
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

/** Return a file name with a line-break opportunity after each of its parts. */
export const breakable = (text) => text.split(/(?<=[_/-])(?=.)/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

export const byId = (id) => document.getElementById(id);

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
export const prefersReducedMotion = () => reducedMotion.matches;

/** Call `step` with eased values from 0 to 1; only with 1 if the reader prefers reduced motion. Returns a function that stops it. */
export function tween(ms, step) {
  if (prefersReducedMotion() || document.hidden) {
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
