// Sentences about the state of a ride.
import { degrees } from "./vectors.js";

export const ENDINGS = [
  "",
  "It fell: the lean exceeded 45 degrees.",
  "The handlebar flipped: the steer angle exceeded 75 degrees.",
  "A wheel would lift off: its normal force became negative.",
  "A wheel slips: the friction limit is exceeded.",
  "It turned over.",
  "The simulation stopped.",
];

const side = (x) => (x > 0 ? "left" : "right");

// Return a sentence about the present motion.
export function moment(frame, commands) {
  if (!frame.scene.joints.includes("steer")) return "";
  const open = [...frame.part("gaps")].map((gap) => gap > 0.01);
  if (open.every(Boolean)) return "in flight: no wheel touches the ground";
  if (open.some(Boolean)) return `the ${frame.scene.machine.contacts[open.indexOf(true)].name} wheel has lifted off`;
  const lean = -degrees(frame.output("lean")), steer = degrees(frame.joint("steer"));
  const leaning = -degrees(frame.outputRate("lean"));
  const push = commands.steer_torque || commands.steer_angle || -commands.torso || 0;
  if (commands.torso && Math.abs(lean) > 0.4 && lean * push < 0) return `you lean ${side(push)}, the frame first leans ${side(lean)}`;
  if (push && Math.abs(leaning) > 2 && leaning * push < 0) return `counter-steering: you pushed ${side(push)}, it leans ${side(leaning)}`;
  if (push && Math.abs(steer) > 0.6 && steer * push < 0) return `you push ${side(push)}, yet the bar turns ${side(steer)}, into the lean`;
  if (Math.abs(lean) > 20) return `leaning far ${side(lean)}: steer ${side(lean)} to come up`;
  if (Math.abs(lean) > 3) return `a turn to the ${side(lean)}: the bar turns into the lean`;
  if (Math.abs(leaning) > 3) return `it swings to the ${side(leaning)}`;
  return "straight ahead";
}
