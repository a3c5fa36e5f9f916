// The page: state in the address bar, one search at a time, and everything that shows its answer.

import * as api from "./api.js";
import { Clock } from "./clock.js";
import { Controls } from "./controls.js";
import { byId } from "./dom.js";
import { Filters } from "./filters.js";
import { Grid } from "./grid.js";
import { WorldMap } from "./map.js";
import { Options } from "./options.js";
import { learn, written } from "./places.js";
import { nearestTexts } from "./reasons.js";
import { MOST_PICKED, fresh, fromAddress, isStart, larger, question, steering, toAddress, wishOf, wishes } from "./state.js";
import { failure, nothing, welcome } from "./states.js";
import { spoken, summary } from "./summary.js";
import { setUpTaking } from "./taking.js";
import { setUpTheme } from "./theming.js";
import { Timeline } from "./timeline.js";
import { Trail } from "./trail.js";
import { Tray } from "./tray.js";
import { Viewer } from "./viewer.js";
import { filtering } from "./where.js";
import { capital, plural } from "./words.js";

const AGAIN_MS = 1500; // between looks for a server that is gone
const SPEAK_MS = 700; // a moving dial does not speak
const COMPLETED = ["place", "date", "look"]; // dials that are turned to complete a set where none is

let state = fromAddress(location.search);
let library = null;
let last = null; // {answer, asked}: what is shown
let waiting = 0;
let speaking = 0;
let isTrayOpen = state.pin.length > 0;
let carried = null; // what was picked in the large view: going back closes that, and undoes nothing else

const trail = new Trail();
const controls = new Controls((name, wish, since) => steer({ wishes: { ...state.wishes, [name]: wish } }, since && name, since));
const options = new Options(byId("options"), (change, since) => steer(change, since && Object.keys(change).join(), since));
const map = new WorldMap(byId("map"), { pick: (spot) => aim("place", written(spot)), open: (id) => openPhoto(id, grid), select: (box) => steer({ box }) });
const clock = new Clock(byId("clock"), (near) => aim("hour", near));
const timeline = new Timeline(byId("timeline"), {
  pick: (near) => aim("date", near),
  brush: (from, to, drag) => (from !== state.from || to !== state.to) && steer({ from, to }, `brush ${drag}`),
});
const filters = new Filters(byId("filters"), (change) => steer(change, Object.keys(change).join()));
const tiles = { open: openPhoto, pick, reject };
const grid = new Grid(byId("grid"), tiles);
const wentGrid = new Grid(byId("went-grid"), tiles);
const stayedGrid = new Grid(byId("stayed-grid"), tiles);
const viewer = new Viewer(byId("viewer"), {
  more: likeThis, pick, reject, isPicked: (id) => state.pin.includes(id), moved: (id) => go({ photo: id }, stay), closed: photoClosed,
});
const tray = new Tray(byId("tray"), { change: putOnTray, open: (id) => openPhoto(id, grid, state.pin), query: () => question({ ...state, complete: null, reject: [] }) });
const searches = new api.Searches({ show, failed, slow });

setUpTheme(byId("theme"), () => map.redraw());
setUpTaking({ copied: byId("copy"), listed: byId("list") }, () => last.answer.results, say);
listen();
begin();

async function begin() {
  dress();
  try {
    library = await api.library();
  } catch (error) {
    failed(error);
    return;
  }
  controls.library(library);
  filters.library(library);
  map.library(library.points);
  clock.library(library.hours);
  timeline.library(library);
  tray.load();
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
  if (library === null || library.photos === 0) return dress();
  ask(since); // before anything is drawn: the server works meanwhile
  return dress();
}

/** Where the page is: asking, shown, failed or empty. */
function at(where) {
  byId("results").dataset.state = where;
  byId("waiting").hidden = where !== "asking" || last !== null;
}

function ask(since) {
  at("asking");
  searches.ask(question(state), since);
}

/** A picture was clicked: be near that. Null takes the target back. */
function aim(name, near) {
  const wish = wishOf(state, name);
  if (wish.near === near) return;
  steer({ wishes: { ...state.wishes, [name]: { ...wish, near } } }, `near ${name}`);
}

/** Everything that shows the state itself. */
function dress() {
  const text = byId("text");
  if (document.activeElement !== text) text.value = state.text;
  text.placeholder = state.like === null ? "Search your photographs" : "";
  byId("like").hidden = state.like === null;
  if (state.like !== null) byId("like-picture").src = api.thumb(state.like);
  filters.show(state);
  options.show(state);
  byId("reset").hidden = !steering(state);
  for (const id of ["compare", "bar-compare"]) {
    byId(id).setAttribute("aria-pressed", String(state.compare && steering(state)));
    byId(id).disabled = !steering(state);
    byId(id).title = steering(state) ? "" : "Turn a dial, then compare";
  }
  document.body.classList.toggle("mapped", state.large);
  byId("map-large").setAttribute("aria-pressed", String(state.large));
  const home = byId(state.large ? "map-stage" : "map-slot");
  if (byId("map").parentElement !== home) home.append(byId("map"));
  map.box(state.box);
  timeline.range(state.from, state.to);
  dressTargets();
  dressTray();
}

/** What is named to be near, drawn and told; a name is drawn where the server says it is. */
function dressTargets() {
  const answer = last?.answer;
  const target = (name) => {
    const near = wishOf(state, name).near;
    return near ? answer?.targets.find((other) => other.name === name && other.near === near) ?? guess(name, near) : null;
  };
  const [place, hour, day] = ["place", "hour", "date"].map(target);
  map.target(place);
  clock.target(hour?.hour ?? null);
  timeline.target(day?.date ?? null);
  controls.show(state.wishes, nearestTexts(answer));
}

/** Where a target is before the server has said so: what was clicked is plain. */
function guess(name, near) {
  const numbers = near.split(name === "place" ? "," : ":").map(Number);
  if (name === "date") return { date: near };
  if (numbers.length !== 2 || numbers.some(Number.isNaN)) return null;
  return name === "place" ? { lat: numbers[0], lon: numbers[1] } : { hour: numbers[0] + numbers[1] / 60 };
}

function dressTray() {
  const number = state.pin.length;
  tray.show(state, isTrayOpen);
  document.body.classList.toggle("trayed", isTrayOpen);
  for (const id of ["tray-open", "bar-tray"]) {
    byId(id).setAttribute("aria-expanded", String(isTrayOpen));
    byId(id).querySelector("b").textContent = number || "";
  }
}

/** Show what the state asks for. */
function render() {
  dress();
  if (library === null) return; // `begin` renders when the library is there
  if (library.photos > 0) {
    ask();
    return;
  }
  searches.stop();
  trouble(null);
  for (const id of ["summary", "lists", "nothing", "after"]) byId(id).hidden = true;
  at("empty");
  byId("welcome").hidden = false;
  byId("welcome").replaceChildren(...welcome(library));
}

function search(text) {
  go({ text: text.trim(), like: null, photo: null });
  byId("text").value = state.text;
  render();
}

/** Back to everything; what was picked stays in the tray. */
function startAgain() {
  go({ ...fresh(), pin: state.pin, large: state.large });
  byId("text").value = "";
  render();
}

function show(answer, asked, since) {
  const isNew = last === null || last.asked.text !== asked.text || last.asked.like !== asked.like;
  last = { answer, asked };
  learn(answer.results.map(({ photo }) => photo));
  trouble(null);
  say("");
  const start = isStart(state);
  const title = titled(answer);
  document.title = start ? "MASCOT" : `${title} – MASCOT`;
  byId("heading").textContent = `Photographs: ${title}`;
  byId("welcome").hidden = !start;
  if (start && !byId("welcome").childElementCount) byId("welcome").replaceChildren(...welcome(library, search));
  const empty = answer.results.length === 0;
  byId("summary").hidden = false;
  for (const id of ["lists", "after"]) byId(id).hidden = empty;
  byId("nothing").hidden = !empty;
  if (empty) byId("nothing").replaceChildren(...nothing(asked, startAgain, asked.where ? () => allow(...filtering(state)) : null));
  byId("more").hidden = !larger(state) || answer.candidates <= answer.results.length || answer.results.length < state.k;
  lists(!isNew);
  const done = performance.now();
  const set = { title: start ? "Newest first" : capital(title), wishes: wishes(state), filters: filtering(state).map((name) => [name, state[name]]), completing: state.complete === null ? 0 : state.pin.length };
  byId("summary").replaceChildren(...summary(answer, set, { drop, allow, free: () => steer({ complete: null }) }));
  byId("notice").textContent = library.notice ?? "";
  byId("notice").hidden = !library.notice || !state.text; // said where it is felt
  map.show(answer.results, answer.plain);
  clock.show(answer.results, answer.plain);
  timeline.show(answer.results, answer.plain);
  dressTargets();
  if (isNew) scrollTo({ top: 0 });
  if (state.photo !== null) viewer.show(state.photo, idsAround(state.photo), answer, wishes(state));
  speak(spoken(answer, asked.wishes.length > 0));
  // A dial that moved on meanwhile has asked again.
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

/** Take a wish back: its dial ("lean") or its target ("near"). */
function drop(name, part) {
  const wish = { ...wishOf(state, name), [part]: part === "lean" ? 0 : null };
  steer({ wishes: { ...state.wishes, [name]: wish } });
  byId("results").focus({ preventScroll: true });
}

/** Take filters back. */
function allow(...names) {
  byId("results").focus({ preventScroll: true });
  steer(Object.fromEntries(names.map((name) => [name, ""])));
}

/** The grid; to compare, what came, what went and what stayed. */
function lists(move) {
  const { answer, asked } = last;
  const before = new Set(answer.plain.map((photo) => photo.id));
  const now = new Set(answer.results.map((result) => result.photo.id));
  const comparing = state.compare && asked.wishes.length > 0;
  const entry = ({ photo, rank, similar }, mark = null) => ({ photo, rank, mark, similar: similar ?? [], picked: state.pin.includes(photo.id) });
  const isOld = ({ photo }) => before.has(photo.id);
  const came = answer.results.filter((result) => !isOld(result));
  const went = answer.plain.map((photo, i) => ({ photo, rank: i + 1 })).filter(({ photo }) => !now.has(photo.id));
  const stayed = answer.results.filter(isOld);
  byId("lists").classList.toggle("compared", comparing);
  for (const id of ["went", "stayed"]) byId(id).hidden = !comparing;
  byId("steered-heading").classList.toggle("unseen", !comparing);
  byId("steered-heading").textContent = comparing ? `${plural(came.length, "photograph")} came` : "Photographs";
  grid.show((comparing ? came : answer.results).map((result) => entry(result, comparing ? "came" : null)), move);
  if (!comparing) return;
  byId("went-heading").textContent = `${plural(went.length, "photograph")} went`;
  byId("stayed-heading").textContent = `${plural(stayed.length, "photograph")} stayed`;
  wentGrid.show(went.map((result) => entry(result, "went")), move);
  stayedGrid.show(stayed.map((result) => entry(result)), move);
}

const grids = () => (byId("lists").classList.contains("compared") ? [grid, wentGrid, stayedGrid] : [grid]);

function idsAround(id) {
  return (grids().find((other) => other.ids.includes(id)) ?? grid).ids;
}

function openPhoto(id, from, ids = null) {
  carried = null;
  go({ photo: id }, (address) => trail.step(address, { opened: "photo" }));
  viewer.show(id, ids ?? (from.ids.includes(id) ? from.ids : idsAround(id)), last.answer, wishes(state));
}

function photoClosed(id) {
  (grids().find((other) => other.ids.includes(id)) ?? grid).focus(id);
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

/** Put a photograph on the tray, or take it off. */
function pick(id) {
  const isPicked = state.pin.includes(id);
  const pin = isPicked ? state.pin.filter((other) => other !== id) : [...state.pin, id].slice(-MOST_PICKED);
  if (!isPicked && state.pin.length === 0) isTrayOpen = true;
  putOnTray({ pin, reject: state.reject.filter((other) => other !== id), complete: pin.length ? state.complete : null });
}

/** Never show a photograph again; another takes its place. */
function reject(id) {
  putOnTray({ pin: state.pin.filter((other) => other !== id), reject: [...state.reject.filter((other) => other !== id), id].slice(-MOST_PICKED) });
}

function putOnTray(change) {
  const completing = change.complete !== undefined && change.complete !== null;
  if (completing && !steering(state)) change.wishes = Object.fromEntries(COMPLETED.map((name) => [name, { lean: 1, near: null }]));
  const before = JSON.stringify(question(state));
  go(change, state.photo === null ? undefined : stay);
  if (state.pin.length === 0) state.complete = null;
  if (state.photo !== null) carried = { pin: state.pin, reject: state.reject, complete: state.complete };
  dress();
  if (last === null) return;
  if (JSON.stringify(question(state)) !== before) ask();
  else lists(false);
}

function failed(error) {
  at("failed");
  if (last === null && library !== null) {
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
  if (library === null) begin();
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
function say(text) {
  byId("taken").textContent = text;
}

function compare() {
  go({ compare: !state.compare });
  dress();
  if (last) lists(false);
}

/** The map as large as the photographs, or in the panel. */
function enlarge() {
  go({ large: !state.large });
  dress();
  if (state.large) scrollTo({ top: 0 });
  byId("map-large").focus({ preventScroll: true });
}

function openTray() {
  isTrayOpen = !isTrayOpen;
  dressTray();
  if (isTrayOpen) tray.title.focus({ preventScroll: true });
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
  if (open && !byId("lists").hidden) byId(state.large ? "map-stage" : "lists").scrollIntoView({ block: "start" });
  (open ? byId("rail-close") : byId("bar-steer")).focus({ preventScroll: true });
}

const isSteering = () => document.body.classList.contains("steering");

/** On a phone the panel shows one card at a time, so that the photographs stay in sight. */
function card(id) {
  byId("rail").dataset.card = id;
  for (const tab of byId("tabs").children) tab.setAttribute("aria-pressed", String(tab.dataset.card === id));
}

function listen() {
  const text = byId("text");
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(text.value);
    if (state.text && matchMedia("(pointer: coarse)").matches) text.blur();
  });
  // The cross in the box, or everything deleted: no words, so no results of old ones.
  text.addEventListener("input", () => {
    if (text.value === "" && state.text !== "") search("");
  });
  byId("like-clear").addEventListener("click", () => {
    search("");
    text.focus();
  });
  document.querySelector(".brand").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0 || library === null) return;
    event.preventDefault();
    startAgain();
  });
  for (const id of ["compare", "bar-compare"]) byId(id).addEventListener("click", compare);
  for (const id of ["tray-open", "bar-tray"]) byId(id).addEventListener("click", openTray);
  byId("map-large").addEventListener("click", enlarge);
  byId("tabs").addEventListener("click", (event) => event.target.dataset.card && card(event.target.dataset.card));
  card("card-place");
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
      text.focus();
      text.select();
    } else if (event.key === "Escape" && isSteering()) {
      panel(false);
    }
  });
  if (trail.sheet) sheet(true); // after a reload
  addEventListener("popstate", () => {
    const before = JSON.stringify(question(state));
    state = fromAddress(location.search);
    if (carried !== null && state.photo === null) {
      state = { ...state, ...carried };
      carried = null;
      trail.stay(toAddress(state));
    }
    text.value = state.text;
    if (isSteering() !== trail.sheet) sheet(trail.sheet);
    if (state.photo === null && viewer.open) viewer.close();
    if (JSON.stringify(question(state)) !== before) render();
    else {
      dress();
      if (last) lists(false);
      if (last && state.photo !== null) viewer.show(state.photo, idsAround(state.photo), last.answer, wishes(state));
    }
  });
}
