import assert from "node:assert/strict";
import { test } from "node:test";

import {
  barOf, bounded, boxFrom, boxOf, boxText, gridOf, lineStep, onScreen, placeAt, toLatitude, toLongitude, toX,
  toY, viewOf,
} from "#page/mercator.js";

const near = (/** @type {number} */ a, /** @type {number} */ b, within = 1e-6) =>
  assert.ok(Math.abs(a - b) < within, `${a} is not ${b}`);

test("the projection has its ends, its middle and its inverse", () => {
  assert.deepEqual([toX(-180), toX(0), toX(180)], [0, 0.5, 1]);
  near(toY(0), 0.5);
  near(toY(85.0511), 0, 1e-5);
  for (const latitude of [-80, -33.9, 0, 48.86, 80]) near(toLatitude(toY(latitude)), latitude);
  near(toLongitude(toX(151.2)), 151.2);
});

test("places and points of the screen belong together, also over the date line", () => {
  const view = { x: toX(179), y: toY(-17), scale: 20_000 };
  const { left, top } = onScreen(view, 800, 600, { latitude: -16.8, longitude: -179.9 });
  assert.ok(left > 400 && left < 800 && top < 300);
  const place = placeAt(view, 800, 600, left, top);
  near(place.latitude, -16.8);
  near(place.longitude - 360, -179.9);
});

test("a view holds what it is made for and stays on the map", () => {
  const paris = { west: 2.2, south: 48.8, east: 2.5, north: 48.9 };
  const seen = boxOf(viewOf(paris, 800, 500), 800, 500);
  assert.ok(seen.west < 2.2 && seen.east > 2.5 && seen.south < 48.8 && seen.north > 48.9);
  const over = boxOf(viewOf({ west: 177, south: -19, east: -178, north: -16 }, 800, 500), 800, 500);
  assert.ok(over.west > 170 && over.east > 180 && over.east < 190);
  const { x, y, scale } = bounded({ x: 1.25, y: -3, scale: 1 }, 800, 500);
  assert.deepEqual([x, scale], [0.25, 800]);
  near(y, 0.3125);
});

test("the grid stays where it is while the map is moved by less than a cell", () => {
  const view = { x: 0.5, y: 0.35, scale: 4000 };
  const cells = (/** @type {number} */ x) => {
    const { box, columns, rows } = gridOf({ ...view, x }, 800, 500);
    assert.ok(columns <= 32 && rows <= 32);
    return (box.east - box.west) / columns;
  };
  near(cells(0.5), cells(0.503));
  const whole = gridOf({ x: 0.5, y: 0.5, scale: 500 }, 500, 500);
  assert.deepEqual([whole.box.west, whole.box.east, whole.box.north, whole.box.south], [-180, 180, 90, -90]);
});

test("boxes as texts", () => {
  assert.equal(boxText({ west: 170, south: -50, east: 190, north: -30 }), "170,-50,-170,-30");
  assert.equal(boxText({ west: -300, south: -90, east: 300, north: 90 }), "-180,-90,180,90");
  assert.deepEqual(boxFrom("170,-50,-170,-30"), { west: 170, south: -50, east: 190, north: -30 });
  for (const wrong of ["", "1,2,3", "1,2,3,x", "0,50,1,40", "1,2,3,4,5"]) assert.equal(boxFrom(wrong), null);
});

test("lines and the bar of the scale are round", () => {
  assert.equal(lineStep(360), 90);
  assert.equal(lineStep(256 * 2 ** 8), 1);
  const { km, pixels } = barOf({ x: 0.5, y: 0.5, scale: 40_075 });
  assert.equal(km, 100);
  near(pixels, 100, 0.01);
});
