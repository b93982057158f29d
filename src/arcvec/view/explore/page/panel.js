// One space: what is seen of it, and how it is moved, zoomed and pointed at.

import { makePoints } from "./points.js";

const NEAR = 12; // pixels from a dot that still mean it
const CLOSEST = 1e-4; // of the whole space

export class Panel {
  /** `handlers`: picked(id), hovered(id or null, event), moved(). */
  constructor(side, nodes, box, handlers) {
    this.side = side;
    this.nodes = nodes;
    this.box = box; // least x, least y, largest x, largest y of what is worth seeing first
    this.limit = Math.max(box[2] - box[0], box[3] - box[1]) / 2;
    this.handlers = handlers;
    this.element = document.getElementById(side);
    this.canvas = this.element.querySelector(".points");
    this.back = this.element.querySelector(".back");
    this.points = makePoints(this.canvas, nodes, side);
    this.view = { x: 0, y: 0, half: this.limit };
    this.isHome = true;
    this.isStale = true; // must be drawn again
    this.pointers = new Map();
    this.faded = false;
    this.addButtons();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.resize();
  }

  /** Units of the space for one pixel, if all of the box shall be seen. */
  get homeGrain() {
    const [left, low, right, high] = this.box;
    return 1.12 * Math.max((right - left) / this.width, (high - low) / Math.max(this.height - 40, 1));
  }

  /** Show all of the box; other panels ask for their grain, so that distances compare. */
  goHome(grain) {
    const [left, low, right, high] = this.box;
    const half = (grain * Math.min(this.width, this.height)) / 2;
    this.isStale ||= half !== this.view.half;
    this.view = { x: (left + right) / 2, y: (low + high) / 2 + 20 * grain, half };
  }

  get places() {
    return this.nodes.places[this.side];
  }

  /** Pixels for one unit of the space. */
  get unit() {
    return Math.min(this.width, this.height) / 2 / this.view.half;
  }

  /** Where a point of the space is in the panel, in pixels. */
  pixel(x, y) {
    return [
      this.width / 2 + (x - this.view.x) * this.unit,
      this.height / 2 - (y - this.view.y) * this.unit,
    ];
  }

  pixelOf(id) {
    return this.pixel(this.places[2 * id], this.places[2 * id + 1]);
  }

  isSeen([across, down]) {
    return across >= 0 && down >= 0 && across <= this.width && down <= this.height;
  }

  /** Move so far that a node is well inside the view. */
  show(id) {
    const [across, down] = this.pixelOf(id);
    const margin = 30;
    const inside = across > margin && down > margin && across < this.width - margin && down < this.height - margin;
    if (!inside) this.setView({ ...this.view, x: this.places[2 * id], y: this.places[2 * id + 1] });
  }

  setView(view) {
    const half = Math.min(Math.max(view.half, this.limit * CLOSEST), this.limit * 20);
    this.view = { x: view.x, y: view.y, half };
    this.isHome = false;
    this.isMoving = true;
    this.change();
  }

  zoom(factor, across = this.width / 2, down = this.height / 2) {
    const { x, y, half } = this.view;
    const fixed = [x + (across - this.width / 2) / this.unit, y - (down - this.height / 2) / this.unit];
    const next = Math.min(Math.max(half / factor, this.limit * CLOSEST), this.limit * 20);
    const share = next / half;
    this.setView({ x: fixed[0] + (x - fixed[0]) * share, y: fixed[1] + (y - fixed[1]) * share, half: next });
  }

  showAll() {
    this.isHome = true;
    this.change();
  }

  change() {
    this.isStale = true;
    this.handlers.moved();
  }

  pan(across, down) {
    const { x, y, half } = this.view;
    this.setView({ x: x - across / this.unit, y: y + down / this.unit, half });
  }

  resize() {
    this.width = this.element.clientWidth;
    this.height = this.element.clientHeight;
    this.ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.back]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    this.change();
  }

  /** Draw a part of the dots. */
  draw(part) {
    const many = this.nodes.count;
    const alpha = Math.min(0.92, Math.max(0.5, 60 / Math.sqrt(many)));
    const grow = Math.min(3.2, Math.max(0.8, (this.limit / this.view.half) ** 0.3));
    this.points.draw({
      ...this.view, unit: this.unit, width: this.width, height: this.height, ratio: this.ratio,
      grow, part, alpha: this.faded ? alpha * 0.38 : alpha,
    });
  }

  /** Draw the axes, and where products with a direction are positive. */
  drawBack(style, direction) {
    const context = this.back.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const [across, down] = this.pixel(0, 0);
    if (direction) this.drawCone(context, style, direction, across, down);
    context.strokeStyle = style("--axis");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, Math.round(down) + 0.5);
    context.lineTo(this.width, Math.round(down) + 0.5);
    context.moveTo(Math.round(across) + 0.5, 0);
    context.lineTo(Math.round(across) + 0.5, this.height);
    context.stroke();
  }

  drawCone(context, style, [x, y], across, down) {
    const length = Math.hypot(x, y);
    if (length === 0) return;
    const reach = this.width + this.height + Math.hypot(across, down);
    context.save();
    context.translate(across, down);
    context.rotate(-Math.atan2(y, x));
    context.fillStyle = style("--cone");
    context.fillRect(0, -reach, reach, 2 * reach);
    context.strokeStyle = style("--known");
    context.globalAlpha = 0.45;
    context.setLineDash([5, 5]);
    context.beginPath();
    context.moveTo(0, -reach);
    context.lineTo(0, reach);
    context.stroke();
    context.restore();
  }

  /** The node nearest to a place in the panel, or null if none is near. */
  nearest(across, down) {
    const { places, unit } = this;
    const x = this.view.x + (across - this.width / 2) / unit;
    const y = this.view.y - (down - this.height / 2) / unit;
    let best = null;
    let least = (NEAR / unit) ** 2;
    const { order } = this.nodes;
    for (let i = order[this.side].length - 1; i >= 0; i -= 1) {
      const id = order[this.side][i]; // those on top first
      const distance = (places[2 * id] - x) ** 2 + (places[2 * id + 1] - y) ** 2;
      if (distance < least) [best, least] = [id, distance];
    }
    return best;
  }

  addButtons() {
    const words = { "+": ["Zoom in", () => this.zoom(1.6)], "−": ["Zoom out", () => this.zoom(1 / 1.6)], "⤢": ["Show all", () => this.showAll()] };
    for (const [sign, [label, act]] of Object.entries(words)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sign;
      button.title = label;
      button.setAttribute("aria-label", `${label}, ${this.side} space`);
      button.addEventListener("click", act);
      this.element.querySelector(".zoom").append(button);
    }
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.handlers.hovered(null));
    canvas.addEventListener("dblclick", (event) => this.zoom(2.2, event.offsetX, event.offsetY));
    canvas.addEventListener("keydown", (event) => this.type(event));
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.travelled = this.pointers.size > 1 ? Infinity : 0;
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.handlers.hovered(this.nearest(event.offsetX, event.offsetY), event);
      return;
    }
    const now = [event.offsetX, event.offsetY];
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    if (others.length) {
      const gap = (place) => Math.hypot(place[0] - others[0][0], place[1] - others[0][1]);
      this.zoom(gap(now) / Math.max(gap(before), 1), (now[0] + others[0][0]) / 2, (now[1] + others[0][1]) / 2);
    } else {
      this.travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (this.travelled > 4) this.canvas.classList.add("dragging");
      if (this.travelled > 4) this.pan(now[0] - before[0], now[1] - before[1]);
    }
    this.pointers.set(event.pointerId, now);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("dragging");
    if (this.travelled > 4) return;
    const id = this.nearest(event.offsetX, event.offsetY);
    if (id !== null) this.handlers.picked(id);
  }

  type(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.showAll();
    else return;
    event.preventDefault();
  }
}
