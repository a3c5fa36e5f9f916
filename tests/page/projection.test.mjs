import assert from "node:assert/strict";
import test from "node:test";

import { MIDDLE_X, eastward, fitView, toLat, toLon, toX, toY } from "../../src/mascot/server/static/charts/projection.js";

const AREA = { width: 1000, height: 500, padding: 0 };
const isClose = (value, expected) => assert.ok(Math.abs(value - expected) < 1e-9, `${value} is not ${expected}`);
const point = (lat, lon) => ({ x: toX(lon), y: toY(lat) });

test("a place survives the projection and back", () => {
  for (let lat = -85; lat <= 85; lat += 17) isClose(toLat(toY(lat)), lat);
  for (let lon = -180; lon < 180; lon += 24) isClose(toLon(toX(lon)), lon);
});

test("the poles are at the edge of the world", () => {
  assert.equal(toY(90), toY(85));
  isClose(toY(0), 0.5);
});

test("the short way round may cross the date line", () => {
  isClose(eastward(toX(170), toX(-170)), 20 / 360);
  isClose(eastward(toX(-170), toX(170)), -20 / 360);
});

test("a view across the Pacific has its middle there", () => {
  const { x } = fitView([point(35.7, 139.7), point(21.3, -157.9)], AREA, 100, 1e6);
  assert.ok(Math.abs(toLon(x) - 170.9) < 0.1);
});

test("a view shows all points", () => {
  const points = [point(60, -20), point(40, 30), point(10, 5)];
  const { x, y, scale } = fitView(points, AREA, 100, 1e6);
  for (const other of points) {
    assert.ok(Math.abs(eastward(x, other.x)) * scale <= 500 + 1e-6);
    assert.ok(Math.abs(other.y - y) * scale <= 250 + 1e-6);
  }
});

test("the scale has limits", () => {
  assert.equal(fitView([point(0, 0)], AREA, 100, 5000).scale, 5000);
  assert.equal(fitView([point(0, -60), point(0, 60)], AREA, 5000, 1e6).scale, 5000);
});

test("a view of the whole world is centred where most points are", () => {
  const europe = Array.from({ length: 18 }, (_, i) => point(45, i));
  const { x, scale } = fitView([...europe, point(-33, 151), point(21, -158), point(34, -118)], AREA, 100, 1e6);
  assert.equal(scale, 100);
  assert.ok(Math.abs(toLon(x) - 8) < 15, `${toLon(x)}`);
  assert.equal(fitView([point(0, -90), point(0, 90)], AREA, 5000, 1e6).x, MIDDLE_X);
});
