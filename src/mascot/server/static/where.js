// The filters as the server takes them: an SQL expression over the columns of the library. All quoting is here.

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

const CONDITIONS = {
  from: (day) => `taken >= ${quoted(day)}`,
  to: (day) => `substr(taken, 1, 10) <= ${quoted(day)}`,
  folder: (part) => `instr(fold(folder), fold(${quoted(part)})) > 0`,
  camera: (name) => `camera = ${quoted(name)}`,
  country: (code) => `country = ${quoted(code)}`,
  rating: (least) => `rating >= ${Number(least)}`,
  box: (text) => {
    const [south, west, north, east] = text.split(",").map(Number);
    const across = west <= east ? `lon BETWEEN ${west} AND ${east}` : `(lon >= ${west} OR lon <= ${east})`;
    return `lat BETWEEN ${south} AND ${north} AND ${across}`;
  },
};

export const FILTERS = Object.keys(CONDITIONS);

/** South, west, north and east in degrees, as a box is written; nothing for anything else. */
export function aBox(text) {
  const sides = (text ?? "").split(",").map(Number);
  const valid = sides.length === 4 && sides.every(Number.isFinite) && sides[0] < sides[2]
    && Math.abs(sides[0]) <= 90 && Math.abs(sides[2]) <= 90 && Math.abs(sides[1]) <= 180 && Math.abs(sides[3]) <= 180;
  return valid ? sides.map((side) => Number(side.toFixed(2))).join(",") : "";
}

/** The filters that are set. */
export const filtering = (state) => FILTERS.filter((name) => state[name]);

/** The expression; empty where nothing is filtered. */
export const where = (state) => filtering(state).map((name) => CONDITIONS[name](state[name])).join(" AND ");
