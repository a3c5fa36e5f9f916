// @ts-check
// The store holds the whole state of the page. Values in it are never changed in place, only replaced.

/**
 * Create a store.
 * @template {object} T
 * @param {T} initial
 */
export function createStore(initial) {
  /** @type {Readonly<T>} */
  let state = initial;
  /** @type {Set<{keys: string[], listener: (state: T, before: T) => void}>} */
  const subscriptions = new Set();
  return {
    get: () => state,

    /**
     * Replace values, and call the listeners of those that are new.
     * @param {Partial<T>} changes
     */
    set(changes) {
      const before = state;
      state = { ...before, ...changes };
      const changed = Object.keys(changes).filter((key) => !Object.is(before[key], state[key]));
      for (const { keys, listener } of subscriptions) {
        if (keys.some((key) => changed.includes(key))) listener(state, before);
      }
    },

    /**
     * Call `listener(state, before)` after each change of one of the keys. Returns a function that ends this.
     * @param {(keyof T & string)[]} keys
     * @param {(state: T, before: T) => void} listener
     */
    subscribe(keys, listener) {
      const subscription = { keys, listener };
      subscriptions.add(subscription);
      return () => { subscriptions.delete(subscription); };
    },
  };
}
