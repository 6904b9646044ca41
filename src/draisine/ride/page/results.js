// Results of tasks: kept in this browser, written to a small file without names, and read from such files.
const KEY = "draisine-results", FORMAT = "draisine task results", VERSION = 1;

export class Results {
  // `storage` is where the browser keeps texts, or null if it keeps none.
  constructor(storage) {
    this.storage = storage;
    try {
      this.tasks = readResults(storage.getItem(KEY));
    } catch {
      this.tasks = {};
    }
  }

  of(task) { return (this.tasks[task] ??= { attempts: 0, best: null, predicted: null }); }

  // Keep the first prediction of a task: whether it was right.
  predict(task, right) {
    this.of(task).predicted ??= right;
    this.keep();
  }

  // Count an attempt that took a time (s).
  attempt(task, solved, time) {
    const row = this.of(task);
    row.attempts += 1;
    if (solved) row.best = Math.min(row.best ?? Infinity, time);
    this.keep();
  }

  forget() {
    this.tasks = {};
    this.keep();
  }

  keep() {
    try { this.storage?.setItem(KEY, this.file()); } catch { /* The browser keeps nothing: results last as long as the page. */ }
  }

  file() { return JSON.stringify({ format: FORMAT, version: VERSION, tasks: this.tasks }, null, 1); }
}

// The results by task in the text of a file; raises an error if it is none.
export function readResults(text) {
  const { format, version, tasks } = JSON.parse(text);
  if (format !== FORMAT || version !== VERSION) throw new Error("no results");
  const number = (x) => (Number.isFinite(x) && x >= 0 ? x : null);
  return Object.fromEntries(Object.entries(tasks).map(([task, { attempts, best, predicted }]) => [
    task, { attempts: number(attempts) ?? 0, best: number(best), predicted: typeof predicted === "boolean" ? predicted : null },
  ]));
}
