// What a ride has shown: one row per frame, for plots and for a file.
const KEPT = 36000;   // rows: ten minutes at 60 frames per second

const COLUMNS = [
  ["time_s", (f) => f.time],
  ["x_m", (f) => f.part("p")[0]],
  ["y_m", (f) => f.part("p")[1]],
  ["z_m", (f) => f.part("p")[2]],
  ["speed_m_per_s", (f) => f.output("forward_speed")],
  ["lean_right_rad", (f) => f.output("lean")],
  ["lean_rate_right_rad_per_s", (f) => f.outputRate("lean")],
  ["steer_left_rad", (f) => f.joint("steer")],
  ["yaw_left_rad", (f) => f.output("yaw")],
  ["pitch_down_rad", (f) => f.output("pitch")],
  ["torso_right_rad", (f) => f.joint("torso")],
  ["steer_torque_left_N_m", (f) => f.input("steer")],
  ["drive_torque_N_m", (f) => f.input("rear_wheel")],
  ["first_contact_normal_force_N", (f) => f.loads[0]?.[0]],
  ["last_contact_normal_force_N", (f) => f.loads.at(-1)?.[0]],
];

export class Recorder {
  constructor() { this.clear(); }

  clear() {
    this.rows = [];
    this.sentences = [];
  }

  add(frame, sentence) {
    if (this.rows.length && frame.time <= this.rows.at(-1)[0]) return;   // a ride that stands still
    this.rows.push(COLUMNS.map(([, value]) => value(frame)));
    this.sentences.push(sentence);
    if (this.rows.length > KEPT) for (const list of [this.rows, this.sentences]) list.splice(0, KEPT / 10);
  }

  // One column of all rows, by its name.
  column(name) {
    const k = COLUMNS.findIndex(([key]) => key === name);
    return this.rows.map((row) => row[k]);
  }

  csv() {
    const lines = this.rows.map((row) => row.map((x) => (Number.isFinite(x) ? x : "")).join(","));
    return `${[COLUMNS.map(([name]) => name).join(","), ...lines].join("\n")}\n`;
  }
}

// Offer a text as a file of a name; nothing leaves the computer.
export function saveFile(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
