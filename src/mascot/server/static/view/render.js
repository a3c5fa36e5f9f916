// Shows the state of the page: each function below renders one part of it, and runs when a value that it shows changes.

import { byId, h } from "./dom.js";
import { dropButtons, emptyLibrary, failedSearch, noResults, welcome } from "./emptyStates.js";
import { spokenSummary, summary } from "./summary.js";
import { thumbUrl } from "../app/api.js";
import { isStart } from "../app/request.js";
import { FILTERS, STEERING, comparison, isComparing, isSteered, neighboursOf, nextSize } from "../app/state.js";
import { targetOf } from "../charts/targets.js";
import { headingsOf } from "../text/headings.js";
import { capitalized, counted } from "../text/labels.js";
import { titleOf } from "../text/title.js";

const NOTICE = "mascot-notice"; // the notice that was dismissed, in the storage of the browser
const SPEAK_MS = 700; // the screen reader waits until a moving dial has stopped

/** Show the store's state, now and after each change. `views` are the components of the page. */
export function renderStore(store, views, actions) {
  const parts = [
    [["text", "like"], renderSearchBox],
    [["library"], (state) => renderLibrary(state, views)],
    [FILTERS, (state) => views.filters.show(state)],
    [["k", "protect", "answer"], (state) => views.options.show(state)],
    [["wishes", "best", "compare", ...STEERING], renderSteeringButtons],
    [["large", "box", "since", "until"], (state) => renderCharts(state, views)],
    [["answer", "compare", "pin"], (state, before) => renderLists(state, before, views)],
    [["answer", "periods"], (state, before) => renderAnswer(state, before, views, actions)],
    [["library", "periods"], (state) => renderWelcome(state, actions)],
    [["best", "answer"], renderOrder],
    [["wishes", "answer"], (state) => renderTargets(state, views)],
    [["pin", "reject", "complete", "trayOpen", "answer"], (state) => renderTray(state, views)],
    [["photo", "answer", "neighbours", "reject", "compare", "pin"], (state, before) => renderViewer(state, before, views)],
    [["panelOpen"], renderPanel],
    [["card"], renderCard],
    [["message", "rejected"], (state) => views.toast.show(state)],
    [["error"], showError],
    [["isSlow"], renderProgress],
    [["status", "answer"], (state) => renderStatus(state, actions)], // last, because tests wait for it
  ];
  const initial = store.get();
  for (const [keys, render] of parts) {
    store.subscribe(keys, render);
    render(store.get(), initial);
  }
}

function renderSearchBox({ text, like }) {
  byId("text").value = text;
  byId("text").placeholder = like === null ? "Search your photographs" : "";
  byId("like").hidden = like === null;
  if (like !== null) byId("like-picture").src = thumbUrl(like);
}

function renderLibrary({ library }, { controls, filters, chips, map, clock, timeline }) {
  if (library === null) return;
  controls.setLibrary(library);
  filters.setLibrary(library);
  chips.valuesOf = (name) => controls.valuesOf(name);
  map.setLibrary(library.points);
  clock.setLibrary(library.hours);
  timeline.setLibrary(library);
}

function renderSteeringButtons(state) {
  const canCompare = isSteered(state);
  byId("reset").hidden = !canCompare && !state.best && STEERING.every((name) => state[name] === null);
  for (const id of ["compare", "bar-compare"]) {
    byId(id).setAttribute("aria-pressed", String(state.compare && canCompare));
    byId(id).disabled = !canCompare;
    byId(id).title = canCompare ? "" : "Turn a dial, then compare";
  }
}

function renderCharts({ large, box, since, until }, { map, timeline }) {
  document.body.classList.toggle("mapped", large);
  byId("map-large").setAttribute("aria-pressed", String(large));
  const host = byId(large ? "map-stage" : "map-slot");
  if (byId("map").parentElement !== host) host.append(byId("map"));
  map.setBox(box);
  timeline.setRange(since, until);
}

/** Show the focus targets on map, clock and timeline, and beside the dials. */
function renderTargets({ wishes, answer }, { map, clock, timeline, controls }) {
  const targets = answer?.targets ?? [];
  map.setTarget(targetOf(wishes, targets, "place"));
  clock.setTarget(targetOf(wishes, targets, "hour")?.hour ?? null);
  timeline.setTarget(targetOf(wishes, targets, "date")?.date ?? null);
  controls.show(wishes, targets);
}

function renderTray(state, { tray }) {
  tray.show(state);
  document.body.classList.toggle("trayed", state.trayOpen);
  for (const id of ["tray-open", "bar-tray"]) {
    byId(id).setAttribute("aria-expanded", String(state.trayOpen));
    byId(id).querySelector("b").textContent = state.pin.length || "";
  }
}

/** Show the results, or the groups of a comparison. */
function renderLists(state, before, { grids }) {
  const { answer, pin } = state;
  if (answer === null) return;
  const comparing = isComparing(state);
  const { added, removed, kept } = comparison(answer);
  const isMoved = answer !== before.answer && !isNewSearch(state, before);
  const entries = (results, mark = null) => results.map(({ photo, rank, similar = [] }) => (
    { photo, rank, similar, mark, isPicked: pin.includes(photo.id) }));
  byId("lists").classList.toggle("compared", comparing);
  for (const id of ["removed", "kept"]) byId(id).hidden = !comparing;
  byId("steered-heading").classList.toggle("visually-hidden", !comparing);
  byId("steered-heading").textContent = comparing ? `${counted(added.length, "photograph")} added` : "Photographs";
  const headings = headingsOf(answer.results, answer.request.order, answer.good_matches);
  const withHeadings = () => entries(answer.results).map((entry, i) => ({ ...entry, heading: headings[i] }));
  grids.results.show(comparing ? entries(added, "added") : withHeadings(), isMoved);
  if (!comparing) return;
  byId("removed-heading").textContent = `${counted(removed.length, "photograph")} removed`;
  byId("kept-heading").textContent = `${counted(kept.length, "photograph")} kept`;
  grids.removed.show(entries(removed, "removed"), isMoved);
  grids.kept.show(entries(kept), isMoved);
}

/** Whether the answer has another text or another photograph to be like than the one before. */
function isNewSearch({ answered }, { answered: before }) {
  return before === null || before.sentence !== answered.sentence || before.like !== answered.like;
}

function renderAnswer(state, before, { map, clock, timeline, chips }, actions) {
  const { answer, answered: request, library } = state;
  if (answer === null) return;
  const title = titleOf(state);
  const isEmpty = answer.results.length === 0;
  document.title = isStart(request) ? "MASCOT" : `${title} – MASCOT`;
  byId("heading").textContent = `Photographs: ${title}`;
  byId("welcome").hidden = !isStart(request);
  byId("summary").hidden = false;
  byId("summary").replaceChildren(...summary(answer, request, isStart(request) ? "Newest first" : title));
  chips.show(answer, request);
  for (const id of ["lists", "after", "take"]) byId(id).hidden = isEmpty;
  byId("download").textContent = `Download these ${answer.results.length}`;
  const drops = isEmpty ? [] : dropButtons(answer, actions.search);
  byId("few").hidden = drops.length === 0;
  byId("few").replaceChildren(`Only ${counted(answer.results.length, "photograph")}.`, ...drops);
  byId("nothing").hidden = !isEmpty;
  if (isEmpty) byId("nothing").replaceChildren(...noResults(answer, request, actions));
  byId("more").hidden = !nextSize(state) || answer.candidates <= answer.results.length || answer.results.length < request.k;
  showNotice(answer.understood?.text ? library.notice : null); // it is about searches for text
  for (const chart of [map, clock, timeline]) chart.show(answer.results, answer.plain);
  if (isNewSearch(state, before)) scrollTo({ top: 0 });
  speak(spokenSummary(answer, request));
}

function renderWelcome({ library, periods }, actions) {
  if (library?.photos) byId("welcome").replaceChildren(...welcome(library, periods, actions));
}

/** Show whether the best are selected, and the order of the photographs. */
function renderOrder({ best, answer }) {
  byId("best").setAttribute("aria-pressed", String(best));
  if (answer === null) return;
  const { order, text, like, wishes } = answer.request;
  const [relevance, selection] = byId("order").options;
  relevance.textContent = text || like ? "Best match first" : wishes ? "Best first" : "Newest first";
  selection.hidden = !wishes;
  byId("order").value = order;
}

/** Show a notice, without what it says in brackets, and a button that removes it until there is another one. */
function showNotice(notice) {
  const dismiss = () => {
    try { localStorage.setItem(NOTICE, notice); } catch { /* the notice then comes back with the next search */ }
    byId("notice").hidden = true;
    byId("results").focus({ preventScroll: true });
  };
  let dismissed = null;
  try { dismissed = localStorage.getItem(NOTICE); } catch { /* storage may be forbidden */ }
  byId("notice").hidden = !notice || notice === dismissed;
  const text = capitalized(notice ?? "").replace(/ \([^)]*\)/, "");
  byId("notice").replaceChildren(h("span", { title: text }, text), h("button", { type: "button", class: "undo", "aria-label": "Dismiss the notice", onclick: dismiss }, "×"));
}

let speaking = 0;

function speak(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => { byId("live").textContent = text; }, SPEAK_MS);
}

function renderViewer(state, before, { viewer }) {
  const { photo, answer, pin } = state;
  if (photo === null) return viewer.close();
  if (answer === null) return undefined;
  const isOnlyPinChanged = ["photo", "answer", "neighbours", "reject", "compare"].every((key) => state[key] === before[key]);
  if (!isOnlyPinChanged) viewer.show(photo, neighboursOf(state, photo), answer);
  return viewer.showPicked(pin);
}

/** On a phone the panel covers the lower half of the screen. */
function renderPanel({ panelOpen, large }, before) {
  document.body.classList.toggle("steering", panelOpen);
  byId("bar-steer").setAttribute("aria-expanded", String(panelOpen));
  if (panelOpen && !byId("lists").hidden) byId(large ? "map-stage" : "lists").scrollIntoView({ block: "start" });
  if (panelOpen !== before.panelOpen) byId(panelOpen ? "rail-close" : "bar-steer").focus({ preventScroll: true });
}

/** On a phone the panel shows one card at a time, so that the photographs stay visible. */
function renderCard({ card }) {
  byId("rail").dataset.card = card;
  for (const tab of byId("tabs").children) tab.setAttribute("aria-pressed", String(tab.dataset.card === card));
}

function showError({ error }) {
  byId("error").hidden = error === null;
  byId("retry").hidden = !error?.canRetry;
  if (error !== null) byId("error-text").textContent = error.text;
}

function renderProgress({ isSlow }) {
  byId("progress").hidden = !isSlow;
  byId("results").setAttribute("aria-busy", String(isSlow));
}

function renderStatus({ status, answer, library }, { startAgain }) {
  byId("results").dataset.state = status;
  byId("waiting").hidden = status !== "asking" || answer !== null;
  if (status === "empty") {
    byId("welcome").hidden = false;
    byId("welcome").replaceChildren(...emptyLibrary());
  } else if (status === "failed" && answer === null && library !== null) {
    byId("nothing").hidden = false;
    byId("nothing").replaceChildren(...failedSearch(startAgain));
  }
}
