// @ts-check
// The list of wishes in the state. A dial is the wish to spread or focus an attribute; a target is a focus near a value.

/** @typedef {import("./types.js").Wish} Wish */

const KINDS = ["spread", "focus", "limit", "at_least", "share"];
/** The fields of rules that the page can edit. */
const EDITABLE = new Set(["limit", "n", "fill", "share", "shares"]);

/** The name of the attribute that a wish is about; a plus sign joins several. Empty for an attribute without a name. */
export function attributeOf(/** @type {Record<string, any>} */ wish) {
  const kind = KINDS.find((name) => wish[name] !== undefined) ?? "";
  const names = [wish[kind] ?? ""].flat();
  return names.every((name) => typeof name === "string") ? names.join("+") : "";
}

/** Whether a wish is a limit, a minimum count or a share. */
export const isRule = (/** @type {Wish} */ wish) => (wish.limit ?? wish.at_least ?? wish.share) !== undefined;

/** Whether a wish is a rule that the page can edit: a limit per page and value, or target shares. */
export function isEditable(/** @type {Wish} */ wish) {
  return isRule(wish) && Object.keys(wish).every((name) => EDITABLE.has(name))
    && typeof (wish.limit ?? wish.share) === "string" && typeof (wish.n ?? 1) === "number";
}

const isTarget = (/** @type {Wish} */ wish) => wish.near !== undefined;
const isDial = (/** @type {Wish} */ wish) => (wish.spread ?? wish.focus) !== undefined && !isTarget(wish);

/**
 * Return the position of a dial: -1 keeps together, 0 is as found, 1 mixes up.
 * @param {Wish[]} wishes
 * @param {string} name
 */
export function leanOf(wishes, name) {
  const wish = wishes.find((other) => isDial(other) && attributeOf(other) === name);
  if (wish === undefined) return 0;
  return (wish.spread === undefined ? -1 : 1) * Math.min(wish.weight ?? 1, 1);
}

/**
 * Return the value that results are to be near, or null.
 * @param {Wish[]} wishes
 * @param {string} name
 */
export const nearOf = (wishes, name) => wishes.find((wish) => isTarget(wish) && wish.focus === name)?.near ?? null;

/**
 * Return the wishes with a dial turned to a position.
 * @param {Wish[]} wishes
 * @param {string} name
 * @param {number} lean
 */
export function withDial(wishes, name, lean) {
  const weight = Number(Math.abs(lean).toFixed(2));
  const wish = lean === 0 ? null : { [lean > 0 ? "spread" : "focus"]: name, weight };
  return withWish(wishes, wish, (other) => isDial(other) && attributeOf(other) === name);
}

/**
 * Return the wishes with a target set, or removed if it is null.
 * @param {Wish[]} wishes
 * @param {string} name
 * @param {string | null} near
 */
export function withNear(wishes, name, near) {
  return withWish(wishes, near ? { focus: name, near, weight: 1 } : null, (other) => isTarget(other) && other.focus === name);
}

/**
 * @param {Wish[]} wishes
 * @param {Wish | null} wish
 * @param {(other: Wish) => boolean} isReplaced
 */
function withWish(wishes, wish, isReplaced) {
  const at = wishes.findIndex(isReplaced);
  const others = wishes.filter((other) => !isReplaced(other));
  if (wish !== null) others.splice(at < 0 ? others.length : at, 0, wish);
  return others;
}

/**
 * Return the wishes with a rule, {limit, n} or {share, value, part}. It replaces the rule that was edited, and a limit on the
 * same attribute; shares of one attribute are one wish.
 * @param {Wish[]} wishes
 * @param {{limit?: string, n?: number, share?: string, value?: string, part?: number}} rule
 * @param {Wish | null} replaced
 */
export function withRule(wishes, rule, replaced = null) {
  const others = wishes.filter((wish) => JSON.stringify(wish) !== JSON.stringify(replaced));
  if (rule.limit !== undefined) return withWish(others, { limit: rule.limit, n: rule.n }, (wish) => wish.limit === rule.limit && isEditable(wish));
  const isEdited = (/** @type {Wish} */ wish) => wish.share === rule.share && isEditable(wish);
  const remaining = Object.entries(replaced?.shares ?? {}).slice(1); // the first one is edited
  const before = replaced?.share === rule.share ? Object.fromEntries(remaining) : others.find(isEdited)?.shares;
  const shares = { ...before, [rule.value ?? ""]: rule.part ?? 0 };
  return withWish(others, { share: rule.share, shares }, isEdited);
}

/** The names of the attributes that have a dial or a target. */
export function dialNames(/** @type {Wish[]} */ wishes) {
  return [...new Set(wishes.filter((wish) => isDial(wish) || isTarget(wish)).map(attributeOf))];
}
