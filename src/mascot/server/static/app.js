// The page: state in the address bar, one search at a time, and everything that shows its answer.

import * as api from "./api.js";
import { Clock } from "./clock.js";
import { Controls } from "./controls.js";
import { byId, h } from "./dom.js";
import { Filters } from "./filters.js";
import { Force } from "./force.js";
import { Grid } from "./grid.js";
import { WorldMap } from "./map.js";
import { learn, written } from "./places.js";
import { fresh, fromAddress, larger, leaning, question, searching, toAddress } from "./state.js";
import { failure, nothing, welcome } from "./states.js";
import { spoken, summary } from "./summary.js";
import { setUpTaking } from "./taking.js";
import { setUpTheme } from "./theming.js";
import { Timeline } from "./timeline.js";
import { Trail } from "./trail.js";
import { Viewer } from "./viewer.js";
import { filtering } from "./where.js";

const AGAIN_MS = 1500; // between looks for a server that is gone
const SPEAK_MS = 700; // a moving slider does not speak

let state = fromAddress(location.search);
let known = null; // the library
let last = null; // {found, asked}: what is shown
let waiting = 0;
let speaking = 0;

const trail = new Trail();
const controls = new Controls((name, wish, since) => steer({ wishes: { ...state.wishes, [name]: wish } }, since && name, since));
const force = new Force(byId("force"), (change, since) => steer(change, since && Object.keys(change).join(), since));
const map = new WorldMap(byId("map"), (spot) => aim("place", written(spot)));
const clock = new Clock(byId("clock"), (near) => aim("hour", near));
const timeline = new Timeline(byId("timeline"), (near) => aim("date", near));
const filters = new Filters(byId("filter"), (change) => steer(change, Object.keys(change).join()));
const grid = new Grid(byId("grid"), openPhoto);
const plainGrid = new Grid(byId("plain-grid"), openPhoto);
const viewer = new Viewer(byId("viewer"), { more: likeThis, moved: (id) => go({ photo: id }, stay), closed: photoClosed });
const searches = new api.Searches({ shown, failed, slow });

setUpTheme(byId("theme"), () => map.redraw());
setUpTaking({ copied: byId("copy"), listed: byId("list") }, () => last.found.results, tell);
listen();
begin();

async function begin() {
  dress();
  try {
    known = await api.library();
  } catch (error) {
    failed(error);
    return;
  }
  controls.library(known);
  filters.library(known);
  map.library(known.points);
  clock.library(known.hours);
  timeline.library(known);
  byId("footnote").textContent = known.notice ?? "";
  byId("footnote").hidden = !known.notice;
  byId("map-note").hidden = known.photos === 0 || known.without_place < known.photos;
  byId("map-note").textContent = "No photograph of this library says where it was taken.";
  render();
}

/** Change the state and the address; `write(address)` says how that stands in the history. */
function go(change, write = (address) => trail.step(address)) {
  const before = toAddress(state);
  state = { ...state, ...change };
  if (toAddress(state) === before) trail.stay(before);
  else write(toAddress(state));
}

/** Something was steered; `gesture` names what is still moving. */
function steer(change, gesture, since) {
  go(change, gesture ? (address) => trail.move(address, gesture) : undefined);
  if (!searching(state)) {
    if (known !== null) render();
    return;
  }
  ask(since); // before anything is drawn: the server works meanwhile
  dress();
}

/** Where the page is: asking, shown, failed or welcome. */
function at(where) {
  byId("results").dataset.state = where;
  byId("waiting").hidden = where !== "asking" || last !== null;
  if (where === "asking") byId("welcome").hidden = true;
}

function ask(since) {
  at("asking");
  searches.ask(question(state), since);
}

/** A picture was clicked: focus there. Null takes the target back. */
function aim(name, near) {
  const wish = state.wishes[name];
  if (near === null && !wish?.near) return;
  const lean = wish && wish.lean < 0 ? wish.lean : -1;
  if (wish?.near === near && wish.lean === lean) return;
  steer({ wishes: { ...state.wishes, [name]: { lean, near } } }, `near ${name}`);
}

/** Everything that shows the state itself. */
function dress() {
  const text = byId("text");
  if (document.activeElement !== text) text.value = state.text;
  text.placeholder = state.like === null ? "Search your photographs" : "";
  byId("like").hidden = state.like === null;
  if (state.like !== null) byId("like-picture").src = api.thumb(state.like);
  controls.show(state.wishes);
  filters.show(state);
  force.show(state);
  byId("reset").hidden = leaning(state).length === 0;
  for (const id of ["compare", "bar-compare"]) byId(id).setAttribute("aria-pressed", String(state.compare));
  const near = (name) => (state.wishes[name]?.lean < 0 ? state.wishes[name].near : null);
  clock.target(near("hour"));
  timeline.target(near("date"));
  map.target(spotOf(near("place")));
}

/** Where a place is: numbers, or where photographs of that city are. */
function spotOf(near) {
  if (!near) return null;
  const [lat, lon] = near.split(",").map(Number);
  if (!Number.isNaN(lat) && !Number.isNaN(lon)) return { lat, lon };
  const there = last?.found.results.concat(last.found.plain.map((photo) => ({ photo })))
    .find(({ photo }) => photo.lat !== null && photo.city?.toLowerCase() === near.toLowerCase());
  return there ? { lat: there.photo.lat, lon: there.photo.lon } : null;
}

/** Show what the state asks for. */
function render() {
  dress();
  if (searching(state)) {
    ask();
    return;
  }
  searches.stop();
  last = null;
  trouble(null);
  document.title = "MASCOT";
  byId("heading").textContent = "Search";
  for (const id of ["summary", "lists", "nothing", "after"]) byId(id).hidden = true;
  at("welcome");
  byId("welcome").hidden = false;
  byId("welcome").replaceChildren(...welcome(known, (text) => search(text)));
  map.show([], [], true);
  clock.show([], []);
  clock.library(known.hours);
  timeline.library(known);
  if (viewer.open) viewer.close();
}

function search(text) {
  go({ text: text.trim(), like: null, photo: null });
  byId("text").value = state.text;
  render();
}

function startAgain() {
  go(fresh());
  byId("text").value = "";
  render();
}

function shown(found, asked, since) {
  const isNew = last === null || last.asked.text !== asked.text || last.asked.like !== asked.like;
  last = { found, asked };
  learn(found.results.map(({ photo }) => photo));
  trouble(null);
  tell("");
  const title = titled(found);
  document.title = `${title} – MASCOT`;
  byId("heading").textContent = `Photographs: ${title}`;
  byId("welcome").hidden = true;
  const empty = found.results.length === 0;
  byId("summary").hidden = false;
  for (const id of ["lists", "after"]) byId(id).hidden = empty;
  byId("nothing").hidden = !empty;
  if (empty) byId("nothing").replaceChildren(...nothing(asked, startAgain, asked.where ? () => allow(...filtering(state)) : null));
  byId("more").hidden = !larger(state) || found.candidates <= found.results.length;
  lists(!isNew);
  const done = performance.now();
  const shownFilters = filtering(state).map((name) => [name, state[name]]);
  byId("summary").replaceChildren(...summary(found, { title, wishes: leaning(state), filters: shownFilters }, { drop, allow }));
  controls.show(state.wishes);
  map.show(found.results, found.plain, isNew);
  map.target(spotOf(state.wishes.place?.lean < 0 ? state.wishes.place.near : null));
  clock.show(found.results, found.plain);
  timeline.show(found.results, found.plain);
  if (isNew) scrollTo({ top: 0 });
  if (state.photo !== null) viewer.show(state.photo, idsAround(state.photo), found);
  speak(spoken(found, asked.wishes.length > 0));
  // A slider that moved on meanwhile has asked again.
  if (JSON.stringify(asked) === JSON.stringify(question(state))) at("shown");
  document.dispatchEvent(new CustomEvent("mascot:shown", { detail: { ms: done - since, asked } }));
}

/** What is shown, in a few words. */
function titled({ candidates, newest_of: all }) {
  if (state.like !== null) return "Like this photograph";
  if (state.text) return state.text;
  if (all > candidates) return `The newest ${candidates.toLocaleString("en")} photographs`;
  return filtering(state).length ? "Photographs" : "All photographs";
}

/** Take a wish back. */
function drop(name) {
  steer({ wishes: { ...state.wishes, [name]: { lean: 0, near: null } } });
  byId("results").focus({ preventScroll: true });
}

/** Take filters back. */
function allow(...names) {
  byId("results").focus({ preventScroll: true });
  steer(Object.fromEntries(names.map((name) => [name, ""])));
}

/** The grid, and beside it what relevance alone would have shown. */
function lists(move) {
  const { found, asked } = last;
  const plain = new Set(found.plain.map((photo) => photo.id));
  const now = new Set(found.results.map((result) => result.photo.id));
  const steered = asked.wishes.length > 0;
  grid.show(found.results.map(({ photo, rank, was }) => (
    { photo, rank, was, mark: steered && !plain.has(photo.id) ? "came" : null })), move);
  byId("plain").hidden = !state.compare;
  byId("lists").classList.toggle("compared", state.compare);
  byId("steered-heading").classList.toggle("unseen", !state.compare);
  byId("steered-heading").textContent = state.compare ? "Steered" : "Photographs";
  if (!state.compare) return;
  byId("plain-heading").replaceChildren(...(found.newest_of === null ? ["By relevance ", h("small", {}, "as found")] : ["Newest first"]));
  plainGrid.show(found.plain.map((photo, i) => (
    { photo, rank: i + 1, was: i + 1, mark: now.has(photo.id) ? null : "went" })), move);
}

function idsAround(id) {
  return !grid.ids.includes(id) && state.compare && plainGrid.ids.includes(id) ? plainGrid.ids : grid.ids;
}

function openPhoto(id, from) {
  go({ photo: id }, (address) => trail.step(address, { opened: "photo" }));
  viewer.show(id, from.ids, last.found);
}

function photoClosed(id) {
  const owner = grid.ids.includes(id) ? grid : plainGrid;
  owner.focus(id);
  if (state.photo === null) return;
  if (trail.opened === "photo") history.back();
  else go({ photo: null }, stay);
  state.photo = null;
}

/** Another address without another entry. */
function stay(address) {
  trail.stay(address);
}

function likeThis(id) {
  state.photo = null;
  viewer.close();
  go({ like: id, text: "", photo: null });
  render();
}

function failed(error) {
  at("failed");
  if (last === null && known !== null) {
    byId("welcome").hidden = true;
    byId("nothing").hidden = false;
    byId("nothing").replaceChildren(...failure(startAgain));
  }
  if (error instanceof api.Unreachable) {
    trouble("The server does not answer. Is it still running?", true);
    clearTimeout(waiting);
    waiting = setTimeout(recover, AGAIN_MS);
  } else {
    trouble(error.message, error.status >= 500);
  }
}

async function recover() {
  clearTimeout(waiting);
  if (!(await api.alive())) {
    waiting = setTimeout(recover, AGAIN_MS);
    return;
  }
  trouble(null);
  if (known === null) begin();
  else render();
}

function trouble(text, again = false) {
  byId("trouble").hidden = text === null;
  byId("retry").hidden = !again;
  if (text !== null) byId("trouble-text").textContent = text;
}

function slow(isSlow) {
  byId("progress").hidden = !isSlow;
  byId("results").setAttribute("aria-busy", String(isSlow));
}

function speak(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => { byId("live").textContent = text; }, SPEAK_MS);
}

/** Say beside the buttons what became of them. */
function tell(text) {
  byId("taken").textContent = text;
}

function compare() {
  go({ compare: !state.compare });
  dress();
  if (last) lists(false);
}

/** The panel on a phone, by hand: going back closes it too. */
function panel(open) {
  if (open) trail.step(toAddress(state), { sheet: true, opened: "sheet" });
  else if (trail.opened === "sheet") history.back();
  else trail.stay(toAddress(state), { sheet: false });
  sheet(open);
}

function sheet(open) {
  document.body.classList.toggle("steering", open);
  byId("bar-steer").setAttribute("aria-expanded", String(open));
  (open ? byId("rail-close") : byId("bar-steer")).focus({ preventScroll: true });
}

const isSteering = () => document.body.classList.contains("steering");

function listen() {
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(byId("text").value);
    if (state.text && matchMedia("(pointer: coarse)").matches) byId("text").blur();
  });
  byId("like-clear").addEventListener("click", () => {
    search("");
    byId("text").focus();
  });
  document.querySelector(".brand").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0 || known === null) return;
    event.preventDefault();
    startAgain();
  });
  for (const id of ["compare", "bar-compare"]) byId(id).addEventListener("click", compare);
  byId("reset").addEventListener("click", () => {
    steer({ wishes: {} });
    byId("lean-place").focus({ preventScroll: true });
  });
  byId("more").addEventListener("click", () => {
    if (larger(state)) steer({ k: larger(state) });
  });
  byId("retry").addEventListener("click", recover);
  byId("bar-steer").addEventListener("click", () => panel(!isSteering()));
  byId("rail-close").addEventListener("click", () => panel(false));
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=range]), select, textarea, dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      byId("text").focus();
      byId("text").select();
    } else if (event.key === "Escape" && isSteering()) {
      panel(false);
    }
  });
  if (trail.sheet) sheet(true); // after a reload
  addEventListener("popstate", () => {
    const before = toAddress({ ...state, photo: null, compare: false });
    state = fromAddress(location.search);
    byId("text").value = state.text;
    if (isSteering() !== trail.sheet) sheet(trail.sheet);
    if (state.photo === null && viewer.open) viewer.close();
    if (toAddress({ ...state, photo: null, compare: false }) !== before) render();
    else {
      dress();
      if (last) lists(false);
      if (last && state.photo !== null) viewer.show(state.photo, idsAround(state.photo), last.found);
    }
  });
}
