// The settings beside the picture: lists to choose from, sliders, and what they show.
import { hasWords, number, say } from "./language.js";
import { TASKS } from "./tasks.js";

const FRICTIONS = { "": "unlimited", 1: "dry", 0.5: "wet", 0.2: "snow", 0.05: "ice" };

export const at = (id) => document.getElementById(id);

// A text of a ride: the page's own words, or those of a scenario or vehicle, which has only one language.
export const rideText = (name, part, own) => (hasWords(`${name}.${part}`) ? say(`${name}.${part}`) : own);

// Fill a list with [value, text] pairs, and hide it if there is nothing to choose.
export function fill(list, pairs, chosen) {
  list.replaceChildren(...pairs.map(([value, text]) => new Option(text, value, false, value === chosen)));
  list.parentElement.hidden = pairs.length < 2;
}

// Fill all lists for a scene.
export function fillLists(scene) {
  fillRides(scene);
  fill(at("set"), ["", ...scene.sets].map((name) => [name, name || say("bicycle.own")]), scene.parameter_set);
  fill(at("vehicle"), named(scene.vehicles ?? [], scene.vehicle).map((name) => [name, name]), scene.vehicle);
  const grounds = named(scene.grounds ?? [], scene.ground_name);
  fill(at("ground"), grounds.map((name) => [name, say(`ground.${name || "own"}`)]), scene.ground_name);
  // What comes from a file is shown, but cannot be asked for by name.
  for (const option of at("ground").options) option.disabled = !option.value;
  for (const option of at("vehicle").options) option.disabled = !scene.vehicles.includes(option.value);
}

// The list of rides, and of tasks below them.
function fillRides(scene) {
  const options = Object.entries(scene.presets).map(([name, title]) => new Option(rideText(name, "title", title), name, false, name === scene.preset.name));
  const group = (label, tasks) => {
    const one = document.createElement("optgroup");
    one.label = say(label);
    one.append(...options.filter(({ value }) => value in TASKS === tasks));
    return one;
  };
  at("preset").replaceChildren(group("ride.rides", false), group("ride.tasks", true));
}

// Names to choose from, with the present one, which may be none of them.
const named = (names, present) => (names.length && !names.includes(present) ? [present, ...names] : names);

export function fillFrictions(chosen) {
  const pairs = Object.entries(FRICTIONS).map(([mu, name]) => [mu, say(`friction.${name}`, { mu: number(Number(mu), 2) })]);
  const known = chosen in FRICTIONS ? pairs : [...pairs, [chosen, number(Number(chosen), 2)]];
  fill(at("mu"), known.sort(([a], [b]) => (b || Infinity) - (a || Infinity)), chosen);
}

// One slider for each parameter of the vehicle; `changed` is called with a name and a value.
export function fillSliders(scene, changed) {
  at("parameters").hidden = !Object.keys(scene.sliders).length;
  at("anew").hidden = !scene.begins_anew;
  at("sliders").replaceChildren(...Object.entries(scene.sliders).map(([name, { low, high, value, unit }]) => {
    const label = document.createElement("label"), input = document.createElement("input");
    const text = document.createElement("span");
    const show = (x) => { text.textContent = `${say(`parameter.${name}`)}: ${number(x, 3)} ${unit}`; };
    Object.assign(input, { type: "range", min: low, max: high, step: "any", value, name });
    show(value);
    input.oninput = () => show(Number(input.value));
    input.onchange = () => changed(name, Number(input.value));
    label.append(text, input);
    return label;
  }));
}
