// The language of the page: the words of the present language, and numbers as it writes them.
import { LANGUAGES, WORDS } from "./words.js";

const MINUS = "\u2212";
let language = "en";

// The first language of a list of wishes that the page knows; a wish may name a country too, as "de-AT" does.
export function knownLanguage(wishes) {
  return wishes.map((wish) => String(wish ?? "").slice(0, 2).toLowerCase()).find((name) => name in LANGUAGES) ?? "en";
}

export function setLanguage(name) {
  language = name;
  document.documentElement.lang = name;
}

export const currentLanguage = () => language;

// The text of a key, with values in place of the names in braces.
export function say(key, values = {}) {
  const row = WORDS[key];
  if (!row) throw new Error(`no words for ${key}`);
  return row[language].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export const hasWords = (key) => key in WORDS;

// A number with a fixed number of digits, without a negative zero.
export function number(x, digits = 1) {
  const rounded = Number(x.toFixed(digits)) || 0;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  return new Intl.NumberFormat(language, options).format(rounded).replace("-", MINUS);
}

// Put words into all elements that name theirs: data-word for the text, data-label for the accessible name.
export function translate(root) {
  for (const element of root.querySelectorAll("[data-word]")) element.textContent = say(element.dataset.word);
  for (const element of root.querySelectorAll("[data-label]")) element.setAttribute("aria-label", say(element.dataset.label));
}
