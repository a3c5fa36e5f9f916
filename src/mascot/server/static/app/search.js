// Keeps the answer in the store up to date with the request that the state means.

import { Refused, Unreachable, isAlive, loadLibrary, loadTrips, search } from "./api.js";
import { isSame, requestOf } from "./request.js";
import { SearchQueue } from "./searchQueue.js";
import { FILTERS, STEERING } from "./state.js";
import { learnPlaces } from "../text/places.js";

const RETRY_MS = 1500; // between attempts to reach a server that is gone
const REQUEST_KEYS = ["text", "like", ...FILTERS, "wishes", "best", "k", "pin", "reject", "complete", ...STEERING, "protect"];

/** Connect a store to the server. Returns {load, update, check, recover}. */
export function createSearch(store) {
  const queue = new SearchQueue({ answered, failed, slow: (isSlow) => store.set({ isSlow }) });
  let timer = 0;
  store.subscribe(["library", ...REQUEST_KEYS], update);

  /** Load the library; its first search follows. */
  async function load() {
    try {
      const library = await loadLibrary();
      if (library.photos === 0) store.set({ status: "empty", error: null });
      store.set({ library });
      loadPeriods();
    } catch (error) {
      failed(error, null);
    }
  }

  /** Load the trips and years; without them the start page offers words. */
  async function loadPeriods() {
    const { trips, years } = await loadTrips().catch(() => ({ trips: [], years: [] }));
    store.set({ periods: [...trips, ...years] });
  }

  /** Send a request, unless the latest one is the same. */
  function update() {
    const state = store.get();
    const request = requestOf(state);
    if (!state.library?.photos || isSame(request, state.requested)) return;
    queue.ask(request);
    store.set({ requested: request, status: "asking" });
  }

  /** Return why the server refuses the request with these changes; null if it does not. */
  async function check(changes) {
    try {
      await search(requestOf({ ...store.get(), ...changes }));
      return null;
    } catch (error) {
      return error instanceof Refused && error.status < 500 ? error.message : null;
    }
  }

  function answered(answer, request) {
    learnPlaces(answer.results.map(({ photo }) => photo));
    const { requested, status } = store.get();
    const isLatest = isSame(request, requested);
    const next = isLatest ? "shown" : status;
    store.set({ answer, answered: request, error: null, neighbours: null, status: next });
    document.dispatchEvent(new CustomEvent("mascot:shown"));
  }

  function failed(error, request) {
    if (!isSame(request, store.get().requested)) return; // a newer request is on its way
    const isGone = error instanceof Unreachable;
    const text = isGone ? "The server does not answer. Is it still running?" : error.message;
    const canRetry = isGone || (error instanceof Refused && error.status >= 500);
    store.set({ requested: null, status: "failed", error: { text, canRetry } });
    if (isGone) retryLater();
  }

  function retryLater() {
    clearTimeout(timer);
    timer = setTimeout(recover, RETRY_MS);
  }

  /** Continue as soon as the server answers again. */
  async function recover() {
    clearTimeout(timer);
    if (!(await isAlive())) return retryLater();
    store.set({ error: null });
    return store.get().library === null ? load() : update();
  }

  return { load, update, check, recover };
}
