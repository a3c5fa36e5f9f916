// @ts-check
// The title of a search: of the page, of its downloads and of its albums.

import { filtersOf } from "../app/request.js";
import { daysText } from "./labels.js";

/** @typedef {import("../app/types.js").State} State */
/** @typedef {import("../app/types.js").SearchRequest} SearchRequest */

/**
 * Return the words that were searched for, or what was understood of them; otherwise the trip, the year or the days.
 * @param {State} state
 */
export function titleOf({ answer, answered, periods }) {
  if (answer === null || answered === null) return "Photographs";
  const { candidates, newest_of: all, understood = null, request: { best } } = answer;
  const said = understood?.chips.filter((chip) => !chip.fields.best).map((chip) => chip.label).join(", ");
  const subject = answered.like === undefined ? understood?.text ?? said : "Like this photograph";
  const days = answered.since || answered.until ? periodName(answered, periods) : null;
  if (best) return `The best of ${[subject, days].filter(Boolean).join(", ") || "all photographs"}`;
  if (subject ?? days) return subject ?? days ?? "";
  if ((all ?? 0) > candidates) return `The newest ${candidates.toLocaleString("en")} photographs`;
  return filtersOf(answered).length ? "Photographs" : "All photographs";
}

/** The name of the trip or year with the days of a request; otherwise these days. */
function periodName(/** @type {SearchRequest} */ { since = "", until = "" }, /** @type {State["periods"]} */ periods) {
  const text = daysText(since, until);
  return periods.find((period) => daysText(period.since, period.until) === text)?.name ?? text;
}
