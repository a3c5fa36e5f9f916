// The filters as the server takes them: an SQL expression over the columns of the library. All quoting is here.

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

const CONDITIONS = {
  from: (day) => `taken >= ${quoted(day)}`,
  to: (day) => `substr(taken, 1, 10) <= ${quoted(day)}`,
  folder: (part) => `instr(fold(folder), fold(${quoted(part)})) > 0`,
  camera: (name) => `camera = ${quoted(name)}`,
  country: (code) => `country = ${quoted(code)}`,
  rating: (least) => `rating >= ${Number(least)}`,
};

export const FILTERS = Object.keys(CONDITIONS);

/** The filters that are set. */
export const filtering = (state) => FILTERS.filter((name) => state[name]);

/** The expression; empty where nothing is filtered. */
export const where = (state) => filtering(state).map((name) => CONDITIONS[name](state[name])).join(" AND ");
