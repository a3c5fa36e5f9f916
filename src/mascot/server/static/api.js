// Asking the server. One question runs at a time; a newer one takes the place of the one that waits.

const SLOW_MS = 400;

/** The server answered, and refused: its own words. */
export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/** No answer came. */
export class Unreachable extends Error {}

export const library = () => get("/api/library");
export const photo = (id) => get(`/api/photos/${id}`);
export const thumb = (id) => `/api/photos/${id}/thumb`;
export const image = (id) => `/api/photos/${id}/image`;

/** Why the photograph itself cannot be shown, in the server's words; null where the server has no reason. */
export async function complaint(id) {
  try {
    const response = await fetch(image(id), { headers: { range: "bytes=0-0" } });
    return response.ok ? null : parsed(await response.text())?.error?.message ?? null;
  } catch {
    return "the server does not answer";
  }
}

export async function alive() {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

const get = (path) => answer(fetch(path, { headers: { accept: "application/json" } }));

function search(asked, signal) {
  const body = JSON.stringify(asked);
  return answer(fetch("/api/search", { method: "POST", headers: { "content-type": "application/json" }, body, signal }));
}

async function answer(promise) {
  let response;
  let text;
  try {
    response = await promise;
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The server does not answer.");
  }
  const told = parsed(text);
  if (response.ok && told !== null) return told;
  if (told?.error) throw new Refused(response.status, told.error.kind, told.error.message);
  throw new Refused(response.status, "HttpError", `The server answered with ${response.status}.`);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a page of some server between; its status is told
  }
}

/**
 * Searches while sliders move. While an answer is on its way the newest question waits for it, and all older
 * ones are forgotten: results keep coming however fast a slider moves, and the server never has a queue. A
 * question about something else, and one that is slow, is given up at once.
 */
export class Searches {
  #running = null;
  #waiting = null;

  constructor({ shown, failed, slow }) {
    this.shown = shown;
    this.failed = failed;
    this.slow = slow;
  }

  ask(asked, since = performance.now()) {
    this.#waiting = { asked, since };
    const running = this.#running;
    if (running && (running.slow || !same(running.asked, asked))) running.stop.abort();
    if (!running) this.#next();
  }

  /** Forget everything that was asked. */
  stop() {
    this.#waiting = null;
    this.#running?.stop.abort();
  }

  async #next() {
    const { asked, since } = this.#waiting;
    this.#waiting = null;
    const run = { asked, stop: new AbortController(), slow: false };
    this.#running = run;
    const timer = setTimeout(() => {
      run.slow = true;
      this.slow(true);
      if (this.#waiting) run.stop.abort();
    }, SLOW_MS);
    try {
      const found = await search(asked, run.stop.signal);
      if (!run.stop.signal.aborted) this.shown(found, asked, since);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error, asked);
    } finally {
      clearTimeout(timer);
      this.#running = null;
      if (this.#waiting) this.#next();
      else this.slow(false);
    }
  }
}

const same = (one, other) => ["text", "like", "k", "where"].every((name) => one[name] === other[name]);
