// The teacher's view: a table of result files, which are read here and sent nowhere.
import { number, say } from "./language.js";
import { at } from "./panel.js";
import { saveFile } from "./recorder.js";
import { readResults } from "./results.js";
import { TASKS } from "./tasks.js";

export class TeacherView {
  constructor() {
    this.files = [];
    at("teacher-files").onchange = () => this.read(at("teacher-files").files);
    at("teacher-table").onclick = () => saveFile("draisine-class.csv", this.csv(), "text/csv");
    this.write();
  }

  async read(files) {
    const bad = [];
    for (const file of files) {
      const name = file.name.replace(/\.json$/, "");
      try {
        const tasks = readResults(await file.text());
        this.files = [...this.files.filter((one) => one.name !== name), { name, tasks }];
      } catch {
        bad.push(say("teacher.bad", { file: file.name }));
      }
    }
    this.files.sort((a, b) => a.name.localeCompare(b.name));
    at("teacher-errors").textContent = bad.join(" ");
    this.write();
  }

  // Rows of texts: the head, one row per file, and the sums.
  rows() {
    const names = Object.keys(TASKS), head = [say("teacher.file"), ...names.map((name) => say(`${name}.title`))];
    const body = this.files.map(({ name, tasks }) => [name, ...names.map((task) => cell(tasks[task]))]);
    const sums = names.map((task) => `${this.count(task, (row) => row.best !== null)} / ${this.count(task, (row) => row.predicted)}`);
    return [head, ...body, [say("teacher.sum"), ...sums]];
  }

  count(task, holds) { return this.files.filter(({ tasks }) => tasks[task] && holds(tasks[task])).length; }

  write() {
    const [head, ...body] = this.rows(), table = at("teacher-results");
    const row = (cells, first) => {
      const line = document.createElement("tr");
      cells.forEach((text, k) => {
        const one = document.createElement(first || k === 0 ? "th" : "td");
        if (one.tagName === "TH") one.scope = first ? "col" : "row";
        one.textContent = text;
        line.append(one);
      });
      return line;
    };
    table.tHead.replaceChildren(row(head, true));
    table.tBodies[0].replaceChildren(...body.map((cells) => row(cells, false)));
  }

  csv() {
    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    return `${this.rows().map((row) => row.map(quoted).join(",")).join("\n")}\n`;
  }
}

function cell(result) {
  if (!result || (!result.attempts && result.predicted === null)) return say("teacher.none");
  const prediction = say(result.predicted ? "teacher.foresaw" : "teacher.missed"), { attempts, best } = result;
  return best === null ? say("teacher.open", { attempts, prediction }) : say("teacher.cell", { best: number(best), attempts, prediction });
}
