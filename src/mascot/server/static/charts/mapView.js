// The part of the world that the map shows, and how points of the world and of the screen correspond.

import { MIDDLE_X, eastward, fitView, toLat, toLon, toX, toY } from "./projection.js";
import { tween } from "../view/dom.js";

export const BUTTONS = { width: 160, height: 44 }; // pixels of the corner in which the buttons are
export const BADGE = 10; // pixels by which the number of a stack sticks out
const MAX_FIT = 36; // zoom relative to the whole world
const MAX_ZOOM = 600;
const GLIDE_MS = 500;

export class MapView {
  #stop = () => {};
  #goal = null; // {x, y, scale, width} that the map was moved to; a window that was narrow meanwhile does not change it

  /** Calls `changed()` whenever the view moves. */
  constructor(changed) {
    Object.assign(this, { changed, width: 0, height: 0, center: null }); // center is {x, y, scale}
  }

  /** Set the size in pixels; the map keeps showing the same part of the world. */
  resize(width, height) {
    this.#stop();
    Object.assign(this, { width, height });
    const goal = this.#goal;
    this.center = this.#clamped(goal ? { ...goal, scale: (goal.scale * width) / goal.width } : this.#whole);
  }

  /** The scale at which the world fills the height. If it does not fill the width, it is repeated, and has no edge. */
  get #minScale() {
    return Math.max(this.height, this.width * 0.72);
  }

  get #whole() {
    return { x: MIDDLE_X, y: 0.42, scale: this.#minScale };
  }

  /** Return the view around points, with room for photographs of a size in pixels. */
  around(points, size) {
    if (!points.length) return this.#whole;
    const area = { width: this.width, height: this.height - BUTTONS.height, padding: size / 2 + BADGE };
    const view = fitView(points, area, this.#minScale, this.width * MAX_FIT);
    return this.#clamped({ ...view, y: view.y + BUTTONS.height / 2 / view.scale });
  }

  moveTo(center, isSmooth) {
    this.#stop();
    const to = this.#clamped(center);
    this.#goal = { ...to, width: this.width };
    if (!isSmooth) {
      this.center = to;
      this.changed();
      return;
    }
    const from = { ...this.center };
    const dx = eastward(from.x, to.x);
    this.#stop = tween(GLIDE_MS, (t) => {
      this.center = { x: from.x + dx * t, y: from.y + (to.y - from.y) * t, scale: from.scale * (to.scale / from.scale) ** t };
      this.changed();
    });
  }

  /** Zoom by a factor around a point of the screen. */
  zoom(factor, at = this.middle, isSmooth = true) {
    const fixed = this.toWorld(at);
    const scale = this.#clampedScale(this.center.scale * factor);
    this.moveTo({ x: fixed.x - (at.x - this.width / 2) / scale, y: fixed.y - (at.y - this.height / 2) / scale, scale }, isSmooth);
  }

  pan(dx, dy, isSmooth = false) {
    const { x, y, scale } = this.center;
    this.moveTo({ x: x - dx / scale, y: y - dy / scale, scale }, isSmooth);
  }

  /** The middle of the screen. */
  get middle() {
    return { x: this.width / 2, y: this.height / 2 };
  }

  toWorld({ x, y }) {
    const { center } = this;
    return { x: center.x + (x - this.width / 2) / center.scale, y: center.y + (y - this.height / 2) / center.scale };
  }

  toScreen({ x, y }) {
    const { center } = this;
    return [eastward(center.x, x) * center.scale + this.width / 2, (y - center.y) * center.scale + this.height / 2];
  }

  /** Return the box between two corners of the screen as text: south, west, north and east in degrees. */
  boxBetween(corner, opposite) {
    const [left, right] = [Math.min(corner.x, opposite.x), Math.max(corner.x, opposite.x)];
    const [top, bottom] = [Math.min(corner.y, opposite.y), Math.max(corner.y, opposite.y)];
    const [northWest, southEast] = [this.toWorld({ x: left, y: top }), this.toWorld({ x: right, y: bottom })];
    const isWholeWorld = (right - left) / this.center.scale >= 1;
    const [west, east] = isWholeWorld ? [-180, 180] : [toLon(northWest.x), toLon(southEast.x)];
    return [toLat(southEast.y), west, toLat(northWest.y), east].map((side) => side.toFixed(2)).join(",");
  }

  /** Return the rectangle on the screen of such a box. */
  rectangleOf(box) {
    const [south, west, north, east] = box.split(",").map(Number);
    const extent = ((((east - west) % 360) + 360) % 360 || 360) / 360;
    const [middle, top] = this.toScreen({ x: toX(west) + extent / 2, y: toY(north) });
    const [, bottom] = this.toScreen({ x: 0, y: toY(south) });
    const width = extent * this.center.scale;
    return { left: middle - width / 2, top, width, height: bottom - top };
  }

  #clampedScale(scale) {
    return Math.min(Math.max(scale, this.#minScale), this.width * MAX_ZOOM);
  }

  #clamped({ x, y, scale: wanted }) {
    const scale = this.#clampedScale(wanted);
    const half = this.height / 2 / scale;
    return { x, y: Math.min(Math.max(y, half), 1 - half), scale };
  }
}
