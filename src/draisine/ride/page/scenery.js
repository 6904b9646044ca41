// What surrounds the ride: sky, hills, grass, a road with lane marks, trees and posts, faces of a terrain, and the
// cones and marks of a task.
import { Solids } from "./solids.js";
import { triples } from "./vectors.js";

const SKY = { high: 0x5f9bd1, low: 0xe3edf4 }, GRASS = "#86a860", HILLS = ["#9db8ae", "#7fa08a"];
const ROAD_HALF = 3.5, DASH = 6, REACH = 240;      // half width of the road, period of its marks, drawn length each way, m
const STEEP = 0.3;   // largest normal z of a face that is painted as an obstacle
const ROAD_TINTS = [[0.06, 0xcfe6f5], [0.3, 0xf1f4f6], [0.6, 0xb9c0c8]];   // up to which friction: ice, snow, wet

export class Scenery {
  constructor(three, world, scene, road) {
    this.three = three;
    this.world = world;
    this.scene = scene;
    this.moving = [];
    this.newSky();
    if (scene.ground.patches.length) this.newTerrain(scene.ground.patches);
    else if (road) this.newRoad();
    else this.newFloor();
    if (scene.marks) this.newMarks(scene.marks);
  }

  // --- far away

  newSky() {
    const T = this.three, { up } = this.scene.machine, sky = new T.SphereGeometry(600, 24, 16, 0, 2 * Math.PI, 0, 0.55 * Math.PI), paint = [];
    const high = new T.Color(SKY.high), low = new T.Color(SKY.low), { position } = sky.attributes;
    for (let k = 0; k < position.count; k++) {
      const mix = low.clone().lerp(high, Math.min(1, Math.max(0, position.getY(k) / 420)));
      paint.push(mix.r, mix.g, mix.b);
    }
    sky.setAttribute("color", new T.Float32BufferAttribute(paint, 3));
    const dome = new T.Mesh(sky, new T.MeshBasicMaterial({ vertexColors: true, side: T.BackSide, fog: false, depthWrite: false }));
    dome.rotation.x = Math.PI / 2;
    dome.renderOrder = -9;
    this.far = new T.Group();
    this.far.quaternion.setFromUnitVectors(new T.Vector3(0, 0, 1), new T.Vector3(...up));
    this.far.add(dome, this.newHills());
    this.world.add(this.far);
  }

  newHills() {
    const T = this.three, solids = new Solids(T), n = 120;
    HILLS.forEach((colour, k) => {
      const radius = 520 - 60 * k, height = (a) => (26 - 10 * k) * (1.1 + Math.sin(3 * a + k) + 0.6 * Math.sin(7 * a + 2 * k) + 0.3 * Math.sin(17 * a));
      for (let i = 0; i < n; i++) {
        const [a, b] = [i, i + 1].map((j) => (2 * Math.PI * j) / n);
        const at = (angle, z) => [radius * Math.cos(angle), radius * Math.sin(angle), z];
        solids.polygon([at(a, -40), at(b, -40), at(b, Math.max(2, height(b))), at(a, Math.max(2, height(a)))], [0, 0, 1], colour);
      }
    });
    const hills = new T.Mesh(solids.geometry(), new T.MeshBasicMaterial({ vertexColors: true, side: T.DoubleSide, fog: false, depthWrite: false }));
    hills.renderOrder = -8;
    return hills;
  }

  // --- level ground: layers are drawn one over the other, so that marks need no height

  layer(mesh, order) {
    mesh.renderOrder = order;
    mesh.material.depthWrite = false;
    mesh.receiveShadow = true;
    this.world.add(mesh);
    return mesh;
  }

  newRoad() {
    const T = this.three, plane = (wide, long) => new T.PlaneGeometry(long, wide);
    const grass = new T.MeshLambertMaterial({ map: this.noise(GRASS, 26, 2 * REACH / 8) });
    this.road = new T.MeshLambertMaterial({ map: this.noise("#8b9095", 18, 2 * REACH / 4, (2 * ROAD_HALF) / 4) });
    const marks = new Solids(T), rectangle = (x, y, long, wide, colour) => marks.polygon([[x, y - wide / 2, 0], [x + long, y - wide / 2, 0], [x + long, y + wide / 2, 0], [x, y + wide / 2, 0]], [0, 0, 1], colour);
    for (const side of [-1, 1]) rectangle(-REACH, side * (ROAD_HALF - 0.25), 2 * REACH, 0.12, "#f4f4ee");
    for (let x = -REACH; x < REACH; x += DASH) rectangle(x, 0, DASH / 2, 0.12, "#f4f4ee");
    this.follow(this.layer(new T.Mesh(plane(2 * REACH, 2 * REACH), grass), -4), 8, 8);
    this.follow(this.layer(new T.Mesh(plane(2 * ROAD_HALF, 2 * REACH), this.road), -3), 12, 0);
    this.follow(this.layer(marks.mesh(), -2), 12, 0);
    if (!this.scene.marks?.rings) this.newVerge();   // rings reach beyond the road
  }

  // Trees and posts beside the road; they repeat, so that they can follow the ride.
  newVerge() {
    const T = this.three, solids = new Solids(T), period = 48;
    for (let x = -96; x < 144; x += 12) for (const y of [-ROAD_HALF - 0.6, ROAD_HALF + 0.6]) {
      solids.tube([x, y, 0], [x, y, 0.85], 0.05, "#f5f5f5", 0.05, 6).tube([x, y, 0.6], [x, y, 0.75], 0.055, "#c0392b", 0.055, 6);
    }
    for (let k = 0; k < 40; k++) {
      // The same eight trees in each period, at fixed but irregular places.
      const j = k % 8, y = (j % 2 ? 1 : -1) * (11 + ((j * 37) % 23)), x = Math.floor(k / 8) * period - 96 + ((j * 29) % period), high = 3 + ((j * 13) % 5) / 2;
      solids.tube([x, y, 0], [x, y, 0.45 * high], 0.16, "#75553b", 0.12, 6);
      for (const [share, radius] of [[0.3, 1.15], [0.62, 0.8]]) solids.tube([x, y, share * high], [x, y, (share + 0.55) * high], radius, j % 3 ? "#4f7d4a" : "#5f8f55", 0.05, 8);
    }
    this.trees = solids.mesh();
    this.world.add(this.trees);
    this.follow(this.trees, period, 0);
  }

  // Squares for machines of other sizes.
  newFloor() {
    const T = this.three, { cell } = this.scene.ground, squares = document.createElement("canvas"), pen = squares.getContext("2d");
    squares.width = squares.height = 64;
    ["#e9edf0", "#dbe1e6"].forEach((colour, k) => {
      pen.fillStyle = colour;
      pen.fillRect(0, 32 * k, 32, 32);
      pen.fillRect(32, 32 * (1 - k), 32, 32);
    });
    const material = new T.MeshLambertMaterial({ map: this.repeated(squares, 100, 100) });
    this.follow(this.layer(new T.Mesh(new T.PlaneGeometry(200 * cell, 200 * cell), material), -3), 2 * cell, 2 * cell);
  }

  // A square of a colour with grain, as a repeated texture.
  noise(colour, grain, across, along = across) {
    const tile = document.createElement("canvas"), pen = tile.getContext("2d");
    tile.width = tile.height = 128;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 128, 128);
    const pixels = pen.getImageData(0, 0, 128, 128);
    let seed = 1;
    for (let k = 0; k < pixels.data.length; k += 4) {
      seed = (seed * 48271) % 2147483647;   // the same grain in every picture
      for (let c = 0; c < 3; c++) pixels.data[k + c] += grain * (seed / 2147483647 - 0.5);
    }
    pen.putImageData(pixels, 0, 0);
    return this.repeated(tile, across, along);
  }

  repeated(canvas, across, along) {
    const T = this.three, texture = new T.CanvasTexture(canvas);
    texture.wrapS = texture.wrapT = T.RepeatWrapping;
    texture.repeat.set(across, along);
    texture.colorSpace = T.SRGBColorSpace;
    texture.anisotropy = 4;
    return texture;
  }

  follow(mesh, x, y) { this.moving.push({ mesh, x, y }); }

  // --- terrain: faces as grass with a road over them, steep ones striped

  newTerrain(patches) {
    const T = this.three, grass = new Solids(T), road = new Solids(T), marks = new Solids(T), steep = new Solids(T);
    for (const { outline, normal } of patches) {
      const corners = triples(outline);
      if (Math.abs(normal[2]) < STEEP) { stripes(steep, corners, normal); continue; }
      grass.polygon(corners, normal, GRASS);
      const strip = (low, high) => clipped(clipped(corners, 1, low, 1), 1, high, -1);
      road.polygon(strip(-ROAD_HALF, ROAD_HALF), normal, "#8b9095");
      for (const side of [-1, 1]) marks.polygon(strip(side * (ROAD_HALF - 0.25) - 0.06, side * (ROAD_HALF - 0.25) + 0.06), normal, "#f4f4ee");
      const middle = strip(-0.06, 0.06), xs = middle.map(([x]) => x), [first, last] = [Math.min(...xs), Math.max(...xs)];
      for (let x = Math.floor(first / DASH) * DASH; middle.length && x < last; x += DASH) marks.polygon(clipped(clipped(middle, 0, x, 1), 0, x + DASH / 2, -1), normal, "#f4f4ee");
    }
    const raised = (k) => ({ polygonOffset: true, polygonOffsetFactor: -k, polygonOffsetUnits: -k });
    // Beyond the described faces, level grass at the height of the lowest one.
    const lowest = Math.min(...patches.flatMap(({ outline }) => outline.filter((_, k) => k % 3 === 2)));
    const beyond = new T.Mesh(new T.PlaneGeometry(1000, 1000), new T.MeshLambertMaterial({ color: GRASS }));
    beyond.position.z = lowest - 0.02;
    this.layer(beyond, -4);
    const meshes = [grass.mesh(), road.mesh(raised(2)), marks.mesh(raised(4)), steep.mesh()];
    this.road = meshes[1].material;
    for (const mesh of meshes) {
      mesh.receiveShadow = true;
      this.world.add(mesh);
    }
  }

  // --- a task: cones, lines, lanes and rings on the ground

  newMarks({ cones = [], boxes = [], rings = [] }) {
    const T = this.three, paint = new Solids(T), solids = new Solids(T);
    for (const { x, y, long, wide, z = 0, colour } of boxes) paint.polygon([[x, y, z], [x + long, y, z], [x + long, y + wide, z], [x, y + wide, z]], [0, 0, 1], colour);
    for (const { centre: [x, y], inner, outer, colour } of rings) {
      const at = (angle, r) => [x + r * Math.cos(angle), y + r * Math.sin(angle), 0];
      for (let k = 0; k < 96; k++) {
        const [a, b] = [k, k + 1].map((j) => (2 * Math.PI * j) / 96);
        paint.polygon([at(a, inner), at(b, inner), at(b, outer), at(a, outer)], [0, 0, 1], colour);
      }
    }
    for (const [x, y] of cones) {
      solids.tube([x, y, 0], [x, y, 0.5], 0.13, "#e8590c", 0.025, 16).tube([x, y, 0.2], [x, y, 0.32], 0.091, "#ffffff", 0.066, 16);
      solids.tube([x, y, 0], [x, y, 0.03], 0.2, "#e8590c", 0.2, 4);
    }
    // On a terrain, faces are drawn in no fixed order: marks come last, a little nearer than the faces.
    const order = this.scene.ground.patches.length ? 1 : -1;
    if (paint.index.length) this.layer(paint.mesh({ polygonOffset: true, polygonOffsetFactor: -6, polygonOffsetUnits: -6 }), order);
    if (!solids.index.length) return;
    const mesh = solids.mesh();
    mesh.castShadow = true;
    this.world.add(mesh);
  }

  // --- a frame

  // Follow the ride at a place, with a friction coefficient and as many details as fit.
  show([x, y, z], mu, details) {
    for (const one of this.moving) {
      if (one.x) one.mesh.position.x = one.x * Math.round(x / one.x);
      if (one.y) one.mesh.position.y = one.y * Math.round(y / one.y);
    }
    this.far.position.set(x, y, this.scene.ground.patches.length ? 0.5 * z : 0);
    if (this.trees) this.trees.visible = details;
    if (this.road && mu !== this.mu) {
      this.mu = mu;
      this.road.color.set((ROAD_TINTS.find(([most]) => mu <= most) ?? [0, 0xffffff])[1]);
    }
  }
}

// The part of a convex polygon on one side (1: above, -1: below) of a value of a coordinate.
function clipped(corners, axis, value, side) {
  const over = (p) => side * (p[axis] - value);
  return corners.flatMap((a, k) => {
    const b = corners[(k + 1) % corners.length], [s, t] = [over(a), over(b)], kept = s >= 0 ? [a] : [];
    return s * t < 0 ? [...kept, a.map((x, i) => x + (s / (s - t)) * (b[i] - x))] : kept;
  });
}

// A steep face in red and white, each a metre wide on the road and grey beside it.
function stripes(solids, corners, normal) {
  const ys = corners.map(([, y]) => y), [low, high] = [Math.min(...ys), Math.max(...ys)];
  const bounds = [low, ...Array.from({ length: 2 * ROAD_HALF + 1 }, (_, k) => k - ROAD_HALF), high];
  bounds.slice(1).forEach((end, k) => {
    const colour = k === 0 || k === bounds.length - 2 ? "#9aa0a5" : ["#d64541", "#f5f5f5"][k % 2];
    const strip = clipped(clipped(corners, 1, bounds[k], 1), 1, end, -1);
    if (strip.length > 2) solids.polygon(strip, normal, colour);
  });
}
