// The machine in three dimensions, by three.js where it came with the package and WebGL works.
import { triples } from "./vectors.js";

const SKY = 0xdfeaf4, GHOST = 0x56789a, LONGEST = 3000;

export class WebglPicture {
  constructor(canvas) {
    this.three = globalThis.draisineVendor;
    if (!this.three) throw new Error("the bundle of three.js is not installed");
    const probe = document.createElement("canvas");
    if (!probe.getContext("webgl2")) throw new Error("this browser offers no WebGL");
    const T = this.three;
    this.canvas = canvas;
    this.renderer = new T.WebGLRenderer({ canvas, antialias: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = T.PCFShadowMap;
    this.camera = new T.PerspectiveCamera(45, 1, 0.05, 400);
    this.camera.up.set(0, 0, 1);
  }

  describe(scene) {
    const T = this.three;
    this.scene = scene;
    this.world = new T.Scene();
    this.world.background = new T.Color(SKY);
    this.world.fog = new T.Fog(SKY, 30 * scene.machine.size, 90 * scene.machine.size);
    this.world.add(new T.HemisphereLight(0xffffff, 0x8899aa, 2.0));
    this.sun = this.newSun();
    this.world.add(this.sun, this.sun.target);
    this.newGround();
    this.bodies = this.newMachine(null);
    this.ghosts = this.newMachine(GHOST);
    this.traces = scene.machine.contacts.map((_, k) => this.newTrace(k));
    this.arrows = scene.machine.contacts.map(() => this.newArrow());
  }

  newSun() {
    const sun = new this.three.DirectionalLight(0xffffff, 1.6), reach = 2.5 * this.scene.machine.size;
    sun.castShadow = true;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1, far: 30 });
    return sun;
  }

  material(colour) { return new this.three.MeshLambertMaterial({ color: colour, side: this.three.DoubleSide }); }

  // --- the ground: squares of one cell, and faces of a terrain

  newGround() {
    const T = this.three, { cell, patches } = this.scene.ground;
    if (patches.length) return patches.forEach((patch) => this.newPatch(patch));
    const squares = document.createElement("canvas");
    squares.width = squares.height = 64;
    const pen = squares.getContext("2d");
    ["#e9edf0", "#dbe1e6"].forEach((colour, k) => {
      pen.fillStyle = colour;
      pen.fillRect(0, 32 * k, 32, 32);
      pen.fillRect(32, 32 * (1 - k), 32, 32);
    });
    const texture = new T.CanvasTexture(squares), wide = 200 * cell;
    texture.wrapS = texture.wrapT = T.RepeatWrapping;
    texture.repeat.set(100, 100);
    this.floor = new T.Mesh(new T.PlaneGeometry(wide, wide), new T.MeshLambertMaterial({ map: texture }));
    this.floor.receiveShadow = true;
    this.world.add(this.floor);
  }

  newPatch(patch) {
    const T = this.three, corners = triples(patch.outline), flat = [];
    for (let k = 1; k + 1 < corners.length; k++) flat.push(...corners[0], ...corners[k], ...corners[k + 1]);
    const shape = new T.BufferGeometry();
    shape.setAttribute("position", new T.Float32BufferAttribute(flat, 3));
    shape.computeVertexNormals();
    const grey = patch.grey / 255, face = new T.Mesh(shape, this.material(new T.Color(grey, grey, grey)));
    face.receiveShadow = true;
    const lines = new T.BufferGeometry();
    lines.setAttribute("position", new T.Float32BufferAttribute(raised(patch), 3));
    this.world.add(face, new T.LineSegments(lines, new T.LineBasicMaterial({ color: 0x8a97a3 })));
  }

  // --- the machine: tubes along its lines, rings for rims, balls for masses

  newMachine(colour) {
    const T = this.three, { bodies, parts, balls, size } = this.scene.machine;
    const groups = bodies.map(() => new T.Group());
    for (const part of parts) {
      const points = triples(part.points), thick = 0.0035 * size * part.width;
      const paint = this.material(colour ?? part.colour);
      if (part.kind === "rim") groups[part.body].add(this.ring(points, thick, paint));
      else for (let k = 1; k < points.length; k++) groups[part.body].add(this.rod(points[k - 1], points[k], thick, paint));
    }
    for (const ball of balls) {
      const mesh = new T.Mesh(new T.SphereGeometry(ball.radius, 20, 14), this.material(colour ?? ball.colour));
      mesh.position.set(...ball.centre);
      groups[ball.body].add(mesh);
    }
    for (const group of groups) {
      group.matrixAutoUpdate = false;
      group.traverse((one) => { one.castShadow = colour === null; });
      group.visible = colour === null;
      this.world.add(group);
    }
    return groups;
  }

  rod(a, b, thick, paint) {
    const T = this.three, from = new T.Vector3(...a), to = new T.Vector3(...b), along = to.clone().sub(from);
    const rod = new T.Mesh(new T.CylinderGeometry(thick, thick, along.length() || 1e-6, 8), paint);
    rod.position.copy(from).addScaledVector(along, 0.5);
    rod.quaternion.setFromUnitVectors(new T.Vector3(0, 1, 0), along.normalize());
    return rod;
  }

  ring(points, thick, paint) {
    const T = this.three, all = points.slice(0, -1).map((p) => new T.Vector3(...p));
    const centre = all.reduce((sum, p) => sum.add(p), new T.Vector3()).divideScalar(all.length);
    const first = all[0].clone().sub(centre), second = all[Math.floor(all.length / 4)].clone().sub(centre);
    const ring = new T.Mesh(new T.TorusGeometry(first.length() - thick, thick, 10, 60), paint);
    ring.position.copy(centre);
    ring.quaternion.setFromUnitVectors(new T.Vector3(0, 0, 1), first.cross(second).normalize());
    return ring;
  }

  newTrace(k) {
    const T = this.three, shape = new T.BufferGeometry();
    shape.setAttribute("position", new T.Float32BufferAttribute(new Float32Array(3 * LONGEST), 3));
    const trace = new T.LineSegments(shape, new T.LineBasicMaterial({ color: ["#0072B2", "#D55E00"][k % 2] }));
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
    this.resize();
    this.move(this.bodies, poses);
    this.ghosts.forEach((group) => { group.visible = Boolean(ghost); });
    if (ghost) this.move(this.ghosts, ghost);
    tracks.forEach((track, k) => this.trace(this.traces[k], track.points));
    frame.contacts.forEach((point, k) => this.arrow(this.arrows[k], point, frame.forces[k], show.arrows));
    const [x, y, z] = poses[0].p, { cell } = this.scene.ground;
    if (this.floor) this.floor.position.set(2 * cell * Math.round(x / (2 * cell)), 2 * cell * Math.round(y / (2 * cell)), 0);
    this.sun.castShadow = show.shadow;
    this.sun.position.set(x - 3, y - 2, z + 9);
    this.sun.target.position.set(x, y, z);
    this.camera.up.set(...view.up);
    this.camera.position.set(...view.eye);
    this.camera.lookAt(...view.target);
    this.renderer.render(this.world, this.camera);
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (this.wide === w && this.high === h) return;
    [this.wide, this.high] = [w, h];
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
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
    arrow.setLength(0.001 * size, 0.08, 0.05);
  }
}

// The lines on a patch, a little above it.
const raised = ({ lines, normal }) => lines.map((x, k) => x + 0.002 * normal[k % 3]);
