// Taking the result along: the paths of what is shown, or a list of everything that is known of it.

import { h } from "./dom.js";

/** The results as text, a JSON record a line: what `mascot search --format jsonl` writes. */
function list(results) {
  return results.map(({ photo, rank, was, score, relevance, gains }) => {
    const { path, ...known } = photo;
    return `${JSON.stringify({ rank, was, path, score, relevance, gains, ...known })}\n`;
  }).join("");
}

const paths = (results) => results.map(({ photo }) => `${photo.path}\n`).join("");

/** Put text on the clipboard; whether it is there. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers have no clipboard for pages that came over plain HTTP from another machine.
    const field = h("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    const before = document.activeElement;
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    before?.focus({ preventScroll: true });
    return done;
  }
}

export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** `copied` and `listed` are buttons; `results()` is what is shown, `say(text)` tells how it went. */
export function setUpTaking({ copied, listed }, results, say) {
  copied.addEventListener("click", async () => {
    const taken = results();
    const done = await copy(paths(taken));
    say(done ? `${taken.length} paths copied.` : "The browser did not allow copying.");
  });
  listed.addEventListener("click", () => {
    download(new Blob([list(results())], { type: "application/x-ndjson" }), "photographs.jsonl");
    say("List downloaded.");
  });
}
