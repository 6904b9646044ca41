// Solids of one colour each, merged into one mesh: what moves together costs one draw call.
export class Solids {
  constructor(three) {
    this.three = three;
    this.positions = [];
    this.normals = [];
    this.colours = [];
    this.index = [];
  }

  // Add a geometry of three.js, moved by a matrix, in a colour.
  add(geometry, matrix, colour) {
    const T = this.three, first = this.positions.length / 3, paint = new T.Color(colour);
    geometry.applyMatrix4(matrix);
    const { position, normal } = geometry.attributes;
    this.positions.push(...position.array);
    this.normals.push(...normal.array);
    for (let k = 0; k < position.count; k++) this.colours.push(paint.r, paint.g, paint.b);
    for (const corner of geometry.index.array) this.index.push(first + corner);
    geometry.dispose();
    return this;
  }

  // A tube between two points, with its radii at both.
  tube(a, b, radius, colour, end = radius, sides = 10) {
    const T = this.three, from = new T.Vector3(...a), along = new T.Vector3(...b).sub(from), length = along.length() || 1e-6;
    const turn = new T.Quaternion().setFromUnitVectors(new T.Vector3(0, 1, 0), along.divideScalar(length));
    const matrix = new T.Matrix4().compose(from.addScaledVector(along, length / 2), turn, new T.Vector3(1, 1, 1));
    return this.add(new T.CylinderGeometry(end, radius, length, sides), matrix, colour);
  }

  // Tubes along a line of points, with balls at its corners.
  pipe(points, radius, colour) {
    for (let k = 1; k < points.length; k++) this.tube(points[k - 1], points[k], radius, colour);
    for (const point of points.slice(1, -1)) this.ball(point, radius, colour);
    return this;
  }

  ball(centre, radius, colour, stretch = [1, 1, 1]) {
    const T = this.three, matrix = new T.Matrix4().compose(new T.Vector3(...centre), new T.Quaternion(), new T.Vector3(...stretch));
    return this.add(new T.SphereGeometry(radius, 16, 12), matrix, colour);
  }

  // A ring around an axis through its centre.
  ring(centre, axis, radius, thick, colour) {
    const T = this.three, turn = new T.Quaternion().setFromUnitVectors(new T.Vector3(0, 0, 1), new T.Vector3(...axis));
    const matrix = new T.Matrix4().compose(new T.Vector3(...centre), turn, new T.Vector3(1, 1, 1));
    return this.add(new T.TorusGeometry(radius, thick, 10, 56), matrix, colour);
  }

  // Polygons with straight edges, as fans from their first corner.
  polygon(corners, normal, colour) {
    const T = this.three, first = this.positions.length / 3, paint = new T.Color(colour);
    for (const corner of corners) {
      this.positions.push(...corner);
      this.normals.push(...normal);
      this.colours.push(paint.r, paint.g, paint.b);
    }
    for (let k = 1; k + 1 < corners.length; k++) this.index.push(first, first + k, first + k + 1);
    return this;
  }

  geometry() {
    const T = this.three, geometry = new T.BufferGeometry();
    geometry.setAttribute("position", new T.Float32BufferAttribute(this.positions, 3));
    geometry.setAttribute("normal", new T.Float32BufferAttribute(this.normals, 3));
    geometry.setAttribute("color", new T.Float32BufferAttribute(this.colours, 3));
    geometry.setIndex(this.index);
    return geometry;
  }

  mesh(options = {}) {
    const T = this.three;
    return new T.Mesh(this.geometry(), new T.MeshLambertMaterial({ vertexColors: true, side: T.DoubleSide, ...options }));
  }
}
