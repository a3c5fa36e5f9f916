// Everything that readers can do to the state of the page. Each action also writes the address.

import { fromAddress, toAddress } from "./address.js";
import { stateOf } from "./request.js";
import { MAX_PICKS, freshAddress, isNarrow, isSteered, neighboursOf } from "./state.js";
import { nearOf, withDial, withNear } from "./wishes.js";

const COMPLETING = ["place", "date", "look"]; // dials that are turned to complete a set if none is
const UNSTEERED = { wishes: [], best: false, strength: null, keep: null, order: null };

const without = (ids, id) => ids.filter((other) => other !== id);

/** Return the actions on a store. `history` is a `PageHistory`. */
export function createActions(store, history) {
  const push = (address) => history.push(address);
  const replace = (address) => history.replace(address);

  /** Change the state and the address; `write(address)` writes the history. */
  function change(changes, write = push) {
    const before = toAddress(store.get());
    const after = toAddress({ ...store.get(), ...changes });
    if (after === before) replace(before);
    else write(after);
    store.set(changes);
  }

  /** Change the request. Changes with the same `gesture` are one entry of the history while it lasts. */
  function steer(changes, gesture = null) {
    const isBestLeft = changes.wishes?.length === 0 && changes.best === undefined; // the best are those of wishes
    change(isBestLeft ? { ...changes, best: false } : changes, gesture === null ? push : (address) => history.pushGesture(address, gesture));
  }

  const wishes = () => store.get().wishes;

  function changeTray(changes) {
    const state = store.get();
    const next = { ...changes };
    const isCompleting = next.complete !== undefined && next.complete !== null;
    if (isCompleting && !isSteered(state)) next.wishes = COMPLETING.map((name) => ({ spread: name, weight: 1 }));
    if ((next.pin ?? state.pin).length === 0) next.complete = null;
    change(next, state.photo === null ? push : replace);
    const { pin, reject, complete, photo } = store.get();
    if (photo !== null) store.set({ viewerPicks: { pin, reject, complete } });
  }

  function addPicks(ids) {
    const { pin, reject, complete } = store.get();
    if (pin.length === 0 && !isNarrow()) store.set({ trayOpen: true });
    changeTray({ pin: [...new Set([...pin, ...ids])].slice(-MAX_PICKS), reject: reject.filter((id) => !ids.includes(id)), complete });
  }

  /** Show the outcome of an action. */
  const say = (message) => store.set({ message, rejected: null });

  function closePhoto() {
    if (store.get().photo === null) return;
    if (history.opened === "photo") {
      store.set({ photo: null });
      history.back();
    } else {
      change({ photo: null }, replace);
    }
  }

  function setPanel(panelOpen) {
    const address = toAddress(store.get());
    if (panelOpen) history.push(address, { panelOpen: true, opened: "panel" });
    else if (history.opened === "panel") history.back();
    else history.replace(address, { panelOpen: false });
    store.set({ panelOpen });
  }

  /** Take the state from the address, after a step through the history. */
  function restore() {
    const { viewerPicks } = store.get();
    let next = fromAddress(location.search);
    if (viewerPicks !== null && next.photo === null) {
      next = { ...next, ...viewerPicks };
      replace(toAddress(next));
    }
    store.set({ ...next, neighbours: null, viewerPicks: next.photo === null ? null : viewerPicks, panelOpen: history.panelOpen });
  }

  return {
    steer, changeTray, closePhoto, setPanel, restore, say,
    turnDial: (name, lean, gesture) => steer({ wishes: withDial(wishes(), name, lean) }, gesture),
    /** Set a target; null removes it. */
    setNear(name, near) {
      if (nearOf(wishes(), name) !== near) steer({ wishes: withNear(wishes(), name, near) }, `near ${name}`);
    },
    removeDial: (name) => steer({ wishes: withNear(withDial(wishes(), name, 0), name, null) }),
    removeWish(wish) {
      const text = JSON.stringify(wish);
      steer({ wishes: wishes().filter((other) => JSON.stringify(other) !== text) });
    },
    /** Set fields to their defaults. */
    removeFields(names) {
      const fresh = freshAddress();
      steer(Object.fromEntries(names.map((name) => [name, fresh[name]])));
    },
    resetSteering: () => steer(UNSTEERED),
    search: (text) => change({ text: text.trim(), like: null, photo: null }),
    searchLike: (id) => change({ like: id, text: "", photo: null }),
    /** Show the results of a request, such as those of a trip; the tray keeps its photographs. */
    show(request) {
      const { pin, large } = store.get();
      change({ ...freshAddress(), ...stateOf(request), pin, large });
    },
    /** Select the best of the photographs that are searched, or all of them again. */
    toggleBest() {
      const { best, library } = store.get();
      const { k, wishes } = library.best;
      steer(best ? { ...UNSTEERED, k: freshAddress().k } : { ...UNSTEERED, best: true, k, wishes });
    },
    /** Go back to all photographs; the tray keeps its photographs. */
    startAgain() {
      const { pin, large } = store.get();
      change({ ...freshAddress(), pin, large });
    },
    /** Put a photograph on the tray, or take it off. With `isRange`, put all photographs since the last pick on it. */
    pick(id, isRange = false) {
      const state = store.get();
      const list = neighboursOf(state, id);
      const [from, to] = [list.indexOf(state.lastPick), list.indexOf(id)].sort((a, b) => a - b);
      const isPicked = state.pin.includes(id);
      if (isRange && from >= 0) addPicks(list.slice(from, to + 1));
      else if (isPicked) changeTray({ pin: without(state.pin, id), complete: state.complete });
      else addPicks([id]);
      store.set({ lastPick: isPicked && !isRange ? null : id });
    },
    /** Put all results on the tray. */
    pickAll: () => addPicks(store.get().answer.results.map(({ photo }) => photo.id)),
    /** Remove a photograph from this search; another takes its place. */
    reject(id) {
      const { pin, reject } = store.get();
      changeTray({ pin: without(pin, id), reject: [...without(reject, id), id].slice(-MAX_PICKS) });
      store.set({ message: "Photograph rejected.", rejected: { id, isPicked: pin.includes(id) } });
    },
    /** Bring back the photograph that was rejected last. */
    undoReject() {
      const { pin, reject, rejected } = store.get();
      if (rejected === null) return;
      const { id, isPicked } = rejected;
      changeTray({ pin: isPicked ? [...without(pin, id), id] : pin, reject: without(reject, id) });
      say("");
    },
    /** Put a saved choice on the tray, and continue its search. */
    loadChoice(choice) {
      changeTray({ ...(choice.query ? stateOf(choice.query) : {}), pin: choice.photos, reject: choice.rejected, complete: null });
    },
    /** Open a photograph; `neighbours` are the photographs before and after it (default: those of its list). */
    openPhoto(id, neighbours = null) {
      store.set({ viewerPicks: null, neighbours });
      change({ photo: id }, (address) => history.push(address, { opened: "photo" }));
    },
    /** Show another photograph in the large view. */
    showPhoto: (id) => change({ photo: id }, replace),
    toggleCompare: () => change({ compare: !store.get().compare }),
    toggleMap: () => change({ large: !store.get().large }),
    toggleTray: () => store.set({ trayOpen: !store.get().trayOpen }),
    showCard: (card) => store.set({ card }),
  };
}
