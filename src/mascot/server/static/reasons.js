// Why a photograph is there, or was left out: sentences about it and the others that are shown.

import { capital, clockTime, country, date, day, distance, hourOf, kilometres, label, moment, placeOf, plurals, span, time, weekday } from "./words.js";
import { nearText } from "./wishing.js";

/** The value of an attribute that can be shared, as it is compared and as it is read. */
const VALUES = {
  place: (photo) => placeOf(photo) && { key: placeOf(photo), text: `from ${photo.city ?? "this place"}` },
  city: (photo) => photo.city && { key: photo.city, text: `from ${photo.city}` },
  country: (photo) => photo.country && { key: photo.country, text: `from ${country(photo.country)}` },
  hour: (photo) => photo.taken && { key: hourOf(photo.taken), text: `taken between ${hourOf(photo.taken)}:00 and ${hourOf(photo.taken) + 1}:00` },
  date: (photo) => photo.taken && { key: photo.taken.slice(0, 10), text: `taken on ${day(photo.taken)}` },
  year: (photo) => photo.taken && { key: photo.taken.slice(0, 4), text: `of ${photo.taken.slice(0, 4)}` },
  month: (photo) => photo.taken && { key: photo.taken.slice(0, 7), text: `of ${date(photo.taken.slice(0, 7))}` },
  weekday: (photo) => photo.taken && { key: weekday(photo.taken), text: `taken on a ${weekday(photo.taken)}` },
  season: (photo) => photo.season && { key: photo.season, text: `taken in ${photo.season}` },
  part_of_day: (photo) => photo.part_of_day && { key: photo.part_of_day, text: { noon: "taken at noon", night: "taken at night", dawn: "taken at dawn" }[photo.part_of_day] ?? `taken in the ${photo.part_of_day}` },
  moment: (photo) => photo.moment && { key: photo.moment, text: `of the moment ${moment(photo.moment)}` },
  camera: (photo) => photo.camera && { key: photo.camera, text: `taken with ${photo.camera}` },
  lens: (photo) => photo.lens && { key: photo.lens, text: `taken with ${photo.lens}` },
  folder: (photo) => ({ key: photo.folder, text: `from the folder “${photo.folder || "/"}”` }),
  rating: (photo) => photo.rating !== null && { key: photo.rating, text: `rated ${photo.rating}` },
  title: (photo) => photo.title && { key: photo.title, text: `called “${photo.title}”` },
};

/** How far a photograph is from a target, as a number to compare and in words; null where it does not say. */
export function apart(photo, target) {
  if (target.lat !== null && target.lat !== undefined) {
    if (photo.lat === null) return null;
    const km = kilometres(photo, target);
    return { off: km, text: `${distance(km)} away` };
  }
  if (!photo.taken) return null;
  if (target.hour !== null && target.hour !== undefined) {
    const at = time(photo.taken);
    const off = Math.abs(at.getUTCHours() + at.getUTCMinutes() / 60 - target.hour);
    const hours = Math.min(off, 24 - off);
    return { off: hours, text: hours * 60 < 1 ? "at that minute" : `${span(hours * 3_600_000)} away` };
  }
  if (target.date) {
    const off = Math.abs(time(photo.taken) - Date.parse(`${target.date}T12:00:00Z`));
    return { off, text: off < 86_400_000 ? "on that day" : `${span(off)} away` };
  }
  return null;
}

const AWAY = { place: 50, hour: 0.5, date: 16 * 86_400_000 }; // kilometres, hours, milliseconds that are worth saying

/** For each target how far the nearest photograph is: "nearest is 5,000 km away". */
export function nearestTexts(answer) {
  const texts = {};
  for (const target of answer?.targets ?? []) {
    const offs = answer.results.map(({ photo }) => apart(photo, target)).filter(Boolean).sort((one, other) => one.off - other.off);
    if (offs.length && offs[0].off >= AWAY[target.name]) texts[target.name] = `nearest is ${offs[0].text}`;
  }
  return texts;
}

/** Sentences about a result: its targets, its dials, and how well it matches. */
export function reasons(result, answer, wishes) {
  const { photo } = result;
  const sentences = [];
  for (const { name, lean, near } of wishes) {
    if (near) sentences.push(nearSentence(photo, answer.targets.find((target) => target.name === name), name, near));
    else sentences.push(name === "look" ? lookSentence(result, lean) : shareSentence(result, answer, name, lean));
  }
  sentences.push(matchSentence(result, answer, wishes.length > 0));
  return sentences.filter(Boolean);
}

function nearSentence(photo, target, name, near) {
  const text = nearText(name, near);
  const off = target && apart(photo, target);
  if (target && !off && ["place", "hour", "date"].includes(name)) return name === "place" ? "It does not say where it was taken." : "It does not say when it was taken.";
  if (!off) return `You asked for ${label(name).toLowerCase()} near ${text}.`;
  if (name === "place") return `It is ${off.text.replace(" away", "")} from ${text}.`;
  const at = name === "hour" ? `at ${clockTime(photo.taken)}` : `on ${day(photo.taken)}`;
  return `It was taken ${at}, ${off.text.endsWith(" away") ? `${off.text.replace(" away", "")} from ${text}` : off.text}.`;
}

function lookSentence(result, lean) {
  const isFirst = Boolean(result.opened.look?.length);
  if (lean > 0) return isFirst ? "It is the first that looks like this." : "It looks like others that are here.";
  return isFirst ? "It brings another look than the others." : "It looks like the others.";
}

function shareSentence({ photo, rank }, answer, name, lean) {
  const value = VALUES[name]?.(photo);
  if (!value) {
    const missing = { place: "where", hour: "when", date: "when" }[name];
    return missing ? `It does not say ${missing} it was taken.` : VALUES[name] ? `It has no ${label(name).toLowerCase()}.` : null;
  }
  const others = answer.results.filter((other) => other.photo.id !== photo.id);
  const same = others.filter((other) => VALUES[name](other.photo)?.key === value.key);
  if (same.length) {
    const first = lean > 0 && same.every((other) => other.rank > rank) ? "the first" : "one";
    return `It is ${first} of ${same.length + 1} ${value.text}.`;
  }
  return `It is the only one ${value.text}${nextTo(photo, others, name)}.`;
}

/** How far the next one is, where that can be measured. */
function nextTo(photo, others, name) {
  const target = { place: { lat: photo.lat, lon: photo.lon }, date: photo.taken && { date: photo.taken.slice(0, 10) } }[name];
  if (!target || (name === "place" && photo.lat === null)) return "";
  const offs = others.map((other) => apart(other.photo, target)).filter(Boolean).sort((one, other) => one.off - other.off);
  return offs.length ? `; the next is ${offs[0].text}` : "";
}

function matchSentence(result, answer, steered) {
  const order = answer.newest_of === null ? "relevance" : "date";
  if (result.pinned) return "You picked it.";
  if (!steered) return answer.newest_of === null ? `It is one of the ${answer.results.length} best matches.` : `It is one of the ${answer.results.length} newest.`;
  if (result.was === 1 && order === "relevance") return "It is the best match.";
  const stays = answer.plain.some((other) => other.id === result.photo.id);
  return stays ? `It would be here by ${order} alone, too.` : `By ${order} alone it would not be here.`;
}

/** Why it was left out; the server explains the best of these. */
export function leftOutReasons(photo, answer, wishes) {
  const left = answer.left_out.find((other) => other.id === photo.id);
  const [, name, why] = /^([a-z_]+): (.*)$/.exec(left?.because ?? "") ?? [];
  const kinds = { "adds too little new": "adds too little that is new", "is too far from the others": "is too far from the others" };
  if (name && kinds[why]) return [`Its ${label(name).toLowerCase()} ${kinds[why]}.`];
  if (/^less relevant/.test(left?.because ?? "")) return ["It matches less well than the last one that is shown."];
  const asked = wishes.map(({ name: of, near }) => (near ? `near ${nearText(of, near)}` : plurals(of))).join(", ");
  return left?.because ? [`${capital(left.because)}.`] : [`Others came before it: you asked about ${asked}.`];
}
