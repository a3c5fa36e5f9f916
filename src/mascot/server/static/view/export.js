// Copy the paths of the results, and download files: the photographs, an album, a list.

import { h } from "./dom.js";
import { exportPhotos } from "../app/api.js";
import { counted } from "../text/labels.js";

/** The results as JSON lines, as `mascot search --format jsonl` writes them. */
function jsonLines(results) {
  return results.map(({ photo, rank, was, score, relevance, gains }) => {
    const { path, ...metadata } = photo;
    return `${JSON.stringify({ rank, was, path, score, relevance, gains, ...metadata })}\n`;
  }).join("");
}

/** Copy text to the clipboard. Returns whether this succeeded. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers have no clipboard for pages that are loaded over plain HTTP from another machine.
    const field = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    focused?.focus({ preventScroll: true });
    return isCopied;
  }
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Download photographs as a ZIP archive (`zip`) or as one HTML file (`album`); `say(text)` shows the outcome. */
export async function downloadPhotos(photos, format, title, say) {
  say("Preparing the download…");
  try {
    const { blob, name } = await exportPhotos({ photos, format, title: title.slice(0, 200) });
    download(blob, name ?? `photographs.${format === "zip" ? "zip" : "html"}`);
    const album = "The album is downloaded. It is one file, which opens in any browser.";
    say(format === "zip" ? `${counted(photos.length, "photograph")} downloaded.` : album);
  } catch (error) {
    say(error.message);
  }
}

/** Set up the two buttons. `results()` returns the results, `say(text)` shows the outcome. */
export function setUpExport({ copyButton, listButton }, results, say) {
  copyButton.addEventListener("click", async () => {
    const paths = results().map(({ photo }) => photo.path);
    const isCopied = await copyText(paths.map((path) => `${path}\n`).join(""));
    say(isCopied ? `${paths.length} paths copied.` : "The browser did not allow copying.");
  });
  listButton.addEventListener("click", () => {
    download(new Blob([jsonLines(results())], { type: "application/x-ndjson" }), "photographs.jsonl");
    say("List downloaded.");
  });
}
