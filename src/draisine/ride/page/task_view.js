// The windows of a task: a prediction before the ride, what happened after it.
import { number, say } from "./language.js";
import { at } from "./panel.js";
import { Strips } from "./strips.js";
import { TASKS } from "./tasks.js";
import { degrees } from "./vectors.js";

const CHOICES = 3;

export class TaskView {
  // `start` begins the ride of the present task, `choose` another task.
  constructor(results, { start, choose }) {
    this.results = results;
    this.start = start;
    this.choose = choose;
    this.strips = new Strips(at("task-plot"));
    this.choices = {};
    at("task-start").onclick = () => this.begin();
    at("task-again").onclick = () => this.begin();
    at("task-next").onclick = () => this.next();
    at("task-moment").oninput = () => this.showMoment();
    at("task-plot").addEventListener("pointermove", (event) => this.point(event));
  }

  get open() { return at("task").open; }

  // Ask for a prediction.
  show(name) {
    this.name = name;
    this.result = null;
    this.write();
    at("task").showModal();
  }

  close() { at("task").close(); }

  predicted(name) { return name in this.choices; }

  // Show how a ride ended: the result, its time (s) and its record.
  finish(result, time, recorder) {
    this.results.attempt(this.name, result.solved, time);
    Object.assign(this, { result, time, recorder });
    this.write();
    at("task").showModal();
  }

  // Write all texts in the present language.
  write() {
    if (!this.name) return;
    const { name, result } = this, chosen = this.choices[name];
    at("task-title").textContent = say(`${name}.title`);
    at("task-lesson").textContent = say(`${name}.lesson`);
    at("task-before").hidden = Boolean(result);
    at("task-after").hidden = !result;
    at("task-question").textContent = say(`${name}.question`);
    at("task-choices").replaceChildren(...Array.from({ length: CHOICES }, (_, k) => this.choice(k, k === chosen)));
    at("task-start").disabled = chosen === undefined;
    if (result) this.writeResult();
  }

  choice(k, chosen) {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "choice", value: k, checked: chosen });
    input.onchange = () => {
      this.choices[this.name] = k;
      this.results.predict(this.name, k === TASKS[this.name].right);
      at("task-start").disabled = false;
    };
    label.append(input, ` ${say(`${this.name}.choice.${k}`)}`);
    return label;
  }

  writeResult() {
    const { name, result, time, recorder } = this, chosen = this.choices[name], { best } = this.results.of(name);
    at("task-result").textContent = say(result.reason);
    at("task-result").className = result.solved ? "solved" : "failed";
    at("task-time").textContent = result.solved ? say("task.time", { time: number(time), best: number(best) }) : say("task.unsolved", { time: number(time) });
    const right = chosen === TASKS[name].right;
    at("task-prediction").textContent = right ? say("task.right") : say("task.wrong", { choice: say(`${name}.choice.${chosen}`) });
    at("task-answer").textContent = say(`${name}.answer`);
    if (recorder.rows.length < 2) return;
    const left = (values) => values.map((x) => -degrees(x));
    this.strips.draw(recorder.column("time_s"), [
      [say("task.torque"), recorder.column("steer_torque_left_N_m")],
      [say("task.lean"), left(recorder.column("lean_right_rad"))],
      [say("task.yaw"), recorder.column("yaw_left_rad").map(degrees)],
    ]);
    Object.assign(at("task-moment"), { min: 0, max: recorder.rows.length - 1, value: recorder.rows.length - 1 });
    this.showMoment();
  }

  // The sentence of the chosen moment.
  showMoment() {
    const row = Number(at("task-moment").value), { recorder } = this;
    this.strips.mark(row);
    at("task-sentence").textContent = `${number(recorder.rows[row][0])} s: ${recorder.sentences[row]}`;
  }

  point(event) {
    const box = at("task-plot").getBoundingClientRect(), count = this.recorder.rows.length;
    const [first, last] = [this.strips.x(this.strips.times[0]), this.strips.x(this.strips.times.at(-1))];
    const { width } = at("task-plot").viewBox.baseVal, x = ((event.clientX - box.left) / box.width) * width;
    at("task-moment").value = Math.round(((x - first) / (last - first)) * (count - 1));
    this.showMoment();
  }

  begin() {
    this.result = null;
    this.close();
    this.start();
  }

  next() {
    const names = Object.keys(TASKS);
    this.close();
    this.choose(names[(names.indexOf(this.name) + 1) % names.length]);
  }
}
