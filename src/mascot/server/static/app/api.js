// Requests to the server.

const JSON_BODY = { "content-type": "application/json" };

/** The server refused a request; the message is its own. */
export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

export const loadLibrary = () => get("/api/library");
export const loadTrips = () => get("/api/trips");
export const loadPhoto = (id) => get(`/api/photos/${id}`);
export const thumbUrl = (id) => `/api/photos/${id}/thumb`;
export const imageUrl = (id) => `/api/photos/${id}/image`;
export const search = (request, signal) => send("POST", "/api/search", request, signal);
export const loadChoices = () => get("/api/choices");
export const saveChoice = (name, choice) => send("PUT", `/api/choices/${encodeURIComponent(name)}`, choice);
export const deleteChoice = (name) => send("DELETE", `/api/choices/${encodeURIComponent(name)}`);

/** Return the server's reason why a photograph cannot be shown, or null if it has none. */
export async function loadImageError(id) {
  try {
    const response = await fetch(imageUrl(id), { headers: { range: "bytes=0-0" } });
    return response.ok ? null : parseJson(await response.text())?.error?.message ?? null;
  } catch {
    return "the server does not answer";
  }
}

export async function isAlive() {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/** Return photographs as a file: {blob, name}. */
export async function exportPhotos(options) {
  const body = JSON.stringify(options);
  const response = await fetch("/api/export", { method: "POST", headers: JSON_BODY, body }).catch(() => null);
  if (response === null) throw new Unreachable("The server does not answer.");
  if (!response.ok) await read(Promise.resolve(response));
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  const blob = await response.blob().catch(() => null);
  if (blob === null) throw new Unreachable("The download was interrupted.");
  return { blob, name };
}

const get = (path) => read(fetch(path, { headers: { accept: "application/json" } }));

function send(method, path, body = undefined, signal = undefined) {
  const content = body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) };
  return read(fetch(path, { method, signal, ...content }));
}

/** Return the JSON of a response; throw `Refused` or `Unreachable` otherwise. */
async function read(promise) {
  let response;
  let text;
  try {
    response = await promise;
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The server does not answer.");
  }
  const content = parseJson(text);
  if (response.ok && content !== null) return content;
  if (content?.error) throw new Refused(response.status, content.error.kind, content.error.message);
  throw new Refused(response.status, "HttpError", `The server answered with ${response.status}.`);
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the page of a proxy; its status is reported
  }
}
