// @ts-check
// Names of places. A place that was clicked is sent as latitude and longitude, and shown by the name of a city there.

import { placeName } from "./labels.js";

/** @typedef {import("../app/types.js").Photo} Photo */

const NEAR_DEGREES = 1; // of latitude, about 110 km

/** @type {Map<string, string>} */
const names = new Map();

/** A place as it is sent to the server and written in the address. */
export const pointValue = (/** @type {{lat: number, lon: number}} */ { lat, lon }) => `${lat.toFixed(4)},${lon.toFixed(4)}`;

/** Remember the names of the places of photographs. */
export function learnPlaces(/** @type {Photo[]} */ photos) {
  for (const photo of photos) {
    const { lat, lon, city } = photo;
    if (lat !== null && lon !== null && city) names.set(pointValue({ lat, lon }), placeName(photo));
  }
}

/** The name of a place that is written as latitude and longitude: that of the nearest photograph, if one is near. */
export function knownPlace(/** @type {string} */ value) {
  const [lat, lon] = value.split(",").map(Number);
  let [nearest, least] = [names.get(value), NEAR_DEGREES];
  if (nearest !== undefined) return nearest;
  for (const [point, name] of names) {
    const [north, east] = point.split(",").map(Number);
    const distance = Math.hypot(north - lat, (((east - lon + 540) % 360) - 180) * Math.cos((lat * Math.PI) / 180));
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}
