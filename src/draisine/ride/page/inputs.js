// What hands do: keys, mouse, touch and gamepad, as one steering value, drive and brakes.
const KEYS = {
  ArrowLeft: "left", a: "left", ArrowRight: "right", d: "right", ArrowUp: "faster", w: "faster",
  ArrowDown: "slower", s: "slower", " ": "brake", b: "front",
};
const TOUCH = [
  ["touch-left", "left"], ["touch-right", "right"], ["touch-faster", "faster"], ["touch-slower", "slower"],
  ["touch-brake", "brake"], ["touch-front", "front"],
];
const DEAD_ZONE = 0.12;
const PAD_BUTTONS = { 0: "p", 2: "r", 3: "c", 9: "escape" };   // A, X, Y and Start of the standard gamepad, as keys

export class Inputs {
  constructor(picture) {
    this.held = new Set();
    this.touched = new Set();
    this.shift = false;
    this.down = [];
    this.drag = 0;
    this.changed = () => {};
    this.pressed = () => {};
    window.addEventListener("keydown", (event) => this.key(event, true));
    window.addEventListener("keyup", (event) => this.key(event, false));
    window.addEventListener("blur", () => this.release());
    document.addEventListener("visibilitychange", () => document.hidden && this.release());
    this.mouse(picture);
    for (const [id, name] of TOUCH) this.button(id, name);
  }

  key(event, down) {
    this.shift = event.shiftKey;
    const typing = ["SELECT", "INPUT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "checkbox";
    const name = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!name || typing || (event.key === " " && event.target.tagName === "BUTTON")) {
      if (down && !typing && !event.repeat) this.pressed(event.key.toLowerCase(), event);
      return;
    }
    event.preventDefault();
    if (down === this.held.has(name)) return;
    if (down) this.held.add(name); else this.held.delete(name);
    this.changed();
  }

  mouse(picture) {
    picture.addEventListener("contextmenu", (event) => event.preventDefault());
    picture.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse" || !(event.buttons & 2)) return;
      this.drag = Math.max(-1, Math.min(1, this.drag - event.movementX / 150));
      this.changed();
    });
    window.addEventListener("pointerup", () => { if (this.drag) { this.drag = 0; this.changed(); } });
  }

  button(id, name) {
    const button = document.getElementById(id);
    const set = (on) => { if (on) this.touched.add(name); else this.touched.delete(name); this.changed(); };
    button.addEventListener("pointerdown", (event) => { event.preventDefault(); set(true); });
    for (const kind of ["pointerup", "pointercancel", "pointerleave"]) button.addEventListener(kind, () => set(false));
  }

  release() {
    this.held.clear();
    this.touched.clear();
    this.drag = 0;
    this.changed();
  }

  // Steering to the left from -1 to 1, and the rest from 0 to 1.
  read() {
    const on = (name) => (this.held.has(name) || this.touched.has(name) ? 1 : 0);
    const pad = this.gamepad();
    const keys = (on("left") - on("right")) * (this.shift ? 0.5 : 1);
    return {
      steer: Math.max(-1, Math.min(1, keys + this.drag + pad.steer)),
      faster: Math.max(on("faster"), pad.faster),
      slower: on("slower"),
      brake: Math.max(on("brake"), pad.brake),
      front: Math.max(on("front"), pad.front),
    };
  }

  gamepad() {
    const pad = [...(navigator.getGamepads?.() ?? [])].find((one) => one && one.connected);
    if (!pad) return { steer: 0, faster: 0, brake: 0, front: 0 };
    const x = pad.axes[0] ?? 0, past = Math.max(0, Math.abs(x) - DEAD_ZONE) / (1 - DEAD_ZONE);
    const value = (k) => pad.buttons[k]?.value ?? 0, down = Object.keys(PAD_BUTTONS).filter((k) => value(k) > 0.5);
    for (const k of down) if (!this.down.includes(k)) this.pressed(PAD_BUTTONS[k]);
    this.down = down;
    return { steer: -Math.sign(x) * past ** 3 * 2, faster: value(7), brake: value(6), front: value(4) };
  }
}
