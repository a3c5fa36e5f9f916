// What the page shows, as the address bar carries it. A link is the whole state.

export const CANDIDATES = 200;
const SIZES = [12, 24, 48, 96, 192];

export function fresh() {
  return {
    text: "", like: null, wishes: {}, strength: 0.5, protect: 3, keep: null, order: "relevance", k: 24,
    from: "", to: "", folder: "", compare: false, photo: null,
  };
}

export const sizes = SIZES;
export const searching = (state) => state.text !== "" || state.like !== null;

/** The state that an address tells; whatever it tells wrongly stays as it is by default. */
export function fromAddress(search) {
  const given = new URLSearchParams(search);
  const state = fresh();
  state.text = (given.get("q") ?? "").trim().slice(0, 1000);
  state.like = whole(given.get("like"), 1, Number.MAX_SAFE_INTEGER, null);
  if (state.like !== null) state.text = "";
  for (const word of given.getAll("spread")) add(state, word, 1);
  for (const word of given.getAll("focus")) add(state, word, -1);
  state.strength = real(given.get("strength"), 0, 1, state.strength);
  state.keep = real(given.get("keep"), 0.5, 1, null);
  state.protect = whole(given.get("protect"), 0, 20, state.protect);
  state.k = SIZES.includes(Number(given.get("k"))) ? Number(given.get("k")) : state.k;
  state.order = given.get("order") === "selection" ? "selection" : "relevance";
  for (const name of ["from", "to"]) state[name] = aDay(given.get(name));
  state.folder = (given.get("folder") ?? "").trim().slice(0, 200);
  state.compare = given.get("compare") === "1";
  state.photo = whole(given.get("photo"), 1, Number.MAX_SAFE_INTEGER, null);
  return state;
}

/** The address of a state: only what differs from the default is said. */
export function toAddress(state) {
  const base = fresh();
  const told = new URLSearchParams();
  if (state.text) told.set("q", state.text);
  if (state.like !== null) told.set("like", state.like);
  for (const [name, wish] of leaning(state)) {
    const near = wish.lean < 0 && wish.near ? `=${wish.near}` : "";
    const weight = Math.abs(wish.lean) === 1 ? "" : `*${round(Math.abs(wish.lean))}`;
    told.append(wish.lean > 0 ? "spread" : "focus", `${name}${near}${weight}`);
  }
  for (const name of ["from", "to", "folder", "strength", "protect", "order", "k"]) {
    if (state[name] !== base[name]) told.set(name, state[name]);
  }
  if (state.keep !== null) told.set("keep", state.keep);
  if (state.compare) told.set("compare", "1");
  if (state.photo !== null) told.set("photo", state.photo);
  const query = told.toString().replaceAll("%3A", ":").replaceAll("%3D", "=").replaceAll("%2C", ",");
  return query ? `/?${query}` : "/";
}

/** The wishes that are not neutral. */
export const leaning = (state) => Object.entries(state.wishes).filter(([, wish]) => wish.lean !== 0);

/** The filters that are set. */
export const filtering = (state) => ["from", "to", "folder"].filter((name) => state[name]);

/** The next larger number of photographs, or undefined. */
export const larger = (state) => SIZES.find((size) => size > state.k);

/** What the server is asked. */
export function question(state) {
  const wishes = leaning(state).map(([name, wish]) => ({
    name,
    direction: wish.lean > 0 ? "spread" : "focus",
    weight: round(Math.abs(wish.lean)),
    ...(wish.lean < 0 && wish.near ? { near: wish.near } : {}),
  }));
  const asked = { wishes, k: state.k, candidates: Math.max(CANDIDATES, 2 * state.k), protect: state.protect, order: state.order };
  if (state.like !== null) asked.like = state.like;
  else asked.text = state.text;
  const where = filter(state);
  if (where) asked.where = where;
  // The weights only share the strength out; so that a single slider is felt all along its way, the one that is
  // furthest from the middle also says how much of the strength is used.
  const furthest = Math.max(0, ...wishes.map((wish) => wish.weight));
  if (state.keep !== null) asked.keep = state.keep;
  else asked.strength = round(state.strength * furthest, 4);
  return asked;
}

/** The filters as the server takes them: an SQL expression. */
function filter({ from, to, folder }) {
  return [
    from ? `taken >= '${from}'` : null,
    to ? `substr(taken, 1, 10) <= '${to}'` : null,
    folder ? `instr(lower(folder), lower('${folder.replaceAll("'", "''")}')) > 0` : null,
  ].filter(Boolean).join(" AND ");
}

/** A day of the calendar, as it is written; nothing for anything else. */
export function aDay(text) {
  return /^\d{4}-\d{2}-\d{2}$/.test(text ?? "") && !Number.isNaN(Date.parse(text)) ? text : "";
}

function add(state, word, sign) {
  const [, name, near, weight] = /^([a-z_]{1,40})(?:=(.*?))?(?:\*([\d.]+))?$/s.exec(word) ?? [];
  if (!name) return;
  const lean = round(Math.min(Math.max(Number(weight ?? 1) || 1, 0.1), 1), 1);
  state.wishes[name] = { lean: sign * lean, near: sign < 0 && near ? near.slice(0, 200) : null };
}

function real(text, low, high, otherwise) {
  const value = Number(text);
  return text === null || text === "" || !(value >= low && value <= high) ? otherwise : value;
}

function whole(text, low, high, otherwise) {
  const value = real(text, low, high, otherwise);
  return Number.isInteger(value) ? value : otherwise;
}

const round = (value, digits = 2) => Number(value.toFixed(digits));
