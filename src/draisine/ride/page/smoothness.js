// Whether the picture is smooth and the ride runs in real time: lowers the quality, and measures slow motion.
const WINDOW = 1000;         // ms over which frames are counted
const LEAST = 5;             // frames in a window: fewer say little about the pace
const SMOOTH = 40;           // ms per frame; above it the picture judders (25 frames per second)
const REAL_TIME = 0.9;       // share of the wanted pace below which the ride counts as slow motion

export class Smoothness {
  // `levels` is the number of qualities, the best first.
  constructor(levels) {
    this.levels = levels;
    this.level = 0;
    this.begin();
  }

  // Start with a new scene, whose first frames take longer: its first window does not count.
  begin() {
    this.factor = 1;
    this.settled = false;
    this.restart();
  }

  restart() { this.first = null; }

  // Count a frame at a time (ms) of the browser, with the time (s) of the ride and its pace.
  // Return whether the window is over; level and factor then are new.
  count(stamp, time, pace, automatic) {
    if (this.first === null || time < this.first.time || pace !== this.first.pace) {
      this.first = { stamp, time, pace };
      this.frames = 0;
      return false;
    }
    this.frames += 1;
    const passed = stamp - this.first.stamp;
    if (passed < WINDOW || this.frames < LEAST) return false;
    if (!this.settled) {
      this.settled = true;
      this.restart();
      return false;
    }
    this.factor = (1000 * (time - this.first.time)) / (passed * pace);
    if (automatic && passed / this.frames > SMOOTH && this.level < this.levels - 1) this.level += 1;
    this.restart();
    return true;
  }

  get slow() { return this.factor < REAL_TIME; }
}
