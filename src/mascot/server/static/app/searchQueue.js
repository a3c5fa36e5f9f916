// A queue of one search. Results keep coming however fast a slider moves, and the server never has a queue.

import { search } from "./api.js";
import { hasSameCandidates } from "./request.js";

const SLOW_MS = 400;

/**
 * While a search runs, only the newest request waits for it; older ones are dropped. A running search is cancelled if
 * it is slow, or if the new request has other candidates.
 */
export class SearchQueue {
  #running = null;
  #waiting = null;

  /** Calls `answered(answer, request)`, `failed(error, request)` and `slow(isSlow)`. */
  constructor({ answered, failed, slow }) {
    Object.assign(this, { answered, failed, slow });
  }

  ask(request) {
    this.#waiting = request;
    const running = this.#running;
    if (running && (running.isSlow || !hasSameCandidates(running.request, request))) running.abort.abort();
    if (!running) this.#runNext();
  }

  async #runNext() {
    const run = { request: this.#waiting, abort: new AbortController(), isSlow: false };
    this.#waiting = null;
    this.#running = run;
    const timer = setTimeout(() => {
      run.isSlow = true;
      this.slow(true);
      if (this.#waiting) run.abort.abort();
    }, SLOW_MS);
    try {
      const answer = await search(run.request, run.abort.signal);
      if (!run.abort.signal.aborted) this.answered(answer, run.request);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error, run.request);
    } finally {
      clearTimeout(timer);
      this.#running = null;
      if (this.#waiting) this.#runNext();
      else this.slow(false);
    }
  }
}
