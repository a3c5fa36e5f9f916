// @ts-check
// Changes of the sentence in the search box by its chips. What stands in double quotes is never understood.

/** @typedef {import("../app/types.js").Chip} Chip */

/**
 * Return the sentence with other words in the place of a chip's; without words the chip is removed.
 * @param {string} sentence
 * @param {Chip} chip its positions count code points
 * @param {string} words
 */
export function withWords(sentence, { start, end }, words) {
  const letters = [...sentence];
  const text = [...letters.slice(0, start), words.trim(), ...letters.slice(end)].join("");
  return text.replace(/\s+/g, " ").replace(/ ?,(?: ?,)+/g, ",").replace(/ ,/g, ",").replace(/^[, ]+|[, ]+$/g, "");
}

/**
 * Return the sentence in which a chip's words are searched for as they are.
 * @param {string} sentence
 * @param {Chip} chip
 */
export const asWords = (sentence, chip) => withWords(sentence, chip, `"${chip.words.replaceAll('"', "")}"`);
