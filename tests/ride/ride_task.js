// Ride tasks by scripted riders, without a browser; print how each ends, and the work of the engine.
import "./data.js";
import { Controls } from "./controls.js";
import { LocalEngine } from "./local.js";
import { Frame } from "./machine.js";
import { makeRiders } from "./riders.js";
import { TASKS } from "./tasks.js";

const LONGEST = 60, STEPS = 17;   // s; steps per frame, about 1/60 s
const riders = makeRiders(TASKS), still = { steer: 0, faster: 0, slower: 0, brake: 0, front: 0 };

function ride(name, kind) {
  const engine = new LocalEngine(draisineRide), controls = new Controls(), judge = TASKS[name].judge(), spent = [];
  let frame = null, result = null;
  engine.told = () => {};
  engine.framed = (numbers) => { frame = new Frame(engine.scene, numbers.slice()); };
  engine.say({ preset: name });
  engine.due = () => (frame ? STEPS : 0);
  controls.begin(engine.scene.preset);
  while (!result && (frame?.time ?? 0) < LONGEST) {
    const commands = controls.commands(frame ? riders[name][kind](frame) : still, 1 / 60, frame), began = performance.now();
    engine.ask(engine.scene.controls.map((key) => commands[key] ?? 0));
    spent.push(performance.now() - began);
    result = judge.see(frame);
  }
  spent.sort((a, b) => a - b);
  return { ...result, time: frame.time, status: frame.status, progress: judge.progress, median: spent[spent.length >> 1] };
}

const rides = Object.keys(TASKS).map((name) => [name, { good: ride(name, "good"), bad: ride(name, "bad") }]);
console.log(JSON.stringify(Object.fromEntries(rides)));
