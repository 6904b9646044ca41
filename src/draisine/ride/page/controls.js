// From hands to the commands of the rider's law.
const KEYS = { torque: 1, helped: 2, assisted: 3, angle: (4 * Math.PI) / 180, body: 0.1, drive: 60, brake: 60, front: 180, lift: 0, pace: 1.5 };

export class Controls {
  constructor() {
    this.way = "torque";
    this.help = "none";
    this.hold = false;
    this.demo = false;
    this.speed = 5;
    this.keys = KEYS;
    this.joints = [];
    this.idle = 0;
    this.patience = 15;
  }

  begin({ way, commands, keys, shown }) {
    this.shown = shown;
    this.idle = 0;
    this.way = way;
    this.keys = { ...KEYS, ...keys };
    this.help = commands.balance_help ? "balance" : commands.lean_help || commands.angle_help ? "lean" : "none";
    this.hold = Boolean(commands.hold);
    this.lean_help = commands.lean_help || 5;
    this.speed = commands.speed ?? 5;
    this.demo = false;
  }

  // Whether it changes who steers: hands do from the moment they touch anything, and a rider shows the ride
  // when nobody has for a while.
  handOver(hands, dt) {
    const before = this.demo, busy = Object.values(hands).some(Boolean);
    this.idle = busy ? 0 : this.idle + dt;
    if (busy && before) this.demo = false;
    else if (this.shown && this.idle > this.patience) this.demo = true;
    return this.demo !== before;
  }

  // The commands for what hands do now, dt seconds after the last.
  commands(hands, dt, frame) {
    if (this.joints.length) return this.torques(hands);
    const { way, help, keys } = this, steer = this.demo ? demonstration(frame, way) : hands.steer;
    const braking = hands.brake || hands.front;
    if (braking && frame) this.speed = Math.max(0, frame.output("forward_speed"));
    else if (this.hold) this.speed = Math.max(0, this.speed + keys.pace * dt * (hands.faster - hands.slower));
    const helped = { none: keys.torque, balance: keys.assisted, lean: keys.helped }[help];
    return {
      steer_torque: way === "torque" ? steer * helped : 0,
      steer_angle: way === "angle" ? steer * keys.angle : 0,
      torso: way === "lean" ? -steer * keys.body : 0,
      by_angle: way === "angle" ? 1 : 0,
      lean_help: way === "torque" && help === "lean" ? this.lean_help : 0,
      balance_help: way === "torque" && help === "balance" ? 8 : 0,
      angle_help: way === "angle" && help !== "none" ? 1 : 0,
      drive: this.hold || keys.lift ? 0 : keys.drive * (hands.faster - 0.5 * hands.slower),
      lift: keys.lift * hands.faster,
      rear_brake: keys.brake * hands.brake,
      front_brake: keys.front * hands.front,
      hold: this.hold && !braking ? 1 : 0,
      speed: this.speed,
    };
  }

  // Torques on the first two joints of what is no bicycle.
  torques(hands) {
    const [first, second] = this.joints;
    return { [first]: hands.steer * this.keys.helped, [second]: (hands.faster - hands.slower) * this.keys.helped };
  }
}

// A rider who weaves along the line y = 0: leans towards it, and steers out of the lean that is too much.
function demonstration(frame, way) {
  if (!frame) return 0;
  const [, y] = frame.part("p"), yaw = frame.output("yaw"), lean = frame.output("lean");
  const pull = way === "lean" ? 0.06 : 0.12;   // a body leans slowly
  const aim = -pull * (y - 1.5 * Math.sin(0.35 * frame.time)) - 0.9 * Math.atan2(Math.sin(yaw), Math.cos(yaw));
  const wanted = -Math.max(-0.15, Math.min(0.15, 0.5 * aim));
  const held = way === "angle" ? 2 : 1;   // a guided bar has to be held in the turn
  const push = 6 * (held * wanted - lean) - 1.5 * frame.outputRate("lean");
  return Math.max(-1, Math.min(1, way === "lean" ? -push : push));
}
