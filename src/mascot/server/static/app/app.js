// The page: creates the store and the views, and connects them to the actions of the reader.

import { createActions } from "./actions.js";
import { fromAddress, ignoredParameters, toAddress } from "./address.js";
import { PageHistory } from "./history.js";
import { requestOf, savedRequest } from "./request.js";
import { createSearch } from "./search.js";
import { initialState, isNarrow, nextSize } from "./state.js";
import { createStore } from "./store.js";
import { withNear, withRule } from "./wishes.js";
import { Clock } from "../charts/clock.js";
import { WorldMap } from "../charts/map.js";
import { Timeline } from "../charts/timeline.js";
import { pointValue } from "../text/places.js";
import { titleOf } from "../text/title.js";
import { Chips } from "../view/chips.js";
import { Controls } from "../view/controls.js";
import { byId, h } from "../view/dom.js";
import { downloadPhotos, setUpExport } from "../view/export.js";
import { Filters } from "../view/filters.js";
import { Grid } from "../view/grid.js";
import { Options } from "../view/options.js";
import { renderStore } from "../view/render.js";
import { Toast } from "../view/toast.js";
import { Tray } from "../view/tray.js";
import { Viewer } from "../view/viewer.js";

const history = new PageHistory();
const store = createStore({ ...initialState(fromAddress(location.search)), panelOpen: history.panelOpen });
const actions = createActions(store, history);
const search = createSearch(store); // subscribes first: the server works while the page is rendered
const views = createViews();

renderStore(store, views, { ...actions, search: searchFor, startAgain, removeFields });
listen();
reportIgnored();
store.subscribe(["library"], () => views.tray.loadChoices());
search.load();

/** Say which values of the link are ignored, and remove them from the address. */
function reportIgnored() {
  const ignored = ignoredParameters(location.search);
  if (ignored.length === 0) return;
  history.replace(toAddress(store.get()));
  actions.say(`This part of the link is not valid and was removed: ${ignored.join(", ")}`);
}

function createViews() {
  const { steer, turnDial, setNear, removeDial, openPhoto, pick, reject } = actions;
  const tiles = { open: (id) => openPhoto(id), pick, reject };
  return {
    grids: {
      results: new Grid(byId("grid"), tiles),
      removed: new Grid(byId("removed-grid"), tiles),
      kept: new Grid(byId("kept-grid"), tiles),
    },
    controls: new Controls({ turn: turnDial, setNear: trySetNear, remove: removeDial }),
    chips: createChips(),
    options: new Options(byId("options"), steer),
    filters: new Filters(byId("filters"), (changes) => steer(changes, Object.keys(changes).join())),
    map: new WorldMap(byId("map"), {
      pick: (point) => setNear("place", pointValue(point)), open: (id) => openPhoto(id), select: (box) => steer({ box }),
    }),
    clock: new Clock(byId("clock"), (near) => setNear("hour", near)),
    timeline: new Timeline(byId("timeline"), { pick: (near) => setNear("date", near), brush: filterByDays }),
    viewer: new Viewer(byId("viewer"), { pick, reject, searchLike: actions.searchLike, show: actions.showPhoto, closed: photoClosed }),
    tray: new Tray(byId("tray"), {
      change: actions.changeTray, open: (id) => openPhoto(id, store.get().pin), load: actions.loadChoice, say: actions.say,
      title: () => titleOf(store.get()),
      request: () => savedRequest(requestOf({ ...store.get(), complete: null, reject: [] }), store.get().answer.request),
    }),
    toast: new Toast(byId("toast"), { undo: actions.undoReject, closed: () => actions.say("") }),
  };
}

function createChips() {
  const chips = new Chips(byId("wishes"), byId("ignored"), {
    search: searchFor, editControl, steer: actions.steer, removeFields,
    removeWish: (wish) => keepFocus(() => actions.removeWish(wish)),
    toggleBest: () => keepFocus(actions.toggleBest),
    tryRule: (rule, replaced) => tryWishes(withRule(store.get().wishes, rule, replaced)),
  });
  byId("filters").append(h("div", { class: "filter-more" }, chips.rule));
  return chips;
}

/** Set a target that was typed, or remove it. Returns why the server refuses it, if it does. */
function trySetNear(name, near) {
  return near === null ? actions.setNear(name, null) : tryWishes(withNear(store.get().wishes, name, near));
}

/** Steer by other wishes, unless the server refuses them; then return why. */
async function tryWishes(wishes) {
  const message = await search.check({ wishes });
  if (message === null) actions.steer({ wishes });
  return message;
}

/** Focus the control of a chip. Returns whether it has one. */
function editControl(kind, name) {
  if (kind === "filter") return views.filters.focus(name);
  const card = document.querySelector(`[data-control="${name}"]`)?.closest(".card").id ?? "card-others";
  actions.showCard(card);
  if (isNarrow() && !store.get().panelOpen) actions.setPanel(true);
  views.controls.edit(kind, name);
  return true;
}

function filterByDays(since, until, drag) {
  const state = store.get();
  if (since !== state.since || until !== state.until) actions.steer({ since, until }, `brush ${drag}`);
}

function photoClosed(id) {
  for (const grid of Object.values(views.grids)) grid.focus(id);
  actions.closePhoto();
}

function searchFor(text) {
  actions.search(text);
  byId("text").value = store.get().text;
  search.update(); // a search that failed is sent again
}

function startAgain() {
  actions.startAgain();
  byId("text").value = "";
  search.update();
}

function removeFields(names) {
  keepFocus(() => actions.removeFields(names));
}

/** Run an action of a button that it removes; the results take the focus. */
function keepFocus(action) {
  byId("results").focus({ preventScroll: true });
  action();
}

function listen() {
  listenToSearchBox();
  listenToButtons();
  setUpExport({ copyButton: byId("copy"), listButton: byId("list") }, () => store.get().answer.results, actions.say);
  document.addEventListener("mascot:theme", () => views.map.redraw());
  addEventListener("popstate", actions.restore);
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input:not([type=range]), select, textarea, dialog");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      byId("text").focus();
      byId("text").select();
    } else if (event.key === "u" && !isTyping) {
      actions.undoReject();
    } else if (event.key === "Escape" && store.get().panelOpen) {
      actions.setPanel(false);
    }
  });
}

function listenToSearchBox() {
  const text = byId("text");
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    searchFor(text.value);
    if (store.get().text && matchMedia("(pointer: coarse)").matches) text.blur();
  });
  // An empty box means no text: the cross in it, or deleting everything, ends the search.
  text.addEventListener("input", () => {
    if (text.value === "" && store.get().text !== "") searchFor("");
  });
  byId("like-clear").addEventListener("click", () => {
    searchFor("");
    text.focus();
  });
  document.querySelector(".brand").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0 || store.get().library === null) return;
    event.preventDefault();
    startAgain();
  });
}

function listenToButtons() {
  const onClick = (id, action) => byId(id).addEventListener("click", action);
  for (const id of ["compare", "bar-compare"]) onClick(id, actions.toggleCompare);
  for (const id of ["tray-open", "bar-tray"]) {
    onClick(id, () => {
      actions.toggleTray();
      if (store.get().trayOpen) views.tray.title.focus({ preventScroll: true });
    });
  }
  onClick("map-large", () => {
    actions.toggleMap();
    if (store.get().large) scrollTo({ top: 0 });
    byId("map-large").focus({ preventScroll: true });
  });
  onClick("reset", () => {
    actions.resetSteering();
    byId("lean-place").focus({ preventScroll: true });
  });
  onClick("more", () => {
    const k = nextSize(store.get());
    if (k) actions.steer({ k });
  });
  onClick("pick-all", actions.pickAll);
  onClick("best", actions.toggleBest);
  byId("order").addEventListener("change", () => actions.steer({ order: byId("order").value }));
  for (const [id, format] of [["download", "zip"], ["album", "album"]]) {
    onClick(id, () => downloadPhotos(store.get().answer.results.map(({ photo }) => photo.id), format, titleOf(store.get()), actions.say));
  }
  onClick("retry", search.recover);
  onClick("tabs", (event) => event.target.dataset.card && actions.showCard(event.target.dataset.card));
  onClick("bar-steer", () => actions.setPanel(!store.get().panelOpen));
  onClick("rail-close", () => actions.setPanel(false));
}
