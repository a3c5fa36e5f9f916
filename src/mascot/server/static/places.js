// Names of the places that photographs were taken at: what is clicked is sent as numbers, and read as a city.

import { where } from "./words.js";

const names = new Map();

/** A place as it is sent to the server and stands in the address. */
export const written = ({ lat, lon }) => `${lat.toFixed(4)},${lon.toFixed(4)}`;

export function learn(photos) {
  for (const photo of photos) if (photo.lat !== null && photo.city) names.set(written(photo), where(photo));
}

/** The name of a place that is written so, or undefined. */
export const named = (near) => names.get(near);
