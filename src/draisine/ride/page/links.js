// Links that carry a ride: its name, bicycle, parameters, friction, way of steering, help and language.
const TEXTS = ["ride", "set", "way", "help", "lang"], NUMBERS = ["mu", "pace"], PARAMETER = "p.";

// The address of a page with a ride, from the values that differ from those of the ride itself.
export function linkTo(address, ride) {
  const url = new URL(address), words = new URLSearchParams();
  for (const key of [...TEXTS, ...NUMBERS]) if (ride[key] !== undefined && ride[key] !== null && ride[key] !== "") words.set(key, ride[key]);
  for (const [name, value] of Object.entries(ride.parameters ?? {})) words.set(PARAMETER + name, value);
  url.hash = words;
  return url.href;
}

// What a link carries; numbers that are none are left out.
export function readLink(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, "")), ride = { parameters: {} };
  for (const key of TEXTS) if (words.has(key)) ride[key] = words.get(key);
  const keep = (home, key, text) => { if (text.trim() && Number.isFinite(Number(text))) home[key] = Number(text); };
  for (const key of NUMBERS) if (words.has(key)) keep(ride, key, words.get(key));
  for (const [key, value] of words) if (key.startsWith(PARAMETER)) keep(ride.parameters, key.slice(PARAMETER.length), value);
  return ride;
}
