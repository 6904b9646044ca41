// Sentences about the state of a ride.
import { say } from "./language.js";
import { degrees } from "./vectors.js";

// Keys of the sentences that end a ride, by its status.
export const ENDINGS = [null, "ending.fell", "ending.flipped", "ending.lifted", "ending.slipped", "ending.turned", "ending.stopped"];

export const side = (x) => say(x > 0 ? "left" : "right");

// Return a sentence about the present motion.
export function moment(frame, commands) {
  if (!frame.scene.joints.includes("steer")) return "";
  const open = [...frame.part("gaps")].map((gap) => gap > 0.01);
  if (open.every(Boolean)) return say("moment.flight");
  if (open.some(Boolean)) return say(`moment.${frame.scene.machine.contacts[open.indexOf(true)].name}`);
  const lean = -degrees(frame.output("lean")), steer = degrees(frame.joint("steer"));
  const leaning = -degrees(frame.outputRate("lean"));
  const push = commands.steer_torque || commands.steer_angle || -commands.torso || 0;
  const sentence = (key, one, other = one) => say(key, { side: side(one), other: side(other) });
  if (commands.torso && Math.abs(lean) > 0.4 && lean * push < 0) return sentence("moment.body", push, lean);
  if (push && Math.abs(leaning) > 2 && leaning * push < 0) return sentence("moment.counter", push, leaning);
  if (push && Math.abs(steer) > 0.6 && steer * push < 0) return sentence("moment.into", push, steer);
  if (Math.abs(lean) > 20) return sentence("moment.far", lean);
  if (Math.abs(lean) > 3) return sentence("moment.turn", lean);
  if (Math.abs(leaning) > 3) return sentence("moment.swing", leaning);
  return say("moment.straight");
}
