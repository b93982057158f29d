// What the page asks the server for.

/** Return the JSON at a path; an error says what the server said. */
export async function getJson(path, query = {}) {
  const response = await fetch(address(path, query));
  const value = await response.json();
  if (!response.ok) throw new Error(value.error ?? `${path}: status ${response.status}`);
  return value;
}

async function getBytes(path, query = {}) {
  const response = await fetch(address(path, query));
  if (!response.ok) throw new Error((await response.json()).error);
  return response.arrayBuffer();
}

function address(path, query) {
  const asked = new URLSearchParams(query).toString();
  return asked ? `${path}?${asked}` : path;
}

/** All nodes: names, places, order of drawing and diameters of both sides. */
export class Nodes {
  static async load(count) {
    const [names, places] = await Promise.all([
      fetch("/explore/names").then((response) => response.text()),
      getBytes("/explore/places"),
    ]);
    return new Nodes(names, places, count);
  }

  constructor(text, buffer, count) {
    this.count = count;
    this.names = text.split("\n").slice(0, count).map(unescape);
    const part = (kind, start, length) => new kind(buffer, start, length);
    const sides = (kind, start, length, bytes) => ({
      source: part(kind, start, length),
      target: part(kind, start + length * bytes, length),
    });
    this.places = sides(Float32Array, 0, 2 * count, 4);
    this.order = sides(Uint32Array, 16 * count, count, 4);
    this.diameters = sides(Uint8Array, 24 * count, count, 1);
  }

  /** The id of a name; undefined if there is no such node. */
  id(name) {
    this.ids ??= new Map(this.names.map((one, id) => [one, id]));
    return this.ids.get(name);
  }
}

function unescape(line) {
  if (!line.includes("\\")) return line;
  return line.split("\\\\").map((part) => part.replaceAll("\\n", "\n").replaceAll("\\r", "\r")).join("\\");
}

/** Three bytes for each node of both sides. */
export async function getColours(name, count) {
  const buffer = await getBytes("/explore/colours", { by: name });
  return {
    source: new Uint8Array(buffer, 0, 3 * count),
    target: new Uint8Array(buffer, 3 * count, 3 * count),
  };
}
