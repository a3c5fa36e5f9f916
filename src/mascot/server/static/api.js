// Asking the server. One question runs at a time; a newer one takes the place of the one that waits.

const SLOW_MS = 400;
const JSON_BODY = { "content-type": "application/json" };

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

export const choices = () => get("/api/choices");
export const saveChoice = (name, choice) => send("PUT", `/api/choices/${encodeURIComponent(name)}`, choice);
export const deleteChoice = (name) => send("DELETE", `/api/choices/${encodeURIComponent(name)}`);

/** Photographs as a file: {blob, name}. */
export async function exported(wanted) {
  const response = await fetch("/api/export", { method: "POST", headers: JSON_BODY, body: JSON.stringify(wanted) }).catch(() => null);
  if (response === null) throw new Unreachable("The server does not answer.");
  if (!response.ok) await answer(Promise.resolve(response));
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  const blob = await response.blob().catch(() => null);
  if (blob === null) throw new Unreachable("The download broke off.");
  return { blob, name };
}

const get = (path) => answer(fetch(path, { headers: { accept: "application/json" } }));

function send(method, path, body = undefined, signal = undefined) {
  const content = body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) };
  return answer(fetch(path, { method, signal, ...content }));
}

const search = (asked, signal) => send("POST", "/api/search", asked, signal);

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
  const content = parsed(text);
  if (response.ok && content !== null) return content;
  if (content?.error) throw new Refused(response.status, content.error.kind, content.error.message);
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

  constructor({ show, failed, slow }) {
    this.show = show;
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
      const results = await search(asked, run.stop.signal);
      if (!run.stop.signal.aborted) this.show(results, asked, since);
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

const same = (one, other) => ["text", "like", "k", "where", "pin", "reject"].every((name) => String(one[name]) === String(other[name]));
