// The page: what the parts do together.
import { CAMERAS, Camera } from "./cameras.js";
import { CanvasPicture } from "./canvas.js";
import { Chart } from "./chart.js";
import { Controls } from "./controls.js";
import { Dial } from "./dial.js";
import { Gauges } from "./gauges.js";
import { followGestures } from "./gestures.js";
import { Inputs } from "./inputs.js";
import { currentLanguage, knownLanguage, number, say, setLanguage, translate } from "./language.js";
import { Link } from "./link.js";
import { linkTo, readLink } from "./links.js";
import { LocalEngine } from "./local.js";
import { Frame } from "./machine.js";
import { ENDINGS, moment } from "./moments.js";
import { at, fill, fillFrictions, fillLists, fillSliders, rideText } from "./panel.js";
import { Plots } from "./plots.js";
import { Recorder, saveFile } from "./recorder.js";
import { Results } from "./results.js";
import { Smoothness } from "./smoothness.js";
import { Sound } from "./sound.js";
import { TASKS } from "./tasks.js";
import { TaskView } from "./task_view.js";
import { TeacherView } from "./teacher.js";
import { add } from "./vectors.js";
import { QUALITIES, WebglPicture } from "./webgl.js";
import { LANGUAGES } from "./words.js";

const TRACE = ["#0072B2", "#D55E00"], KEPT = 1500;

class Page {
  // Ride on an engine; `wish` is what the link of the page asks for.
  constructor(engine, wish) {
    this.engine = engine;
    this.wish = wish;
    this.camera = new Camera();
    this.controls = new Controls();
    this.inputs = new Inputs(at("picture"));
    this.gauges = new Gauges(at("gauges").tBodies[0]);
    this.dial = new Dial(at("dial"));
    this.chart = new Chart(at("chart"));
    this.plots = new Plots(at("plots"));
    this.smoothness = new Smoothness(QUALITIES.length);
    this.sound = new Sound();
    this.recorder = new Recorder();
    this.results = new Results(storage());
    this.taskView = new TaskView(this.results, { start: () => this.startTask(), choose: (name) => this.engine.say({ preset: name }) });
    this.tasks = TASKS;
    this.paused = false;
    this.drawn = 0;
    this.ways = [];
    this.ghost = null;
    this.changes = {};
    this.showLanguage(wantedLanguage(wish));
    this.picture = newPicture(at("picture"));
    this.smoothness.level = this.picture.level ?? 0;
    this.bind();
    engine.told = (words) => this.told(words);
    engine.framed = (numbers) => { this.frame = new Frame(this.scene, numbers.slice()); this.keep(); };
    engine.closed = (code, reason) => this.lost(code, reason);
    requestAnimationFrame((stamp) => this.tick(stamp));
  }

  // --- what the engine tells

  told(words) {
    if (words.preparing) this.say(say("message.preparing", { ride: rideText(words.preparing.name, "title", words.preparing.title) }));
    if (words.refused) this.say(words.refused, this.scene ? 4 : 0);
    if (words.impossible) this.say(say("message.refused", { reason: words.impossible }), 4);
    if (words.ended) this.say(`${words.ended} ${say("again")}`);
    if (words.recorded) this.say(say("message.recorded", { file: words.recorded }), 4);
    if (words.scene) this.begin(words.scene);
  }

  begin(scene) {
    const other = this.scene?.preset.name !== scene.preset.name, task = scene.preset.task;
    if (other || scene.parameter_set !== this.scene.parameter_set) this.changes = {};
    if (task) scene.marks = TASKS[scene.preset.name].marks;
    this.scene = scene;
    this.picture.describe(scene);
    if (other) this.prepare(scene.preset);
    at("record").hidden = !scene.records;
    this.showTexts();
    this.smoothness.begin();
    this.say("");
    this.clear();
    if (this.wish) this.grant(this.wish);
    else if (other && task) this.offerTask();
    else if (other && this.taskView.open) this.taskView.close();
  }

  // Ask for what a link carries, once there is a scene.
  grant({ ride, set, way, help, mu, pace, parameters }) {
    const wishes = {};
    this.wish = null;
    if (ride in this.scene.presets) wishes.preset = ride;
    if (ride in TASKS) return this.engine.say(wishes);   // a task is the same for everybody
    if (this.scene.sets.includes(set)) wishes.parameter_set = set;
    if (mu > 0) wishes.mu = mu;
    if (pace > 0) wishes.pace = pace;
    if (Object.keys(parameters).length) wishes.parameters = parameters;
    this.granted = { way, help, mu, pace, parameters };
    if (Object.keys(wishes).length) this.engine.say(wishes);
    if (this.scene.preset.task) this.offerTask();
    else this.obeyLink();
  }

  // Settings of a link that the page itself keeps.
  obeyLink() {
    const { way, help, mu, pace, parameters } = this.granted;
    if (["torque", "angle", "lean"].includes(way)) this.controls.way = way;
    if (["none", "lean", "balance"].includes(help)) this.controls.help = help;
    if (mu > 0) this.mu = String(mu);
    if (pace > 0) this.setPace(pace);
    this.changes = { ...parameters };
    this.showTexts();
  }

  setPace(pace) {
    const list = at("pace"), text = String(pace);
    if (![...list.options].some(({ value }) => value === text)) list.add(new Option(`x ${text}`, text));
    list.value = text;
  }

  // --- tasks

  // Ask for a prediction; the ride waits meanwhile.
  offerTask() {
    this.paused = true;
    this.taskView.show(this.scene.preset.name);
  }

  startTask() {
    this.restart();
    at("picture").focus();
  }

  get unpredicted() { return this.scene?.preset.task && !this.taskView.predicted(this.scene.preset.name); }

  judge(frame) {
    const result = this.task.see(frame);
    at("task-progress").value = this.task.progress;
    if (!result) return;
    this.task = null;
    this.paused = true;
    this.say("");
    this.taskView.finish(result, frame.time, this.recorder);
  }

  prepare(preset) {
    this.paused = false;
    this.controls.begin(preset);
    this.controls.joints = this.scene.controls.includes("steer_torque") ? [] : this.scene.joints;
    at("ways").hidden = this.controls.joints.length > 0;
    at("helps").hidden = this.controls.joints.length > 0 || preset.task;
    at("task-progress").hidden = !preset.task;
    at("question").open = false;
    this.setPace(preset.pace);
    this.mu = this.scene.mu === null ? "" : String(this.scene.mu);
    this.camera.choose(this.scene.ground.patches.length && !preset.task ? "side" : "chase", preset.task);
    this.mirror();
  }

  lost(code, reason) {
    this.scene = null;
    this.say(say(code === 4001 ? "message.occupied" : "message.lost") + (code === 1003 ? ` ${reason}` : ""));
    if (code !== 1003) setTimeout(() => this.engine.open(), code === 4001 ? 2000 : 500);
  }

  // --- words

  showLanguage(name) {
    setLanguage(name);
    translate(document);
    document.title = say("page.title");
    fill(at("language"), Object.entries(LANGUAGES), name);
    this.gauges.begin();
    this.plots.begin();
    this.taskView.write();
    if (this.scene) this.showTexts();
  }

  // Everything with words that belongs to the scene.
  showTexts() {
    const { preset, fact, chart } = this.scene, { name } = preset;
    at("title").textContent = rideText(name, "title", preset.title);
    at("lesson").textContent = rideText(name, "lesson", preset.lesson);
    at("fact").textContent = fact ? say(`${name}.fact`, { acceleration: number(fact[0], 2), torque: number(fact[1], 0) }) : "";
    at("question").hidden = !preset.question || preset.task;
    at("question").querySelector("summary").textContent = rideText(name, "question", preset.question);
    at("question").querySelector("p").textContent = rideText(name, "answer", preset.answer);
    this.chart.describe(chart);
    fillLists(this.scene);
    fillFrictions(this.mu);
    fillSliders(this.scene, (parameter, value) => {
      this.changes[parameter] = value;
      this.engine.say({ parameters: { [parameter]: value } });
    });
    // A task is the same for everybody.
    if (preset.task) for (const id of ["set", "vehicle", "ground", "mu"]) at(id).parentElement.hidden = true;
    if (preset.task) at("parameters").hidden = true;
    this.mirror();
  }

  // --- frames

  tick(stamp) {
    const dt = Math.min(0.1, (stamp - (this.stamp ?? stamp)) / 1000);
    this.stamp = stamp;
    if (this.scene) {
      this.ask(dt);
      if (this.frame) {
        this.draw();
        this.measure(stamp);
      }
    }
    this.next = requestAnimationFrame((next) => this.tick(next));
  }

  // Simplify the picture if it is not smooth, and say so if the ride is slower than it should be.
  measure(stamp) {
    const choice = at("quality").value, rides = !this.paused && !this.over && !document.hidden;
    if (!rides) return this.smoothness.restart();
    if (!this.smoothness.count(stamp, this.frame.time, Number(at("pace").value), choice === "auto")) return;
    const { level, slow, factor } = this.smoothness;
    const lowered = choice === "auto" && level > (this.picture.level ?? level);
    if (lowered) this.picture.setQuality(level);
    if (slow) this.notify(say("slow", { factor: number(factor * Number(at("pace").value), 2) }));
    else if (lowered) this.notify(say("quality.lowered"));
  }

  // A note at the top of the picture, for some seconds.
  notify(text, seconds = 3) {
    clearTimeout(this.noted);
    at("note").hidden = !text;
    at("note").textContent = text;
    this.noted = setTimeout(() => { at("note").hidden = true; }, 1000 * seconds);
  }

  ask(dt) {
    const hands = this.inputs.read();   // also when the ride waits: a gamepad has no events
    if ((this.paused && this.frame) || document.hidden || !this.scene) return;   // a ride that waits shows its first frame
    if (this.controls.handOver(hands, dt)) this.tellWhoSteers();
    this.commands = this.controls.commands(hands, dt, this.frame);
    this.commands["push.y"] = this.frame && this.frame.time < this.pushed ? -200 : 0;
    this.engine.ask(this.scene.controls.map((name) => this.commands[name] ?? 0));
  }

  keep() {
    const { frame, controls } = this;
    if (frame.time < this.shown) this.clear(frame);
    frame.holdsBar = controls.way === "angle" || (controls.way === "torque" && controls.help === "lean");
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
    this.recorder.add(frame, at("moment").textContent);
    if (this.task && !this.paused) this.judge(frame);
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
    const show = { arrows: at("arrows").checked, mu: this.mu ? Number(this.mu) : Infinity, ownEyes: this.camera.kind === "onboard" };
    this.picture.draw({ frame, poses: this.poses, view, tracks, ghost, show });
    this.gauges.show(frame);
    this.dial.show(frame);
    this.chart.show(frame.output("forward_speed"));
    this.sound.show(frame.output("forward_speed"), [...frame.part("gaps")].some((gap) => gap < 2e-3), !this.paused && !this.over);
    if (++this.drawn % 6 === 0) this.plots.draw();
  }

  end(status) {
    this.over = Boolean(status);
    if (!this.taskView.open) this.say(status ? `${say(ENDINGS[status])} ${say("again")}` : "");
  }

  clear(frame = null) {
    this.over = false;
    this.pushed = this.shown = 0;
    this.frame = frame;
    this.poses = null;
    this.ways = [];
    this.history = [];
    this.recorder.clear();
    this.task = this.scene?.preset.task ? TASKS[this.scene.preset.name].judge() : null;
    this.plots.clear();
  }

  // --- what people do

  bind() {
    this.inputs.changed = () => this.ask(0);
    this.inputs.pressed = (key, event) => this.press(key, event);
    at("language").onchange = () => this.showLanguage(at("language").value);
    at("reset").onclick = () => this.restart();
    at("push").onclick = () => this.push();
    at("pause").onclick = () => this.pause();
    at("ghost").onclick = () => { this.ghost = this.history; this.restart(); };
    at("record").onclick = () => this.engine.say({ record: true });
    at("help-open").onclick = () => at("keys").showModal();
    for (const [id, wish] of [["preset", "preset"], ["set", "parameter_set"], ["vehicle", "vehicle"], ["ground", "ground"]]) {
      at(id).onchange = () => { this.ghost = null; this.engine.say({ [wish]: at(id).value }); };
    }
    at("pace").onchange = () => this.engine.say({ pace: Number(at("pace").value) });
    at("mu").onchange = () => { this.mu = at("mu").value; this.engine.say({ mu: this.mu ? Number(this.mu) : null }); };
    at("camera").onchange = () => this.camera.choose(at("camera").value);
    at("quality").onchange = () => {
      this.smoothness.level = Number(at("quality").value) || 0;
      this.smoothness.restart();
      this.picture.setQuality?.(this.smoothness.level);
    };
    at("sound").onchange = () => this.sound.play(at("sound").checked);
    at("help").onchange = () => { this.controls.help = at("help").value; };
    document.querySelector("#panel").addEventListener("pointerdown", () => { this.pointed = true; });
    document.querySelector("#panel").addEventListener("keydown", () => { this.pointed = false; });
    document.querySelector("#panel").addEventListener("change", () => { if (this.pointed) at("picture").focus(); });
    at("hold").onchange = () => { this.controls.hold = at("hold").checked; this.controls.speed = this.frame?.output("forward_speed") ?? 5; };
    at("demo").onchange = () => { this.controls.demo = at("demo").checked; };
    for (const radio of document.querySelectorAll("[name=way]")) radio.onchange = () => this.way(radio.value);
    followGestures(at("picture"), { turn: (dx, dy) => this.camera.turn(dx, dy), zoom: (factor) => this.camera.zoom(factor) });
    this.bindData();
  }

  bindData() {
    at("save-csv").onclick = () => saveFile(`draisine-${this.scene.preset.name}.csv`, this.recorder.csv(), "text/csv");
    at("save-results").onclick = at("task-save").onclick = () => saveFile("draisine-results.json", this.results.file(), "application/json");
    at("forget-results").onclick = () => this.results.forget();
    at("copy-link").onclick = async () => {
      const address = this.link;
      history.replaceState(null, "", address);
      try { await navigator.clipboard.writeText(address); } catch { /* Without permission the address bar has the link. */ }
      this.notify(say("data.copied"));
    };
  }

  // The address that carries this ride.
  get link() {
    const { preset, parameter_set: set } = this.scene, { way, help } = this.controls, pace = Number(at("pace").value);
    return linkTo(location.href, {
      ride: preset.name, set, way: way === preset.way ? "" : way, help, lang: currentLanguage(),
      mu: this.mu && Number(this.mu) !== this.scene.mu ? Number(this.mu) : null, pace: pace === preset.pace ? null : pace, parameters: this.changes,
    });
  }

  press(key, event) {
    if (this.taskView.open) return;
    const ways = { 1: "torque", 2: "angle", 3: "lean" };
    if (key in ways) this.way(ways[key]);
    else if (key === "r") this.restart();
    else if (key === "p") this.push();
    else if (key === "escape" && !at("keys").open) this.pause();
    else if (key === "c") this.nextCamera();
    else if (key === "?") { event?.preventDefault(); at("keys").showModal(); }
  }

  way(name) {
    this.controls.way = name;
    this.mirror();
  }

  restart() {
    if (this.unpredicted) return this.offerTask();
    this.paused = false;
    this.clear();
    this.say("");
    this.controls.begin({ ...this.scene.preset, way: this.controls.way });
    this.mirror();
    this.engine.say({ reset: true });
  }

  tellWhoSteers() {
    this.say(say(this.controls.demo ? "message.shown" : "message.yours"), 3);
    this.mirror();
  }

  push() { this.pushed = (this.frame?.time ?? 0) + 0.1; }

  pause() {
    if (this.unpredicted || (this.scene?.preset.task && !this.task)) return this.restart();   // a task that has ended begins again
    this.paused = !this.paused;
    this.say(this.paused ? say("message.paused") : "");
  }

  nextCamera() {
    const next = CAMERAS[(CAMERAS.indexOf(this.camera.kind) + 1) % CAMERAS.length];
    this.camera.choose(next);
    at("camera").value = next;
  }

  mirror() {
    const { way, help, hold, demo } = this.controls;
    for (const radio of document.querySelectorAll("[name=way]")) radio.checked = radio.value === way;
    at("feel").textContent = say(`way.${way}.feel`);
    at("help").value = help;
    at("hold").checked = hold;
    at("demo").checked = demo;
    at("camera").value = this.camera.kind;
  }

  say(text, seconds = 0) {
    clearTimeout(this.silence);
    at("message").textContent = text;
    at("message").hidden = !text;
    if (seconds) this.silence = setTimeout(() => this.say(""), 1000 * seconds);
  }
}

function newPicture(canvas) {
  try {
    return new WebglPicture(canvas);
  } catch (error) {
    const told = document.createElement("p");
    told.id = "no-webgl";
    told.textContent = say("plain.picture", { reason: error.message });
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

const wantedLanguage = (wish) => knownLanguage([wish.lang, ...(navigator.languages ?? [navigator.language])]);

// Where the browser keeps results; it may refuse.
function storage() {
  try { return window.localStorage; } catch { return null; }
}

function showTeacher() {
  const languages = Object.entries(LANGUAGES), write = (name) => {
    setLanguage(name);
    translate(document);
    document.title = say("teacher");
    fill(at("language"), languages, name);
  };
  at("riding").hidden = at("heading").hidden = true;
  at("teacher").hidden = false;
  write(wantedLanguage({}));
  const view = new TeacherView();
  at("language").onchange = () => { write(at("language").value); view.write(); };
  return view;
}

// The teacher's view and the ride share this file, not a page.
const teaches = location.hash === "#teacher";
window.addEventListener("hashchange", () => location.reload());
if (teaches) window.teacher = showTeacher();
else window.ride = new Page(newEngine(), readLink(location.hash));
