// The ride on the server: one socket, one frame of the scene that is shown asked for at a time. What was asked
// of an earlier scene has no answer.
import { withLines } from "./grounds.js";

export class Link {
  constructor(address) {
    this.address = address;
    this.waiting = false;
    this.serial = 0;
    this.told = () => {};
    this.framed = () => {};
    this.closed = () => {};
    this.open();
  }

  open() {
    this.waiting = false;
    this.address.hash = "";
    this.socket = new WebSocket(this.address);
    this.address.searchParams.set("resume", "1");   // from now on the server continues this ride
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => {
      if (typeof data === "string") return this.listen(JSON.parse(data));
      this.waiting = false;
      const numbers = new Float64Array(data);
      this.latency = performance.now() - this.asked;
      if (numbers[0] === this.serial) this.framed(numbers.subarray(1));
    };
    this.socket.onclose = ({ code, reason }) => this.closed(code, reason);
  }

  get ready() { return this.socket.readyState === WebSocket.OPEN; }

  listen(words) {
    if (words.scene) {
      [this.scene, this.waiting] = [words.scene.number, false];
      words.scene.ground = withLines(words.scene.ground);
    }
    this.told(words);
  }

  say(words) {
    if (this.ready) this.socket.send(JSON.stringify(words));
  }

  ask(controls) {
    if (!this.ready || this.waiting) return;
    this.waiting = true;
    this.asked = performance.now();
    this.socket.send(new Float64Array([++this.serial, this.scene, ...controls]));
  }
}
