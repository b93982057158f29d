// Many dots at once: by WebGL where there is any, else on a plain canvas.

const VERTEX = `#version 300 es
in vec2 place; in vec3 colour; in float diameter;
uniform vec2 centre; uniform vec2 scale; uniform float pixels;
out vec3 tint; out float radius;
void main() {
  gl_Position = vec4((place - centre) * scale, 0.0, 1.0);
  gl_PointSize = max(1.5, diameter * pixels) + 1.0;
  radius = gl_PointSize * 0.5;
  tint = colour;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 tint; in float radius;
uniform float alpha;
out vec4 shade;
void main() {
  float inside = clamp((0.5 - length(gl_PointCoord - 0.5)) * radius * 2.0, 0.0, 1.0);
  if (inside <= 0.0) discard;
  shade = vec4(tint, 1.0) * alpha * inside;
}`;

/** Return what draws the dots of one side. */
export function makePoints(canvas, nodes, side) {
  const gl = canvas.getContext("webgl2", { premultipliedAlpha: true, antialias: false });
  return gl ? new GlPoints(gl, nodes, side) : new PlainPoints(canvas, nodes, side);
}

class GlPoints {
  constructor(gl, nodes, side) {
    this.gl = gl;
    this.count = nodes.count;
    const program = compile(gl);
    gl.useProgram(program);
    this.where = (name) => gl.getUniformLocation(program, name);
    this.attribute(program, "place", nodes.places[side], 2, gl.FLOAT, false);
    this.attribute(program, "diameter", nodes.diameters[side], 1, gl.UNSIGNED_BYTE, false);
    this.colourBuffer = this.attribute(program, "colour", new Uint8Array(3 * nodes.count), 3, gl.UNSIGNED_BYTE, true);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, nodes.order[side], gl.STATIC_DRAW);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  attribute(program, name, values, size, kind, normalised) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const place = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, kind, normalised, 0, 0);
    return buffer;
  }

  colour(values) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colourBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  /** Draw a part of the dots, those of most edges if not all. */
  draw({ x, y, unit, width, height, ratio, grow, alpha, part }) {
    const { gl } = this;
    gl.viewport(0, 0, width * ratio, height * ratio);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.where("centre"), x, y);
    gl.uniform2f(this.where("scale"), (2 * unit) / width, (2 * unit) / height);
    gl.uniform1f(this.where("pixels"), (grow * ratio) / 16);
    gl.uniform1f(this.where("alpha"), alpha);
    const drawn = Math.ceil(this.count * part);
    gl.drawElements(gl.POINTS, drawn, gl.UNSIGNED_INT, 4 * (this.count - drawn));
  }
}

function compile(gl) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return program;
}

class PlainPoints {
  constructor(canvas, nodes, side) {
    this.context = canvas.getContext("2d");
    this.places = nodes.places[side];
    this.order = nodes.order[side];
    this.diameters = nodes.diameters[side];
  }

  colour(values) {
    this.styles = Array.from({ length: this.order.length }, (_, id) =>
      `rgb(${values[3 * id]} ${values[3 * id + 1]} ${values[3 * id + 2]})`);
  }

  draw({ x, y, unit, width, height, ratio, grow, alpha, part }) {
    const { context, places } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.styles) return;
    context.globalAlpha = alpha;
    const drawn = Math.ceil(this.order.length * part);
    for (const id of this.order.subarray(this.order.length - drawn)) {
      const across = width / 2 + (places[2 * id] - x) * unit;
      const down = height / 2 - (places[2 * id + 1] - y) * unit;
      if (across < -8 || down < -8 || across > width + 8 || down > height + 8) continue;
      const size = Math.max(1.2, (this.diameters[id] * grow) / 16);
      context.fillStyle = this.styles[id];
      context.fillRect(across - size / 2, down - size / 2, size, size);
    }
  }
}
