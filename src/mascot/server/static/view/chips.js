// The bar of chips below the search box: what was understood of the sentence, wishes, options and filters. A filled chip
// filters or limits, an outlined one prefers. A click on a chip edits it.

import { editRule, editText } from "./chipEditor.js";
import { h } from "./dom.js";
import { filtersOf } from "../app/request.js";
import { attributeOf, isEditable, isRule } from "../app/wishes.js";
import { daysFilterText, filterName, filterText } from "../text/filterText.js";
import { counted } from "../text/labels.js";
import { asWords, withWords } from "../text/sentence.js";
import { optionText, wishText } from "../text/wishText.js";

export class Chips {
  /**
   * Calls `search(text)`, `removeWish(wish)`, `removeFields(names)`, `steer(changes)`, `toggleBest()`, `tryRule(rule, replaced)`, which
   * returns a message if the server refuses it, and `editControl(kind, name)`, which returns whether there is a control.
   */
  constructor(list, ignored, actions) {
    Object.assign(this, { list, ignored, actions });
    this.rule = h("button", { type: "button", class: "pill", "aria-expanded": "false", onclick: () => this.#editRule(this.rule.parentElement, this.rule, null) },
      "At most…");
    this.valuesOf = () => [];
  }

  /** Show the chips of an answer and its request. */
  show({ understood = null }, request) {
    const { wishes = [], pin = [] } = request;
    const options = ["strength", "keep"].filter((name) => request[name] !== undefined);
    const filters = filtersOf(request).filter((name) => name !== "since" && name !== "until");
    this.list.replaceChildren(
      ...(understood?.chips ?? []).map((chip) => this.#sentenceChip(chip, understood.sentence)),
      ...(pin.length ? [this.#chip("picked", `Completes the ${counted(pin.length, "photograph")} you picked`, "the set",
        () => this.actions.removeFields(["complete"]))] : []),
      ...(request.best ? [this.#chip("best", "Best photographs", "the choice of the best", this.actions.toggleBest)] : []),
      ...wishes.map((wish) => this.#wishChip(wish)),
      ...options.map((name) => this.#fieldChip("option", name, optionText(name, request[name]))),
      ...(request.since || request.until ? [this.#daysChip(daysFilterText(request))] : []),
      ...filters.map((name) => this.#fieldChip("only", name, filterText(name, request[name]), request[name])),
    );
    const ignored = understood?.ignored ?? [];
    this.ignored.hidden = ignored.length === 0;
    this.ignored.textContent = ignored.map(({ words, reason }) => `“${words}” is ignored: ${reason}.`).join(" ");
  }

  #sentenceChip(chip, sentence) {
    const { search } = this.actions;
    const edit = (item, opener) => editText(item, opener, {
      name: `Other words for ${chip.words}`, value: chip.words,
      links: [[`Search for the words “${chip.words}”`, () => search(asWords(sentence, chip))]],
    }, (words) => search(withWords(sentence, chip, words)));
    return this.#chip(chip.filled ? "said only" : "said", chip.label, chip.label, () => search(withWords(sentence, chip, "")), edit);
  }

  #wishChip(wish) {
    const editRule = isEditable(wish) ? (item, opener) => this.#editRule(item, opener, wish) : null;
    const editDial = () => this.actions.editControl(wish.near === undefined ? "dial" : "near", attributeOf(wish));
    return this.#chip(wishKind(wish), wishText(wish), wishText(wish), () => this.actions.removeWish(wish), isRule(wish) ? editRule : editDial);
  }

  #fieldChip(kind, name, text, value) {
    const edit = (item, opener) => {
      if (this.actions.editControl("filter", name)) return;
      editText(item, opener, { name: filterName(name), value: String(value) }, (changed) => this.actions.steer({ [name]: changed }));
    };
    const object = kind === "only" ? `the filter ${text}` : text;
    return this.#chip(kind, text, object, () => this.actions.removeFields([name]), kind === "only" ? edit : null);
  }

  #daysChip(text) {
    return this.#chip("only", text, `the filter ${text}`, () => this.actions.removeFields(["since", "until"]),
      () => this.actions.editControl("filter", "since"));
  }

  #editRule(item, opener, wish) {
    editRule(item, opener, wish, this.valuesOf, (rule) => this.actions.tryRule(rule, wish));
  }

  #chip(kind, text, object, remove, edit = null) {
    const button = h("button", { type: "button", class: "remove", "aria-label": `Remove ${object}`, onclick: remove }, "×");
    const item = h("li", { class: `chip ${kind}` });
    const words = edit === null ? h("span", {}, text) : h("button", { type: "button", class: "words", title: "Edit", onclick: () => edit(item, words) }, text);
    item.append(words, button);
    return item;
  }
}

function wishKind(wish) {
  if (isRule(wish)) return "only";
  if (wish.near !== undefined) return "near-chip";
  return wish.spread !== undefined ? "mix" : "together";
}
