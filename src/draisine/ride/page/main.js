// The page: what the parts do together.
import { CAMERAS, Camera } from "./cameras.js";
import { CanvasPicture } from "./canvas.js";
import { Controls, FEEL } from "./controls.js";
import { Chart, Gauges } from "./gauges.js";
import { Inputs } from "./inputs.js";
import { Link } from "./link.js";
import { LocalEngine } from "./local.js";
import { Frame } from "./machine.js";
import { Plots } from "./plots.js";
import { add } from "./vectors.js";
import { WebglPicture } from "./webgl.js";
import { ENDINGS, moment } from "./words.js";

const at = (id) => document.getElementById(id);
const TRACE = ["#0072B2", "#D55E00"], KEPT = 1500;

class Page {
  constructor(engine) {
    this.engine = engine;
    this.camera = new Camera();
    this.controls = new Controls();
    this.inputs = new Inputs(at("picture"));
    this.gauges = new Gauges(at("gauges").tBodies[0]);
    this.chart = new Chart(at("chart"));
    this.plots = new Plots(at("plots"));
    this.picture = newPicture(at("picture"));
    this.paused = false;
    this.drawn = 0;
    this.ways = [];
    this.ghost = null;
    this.bind();
    engine.told = (words) => this.told(words);
    engine.framed = (numbers) => { this.frame = new Frame(this.scene, numbers.slice()); this.keep(); };
    engine.closed = (code, reason) => this.lost(code, reason);
    requestAnimationFrame((stamp) => this.tick(stamp));
  }

  // --- what the engine tells

  told(words) {
    if (words.preparing) this.say(words.preparing);
    if (words.refused) this.say(words.refused, this.scene ? 4 : 0);
    if (words.ended) this.say(`${words.ended} Press R to start again.`);
    if (words.recorded) this.say(`The ride is in ${words.recorded}.`, 4);
    if (words.scene) this.begin(words.scene);
  }

  begin(scene) {
    const other = this.scene?.preset.name !== scene.preset.name;
    this.scene = scene;
    this.picture.describe(scene);
    this.chart.describe(scene.chart);
    if (other) this.prepare(scene.preset);
    at("record").hidden = !scene.records;
    at("fact").textContent = scene.fact ?? "";
    this.sliders();
    offer("set", ["", ...scene.sets], scene.parameter_set);
    offer("vehicle", scene.vehicles ?? [], scene.vehicle);
    offer("ground", scene.grounds ?? [], scene.ground_name);
    this.say("");
    this.clear();
  }

  prepare(preset) {
    this.controls.begin(preset);
    this.controls.joints = this.scene.controls.includes("steer_torque") ? [] : this.scene.joints;
    for (const id of ["ways", "helps"]) at(id).hidden = this.controls.joints.length > 0;
    at("question").hidden = !preset.question;
    at("title").textContent = preset.title;
    at("lesson").textContent = preset.lesson;
    at("question").querySelector("summary").textContent = preset.question;
    at("question").querySelector("p").textContent = preset.answer;
    at("question").open = false;
    at("preset").replaceChildren(...Object.entries(this.scene.presets).map(([name, title]) => new Option(title, name, false, name === preset.name)));
    at("pace").value = String(preset.pace);
    at("mu").value = "";
    this.camera.choose(this.scene.ground.patches.length ? "side" : "chase");
    this.mirror();
  }

  lost(code, reason) {
    this.scene = null;
    this.say(reason || "The connection is lost. Trying again ...");
    if (code !== 1003) setTimeout(() => this.engine.open(), code === 4001 ? 2000 : 500);
  }

  // --- frames

  tick(stamp) {
    const dt = Math.min(0.1, (stamp - (this.stamp ?? stamp)) / 1000);
    this.stamp = stamp;
    if (this.scene) {
      this.ask(dt);
      if (this.frame) this.draw();
    }
    this.next = requestAnimationFrame((next) => this.tick(next));
  }

  ask(dt) {
    if (this.paused || document.hidden || !this.scene) return;
    const hands = this.inputs.read();
    if (this.controls.handOver(hands, dt)) this.tellWhoSteers();
    this.commands = this.controls.commands(hands, dt, this.frame);
    this.commands["push.y"] = this.frame && this.frame.time < this.pushed ? -200 : 0;
    this.engine.ask(this.scene.controls.map((name) => this.commands[name] ?? 0));
  }

  keep() {
    const frame = this.frame;
    if (frame.time < this.shown) this.clear(frame);
    this.shown = frame.time;
    frame.contacts.forEach((point, k) => {
      const way = (this.ways[k] ??= []), open = Math.abs(frame.part("gaps")[k]) > 2e-3;
      way.push(open ? null : point);
      if (way.length > KEPT) way.shift();
    });
    this.poses = frame.poses();
    this.history.push(this.poses);
    this.plots.add(frame);
    at("moment").textContent = this.commands ? moment(frame, this.commands) : "";
    if (Boolean(frame.status) !== this.over) this.end(frame.status);
  }

  draw() {
    if (!this.poses) return;
    const { size, up } = this.scene.machine, frame = this.frame;
    const middle = add(this.poses[0].p, this.poses[0].R.map((row) => row[0] * 0.6 * size), 1);
    const focus = [middle[0], middle[1], middle[2] + 0.55 * size];
    const view = this.camera.look(focus, frame.output("yaw"), size, up);
    const tracks = this.ways.map((points, k) => ({ points, colour: TRACE[k % 2] }));
    const ghost = this.ghost?.[Math.min(this.history.length, this.ghost.length) - 1];
    const show = { arrows: at("arrows").checked, shadow: at("shadow").checked };
    this.picture.draw({ frame, poses: this.poses, view, tracks, ghost, show });
    this.gauges.show(frame);
    this.chart.show(frame.output("forward_speed"));
    if (++this.drawn % 6 === 0) this.plots.draw();
  }

  end(status) {
    this.over = Boolean(status);
    this.say(status ? `${ENDINGS[status]} Press R to start again.` : "");
  }

  clear(frame = null) {
    this.over = false;
    this.pushed = this.shown = 0;
    this.frame = frame;
    this.poses = null;
    this.ways = [];
    this.history = [];
    this.plots.clear();
  }

  // --- what people do

  bind() {
    this.inputs.changed = () => this.ask(0);
    this.inputs.pressed = (key, event) => this.press(key, event);
    at("reset").onclick = () => this.restart();
    at("push").onclick = () => this.push();
    at("pause").onclick = () => this.pause();
    at("ghost").onclick = () => { this.ghost = this.history; this.restart(); };
    at("record").onclick = () => this.engine.say({ record: true });
    at("help-open").onclick = () => at("keys").showModal();
    at("preset").onchange = () => { this.ghost = null; this.engine.say({ preset: at("preset").value }); };
    at("pace").onchange = () => this.engine.say({ pace: Number(at("pace").value) });
    at("set").onchange = () => { this.ghost = null; this.engine.say({ parameter_set: at("set").value }); };
    at("vehicle").onchange = () => { this.ghost = null; this.engine.say({ vehicle: at("vehicle").value }); };
    at("ground").onchange = () => { this.ghost = null; this.engine.say({ ground: at("ground").value }); };
    at("mu").onchange = () => this.engine.say({ mu: at("mu").value ? Number(at("mu").value) : null });
    at("camera").onchange = () => this.camera.choose(at("camera").value);
    at("help").onchange = () => { this.controls.help = at("help").value; };
    document.querySelector("#panel").addEventListener("pointerdown", () => { this.pointed = true; });
    document.querySelector("#panel").addEventListener("keydown", () => { this.pointed = false; });
    document.querySelector("#panel").addEventListener("change", () => { if (this.pointed) at("picture").focus(); });
    at("hold").onchange = () => { this.controls.hold = at("hold").checked; this.controls.speed = this.frame?.output("forward_speed") ?? 5; };
    at("demo").onchange = () => { this.controls.demo = at("demo").checked; };
    for (const radio of document.querySelectorAll("[name=way]")) radio.onchange = () => this.way(radio.value);
    const picture = at("picture");
    picture.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.camera.turn(event.movementX, event.movementY); });
    picture.addEventListener("wheel", (event) => { event.preventDefault(); this.camera.zoom(Math.exp(0.001 * event.deltaY)); }, { passive: false });
  }

  press(key, event) {
    const ways = { 1: "torque", 2: "angle", 3: "lean" };
    if (key in ways) this.way(ways[key]);
    else if (key === "r") this.restart();
    else if (key === "p") this.push();
    else if (key === "escape" && !at("keys").open) this.pause();
    else if (key === "c") this.nextCamera();
    else if (key === "?") { event.preventDefault(); at("keys").showModal(); }
  }

  way(name) {
    this.controls.way = name;
    this.mirror();
  }

  restart() {
    this.clear();
    this.say("");
    this.controls.begin({ ...this.scene.preset, way: this.controls.way });
    this.mirror();
    this.engine.say({ reset: true });
  }

  tellWhoSteers() {
    this.say(this.controls.demo ? "Nobody steers: a rider shows how. Touch a key to take over." : "You steer.", 3);
    this.mirror();
  }

  push() { this.pushed = (this.frame?.time ?? 0) + 0.1; }

  pause() {
    this.paused = !this.paused;
    this.say(this.paused ? "Paused. Esc goes on." : "");
  }

  nextCamera() {
    const next = CAMERAS[(CAMERAS.indexOf(this.camera.kind) + 1) % CAMERAS.length];
    this.camera.choose(next);
    at("camera").value = next;
  }

  mirror() {
    const { way, help, hold, demo } = this.controls;
    for (const radio of document.querySelectorAll("[name=way]")) radio.checked = radio.value === way;
    at("feel").textContent = FEEL[way];
    at("help").value = help;
    at("hold").checked = hold;
    at("demo").checked = demo;
    at("camera").value = this.camera.kind;
  }

  sliders() {
    at("parameters").hidden = !Object.keys(this.scene.sliders).length;
    at("anew").hidden = !this.scene.begins_anew;
    at("sliders").replaceChildren(...Object.entries(this.scene.sliders).map(([name, { low, high, value, meaning }]) => {
      const label = document.createElement("label"), input = document.createElement("input");
      Object.assign(input, { type: "range", min: low, max: high, step: (high - low) / 200, value });
      label.append(`${meaning}: ${Number(value).toPrecision(3)}`, input);
      input.onchange = () => this.engine.say({ parameters: { [name]: Number(input.value) } });
      return label;
    }));
  }

  say(text, seconds = 0) {
    const box = at("message");
    box.textContent = text;
    box.hidden = !text;
    if (seconds) setTimeout(() => { if (box.textContent === text) box.hidden = true; }, 1000 * seconds);
  }
}

// Names to choose from; where there is nothing to choose, nothing is shown.
function offer(id, names, chosen) {
  const options = names.map((name) => new Option(name || "as drawn", name, false, name === chosen));
  // A vehicle or ground from a file is not among the names: without its own option, the first name would appear.
  if (names.length && !names.includes(chosen)) {
    const own = new Option("its own", "", true, true);
    own.disabled = true;
    options.unshift(own);
  }
  at(id).replaceChildren(...options);
  at(id).parentElement.hidden = names.length < 2;
}

function newPicture(canvas) {
  try {
    return new WebglPicture(canvas);
  } catch (error) {
    const told = document.createElement("p");
    told.id = "no-webgl";
    told.textContent = `Drawn without WebGL (${error.message}): lines only.`;
    at("panel").append(told);
    return new CanvasPicture(canvas);
  }
}

function newEngine() {
  if (globalThis.draisineRide) return new LocalEngine(globalThis.draisineRide);
  const address = new URL(location.href);
  address.protocol = "ws:";
  address.pathname = "/ride";
  return new Link(address);
}

window.ride = new Page(newEngine());
