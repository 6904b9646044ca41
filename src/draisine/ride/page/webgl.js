// The machine in three dimensions, by three.js where it came with the package and WebGL works.
import { triples } from "./vectors.js";

export class WebglPicture {
  constructor() {
    if (!globalThis.draisineVendor) throw new Error("the bundle of three.js is not installed");
    throw new Error("not yet");
  }
}
