// The picture in three dimensions, by three.js: the machine, its rider, forces and tracks, in a scenery.
import { bicycleMeshes, isBicycle } from "./bicycle.js";
import { say } from "./language.js";
import { RiderFigure } from "./rider.js";
import { Scenery } from "./scenery.js";
import { Solids } from "./solids.js";
import { add, triples, unit, cross } from "./vectors.js";

const HAZE = 0xdfe9f0, GHOST = 0x56789a, LONGEST = 3000, FORCE_LENGTH = 0.001;   // m/N
// Pixels per point (a processor that draws without graphics card starts with the last), shadows and details of each quality, the best first.
export const QUALITIES = [
  { pixels: 2, shadows: true, details: true },
  { pixels: 1, shadows: false, details: true },
  { pixels: 0.5, shadows: false, details: false },
];

export class WebglPicture {
  constructor(canvas) {
    this.three = globalThis.draisineVendor;
    if (!this.three) throw new Error(say("plain.bundle"));
    const probe = document.createElement("canvas").getContext("webgl2");
    if (!probe) throw new Error(say("plain.webgl"));
    const names = probe.getExtension("WEBGL_debug_renderer_info");
    const software = /swiftshader|llvmpipe|software/i.test(probe.getParameter(names?.UNMASKED_RENDERER_WEBGL ?? probe.RENDERER));
    const T = this.three;
    this.canvas = canvas;
    this.renderer = new T.WebGLRenderer({ canvas, antialias: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = T.PCFShadowMap;
    this.renderer.info.autoReset = false;
    this.camera = new T.PerspectiveCamera(45, 1, 0.05, 900);
    this.setQuality(software ? QUALITIES.length - 1 : 0);
  }

  setQuality(level) {
    this.level = level;
    this.quality = QUALITIES[level];
    this.wide = null;
  }

  // Calls of the graphics library for the last frame, shadows included.
  get calls() { return this.renderer.info.render.calls; }

  describe(scene) {
    const T = this.three, { machine } = scene;
    this.release();
    this.scene = scene;
    this.world = new T.Scene();
    this.world.fog = new T.Fog(HAZE, 60 * machine.size, 240 * machine.size);
    this.world.add(new T.HemisphereLight(0xffffff, 0x9aa58c, 1.9));
    this.sun = this.newSun();
    this.world.add(this.sun, this.sun.target);
    const cycle = isBicycle(machine);
    this.scenery = new Scenery(T, this.world, scene, cycle);
    const meshes = cycle ? bicycleMeshes(T, machine) : this.outlines(machine);
    this.bodies = this.groups(meshes, null);
    this.ghosts = this.groups(meshes, new T.MeshLambertMaterial({ color: GHOST, transparent: true, opacity: 0.4 }));
    const rides = cycle && machine.joints.some((joint) => joint.name === "torso");
    this.rider = rides ? new RiderFigure(T, machine, this.world) : null;
    this.traces = machine.contacts.map((_, k) => this.newTrace(k));
    this.arrows = machine.contacts.map(() => this.newArrow());
  }

  // Free the memory of the earlier scene on the graphics card.
  release() {
    this.sun?.dispose();
    this.world?.traverse((one) => {
      one.geometry?.dispose();
      one.material?.map?.dispose();
      one.material?.dispose();
    });
  }

  newSun() {
    const sun = new this.three.DirectionalLight(0xfff4e0, 1.9), reach = 2.5 * this.scene.machine.size;
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    sun.shadow.normalBias = 0.01;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1, far: 30 });
    return sun;
  }

  // --- machines other than bicycles: tubes along their lines, rings for rims, balls for masses

  outlines({ bodies, parts, balls, size }) {
    const solids = bodies.map(() => new Solids(this.three));
    for (const { body, kind, width, colour, points } of parts) {
      const line = triples(points), thick = 0.0035 * size * width;
      if (kind === "rim") rim(solids[body], line.slice(0, -1), thick, colour);
      else for (let k = 1; k < line.length; k++) solids[body].tube(line[k - 1], line[k], thick, colour, thick, 8);
    }
    for (const { body, centre, radius, colour } of balls) solids[body].ball(centre, radius, colour);
    return solids.map((one) => (one.index.length ? one.mesh() : null));
  }

  // A group for each body, of its mesh, in the colour of ghosts if a material is given.
  groups(meshes, ghost) {
    const T = this.three;
    return meshes.map((mesh) => {
      const group = new T.Group();
      if (mesh) group.add(ghost ? new T.Mesh(mesh.geometry, ghost) : mesh);
      group.matrixAutoUpdate = false;
      group.visible = !ghost;
      group.traverse((one) => { one.castShadow = !ghost; });
      this.world.add(group);
      return group;
    });
  }

  newTrace(k) {
    const T = this.three, shape = new T.BufferGeometry();
    shape.setAttribute("position", new T.Float32BufferAttribute(new Float32Array(3 * LONGEST), 3));
    const trace = new T.LineSegments(shape, new T.LineBasicMaterial({ color: ["#00406b", "#b34700"][k % 2] }));
    trace.frustumCulled = false;
    this.world.add(trace);
    return trace;
  }

  newArrow() {
    const T = this.three, arrow = new T.ArrowHelper(new T.Vector3(0, 0, 1), new T.Vector3(), 1, 0xd55e00);
    this.world.add(arrow);
    return arrow;
  }

  // --- a frame

  draw({ frame, poses, view, tracks, ghost, show }) {
    const [x, y, z] = poses[0].p, { quality } = this;
    this.resize();
    this.move(this.bodies, poses);
    this.ghosts.forEach((group) => { group.visible = Boolean(ghost); });
    if (ghost) this.move(this.ghosts, ghost);
    this.rider?.show(frame, poses, show.ownEyes);
    tracks.forEach((track, k) => this.trace(this.traces[k], track.points));
    frame.contacts.forEach((point, k) => this.arrow(this.arrows[k], point, frame.forces[k], show.arrows));
    this.scenery.show(poses[0].p, show.mu, quality.details);
    this.sun.castShadow = quality.shadows;
    this.sun.position.set(x - 3, y + 4, z + 9);
    this.sun.target.position.set(x, y, z);
    this.camera.up.set(...view.up);
    this.camera.position.set(...view.eye);
    this.camera.lookAt(...view.target);
    this.renderer.info.reset();
    this.renderer.render(this.world, this.camera);
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (this.wide === w && this.high === h) return;
    [this.wide, this.high] = [w, h];
    this.renderer.setPixelRatio(Math.min(this.quality.pixels, window.devicePixelRatio || 1));
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
  }

  move(groups, poses) {
    groups.forEach((group, k) => {
      const { R, p } = poses[k];
      group.matrix.set(...R[0], p[0], ...R[1], p[1], ...R[2], p[2], 0, 0, 0, 1);
    });
  }

  trace(trace, points) {
    const place = trace.geometry.attributes.position;
    let n = 0;
    for (let k = Math.max(1, points.length - LONGEST / 2 + 1); k < points.length; k++) {
      const [a, b] = [points[k - 1], points[k]];
      if (a && b) { place.setXYZ(n++, a[0], a[1], a[2] + 0.004); place.setXYZ(n++, b[0], b[1], b[2] + 0.004); }
    }
    place.needsUpdate = true;
    trace.geometry.setDrawRange(0, n);
  }

  arrow(arrow, point, force, wanted) {
    const size = Math.hypot(...force);
    arrow.visible = wanted && size > 1 && point.every(Number.isFinite);
    if (!arrow.visible) return;
    arrow.position.set(...point);
    arrow.setDirection(new this.three.Vector3(...force).divideScalar(size));
    arrow.setLength(FORCE_LENGTH * size, 0.08, 0.05);
  }
}

// A ring along points on a circle.
function rim(solids, points, thick, colour) {
  const centre = points.reduce((sum, p) => add(sum, p), [0, 0, 0]).map((x) => x / points.length);
  const first = add(points[0], centre, -1), second = add(points[Math.floor(points.length / 4)], centre, -1);
  solids.ring(centre, unit(cross(first, second)), Math.hypot(...first) - thick, thick, colour);
}
