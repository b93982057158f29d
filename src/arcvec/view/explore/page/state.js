// What is shown, kept in the address, so that a link opens the same view again.

const SIDES = ["source", "target"];

export class State {
  constructor() {
    this.read();
  }

  read() {
    const kept = new URLSearchParams(location.hash.slice(1));
    this.node = kept.get("node");
    this.direction = kept.get("direction") === "sources" ? "sources" : "targets";
    this.colour = kept.get("colour");
    this.views = Object.fromEntries(SIDES.map((side) => [side, readView(kept.get(side))]));
  }

  /** Write the address: a new entry of the history for a new node, else in place of the last. */
  write({ isNew = false } = {}) {
    const kept = new URLSearchParams();
    if (this.node !== null) kept.set("node", this.node);
    if (this.direction !== "targets") kept.set("direction", this.direction);
    if (this.colour) kept.set("colour", this.colour);
    for (const side of SIDES) if (this.views[side]) kept.set(side, writeView(this.views[side]));
    const address = `#${kept}`;
    if (address === (location.hash || "#")) return;
    history[isNew ? "pushState" : "replaceState"](null, "", address);
  }
}

function readView(text) {
  const numbers = (text ?? "").split(",").map(Number);
  if (numbers.length !== 3 || !numbers.every(Number.isFinite) || numbers[2] <= 0) return null;
  return { x: numbers[0], y: numbers[1], half: numbers[2] };
}

function writeView({ x, y, half }) {
  return [x, y, half].map((value) => Number(value.toPrecision(6))).join(",");
}
