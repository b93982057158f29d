// What is drawn above the dots: the selected node, its edges, the names of its predictions.

const MOST_LINES = 200;

export class Overlay {
  constructor(panels) {
    this.panels = panels;
    this.canvas = document.getElementById("overlay");
    this.element = document.getElementById("spaces");
  }

  /** `scene`: selected id, panel sides `mine` and `theirs`, ids `known` and `predicted`, hovered id. */
  draw(scene, style, names) {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (scene.selected !== null) this.drawSelected(context, scene, style, names);
    if (scene.hovered !== null) {
      for (const side of Object.keys(this.panels)) this.ring(context, side, scene.hovered, 8, style("--ink"), 1.6);
    }
  }

  drawSelected(context, scene, style, names) {
    const from = this.place(scene.mine, scene.selected);
    const [known, predicted] = [style("--known"), style("--predicted")];
    const faint = Math.max(0.16, Math.min(0.7, 5 / Math.sqrt(scene.known.length || 1)));
    for (const id of scene.known.slice(0, MOST_LINES)) this.edge(context, from, scene.theirs, id, known, 1, faint);
    for (const id of [...scene.predicted].reverse()) this.edge(context, from, scene.theirs, id, predicted, 1.8, 0.85);
    for (const id of scene.known) this.dot(context, scene.theirs, id, 2.6, known, style("--card"));
    for (const id of scene.predicted) this.dot(context, scene.theirs, id, 4.6, predicted, style("--card"));
    if (scene.mine !== scene.theirs) this.ring(context, scene.theirs, scene.selected, 7, style("--quiet"), 1.6);
    this.dot(context, scene.mine, scene.selected, 7, style("--ink"), style("--card"));
    const taken = [];
    this.label(context, scene.mine, scene.selected, names[scene.selected], style, style("--ink"), taken, "600 14px ");
    for (const id of scene.predicted) this.label(context, scene.theirs, id, names[id], style, predicted, taken, "500 12.5px ");
  }

  /** Where a node is in the whole drawing; null if it is out of its panel's view. */
  place(side, id) {
    const panel = this.panels[side];
    const pixel = panel.pixelOf(id);
    if (!panel.isSeen(pixel)) return null;
    return [panel.element.offsetLeft + 1 + pixel[0], panel.element.offsetTop + 1 + pixel[1]];
  }

  edge(context, from, side, id, colour, width, alpha) {
    const to = this.place(side, id);
    if (!from || !to) return;
    const bend = Math.min(60, Math.hypot(to[0] - from[0], to[1] - from[1]) * 0.12);
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(...from);
    context.quadraticCurveTo((from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - bend, ...to);
    context.stroke();
    context.globalAlpha = 1;
  }

  dot(context, side, id, radius, colour, rim) {
    const place = this.place(side, id);
    if (!place) return;
    context.beginPath();
    context.arc(...place, radius, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = 1.2;
    context.strokeStyle = rim;
    context.stroke();
  }

  ring(context, side, id, radius, colour, width) {
    const place = this.place(side, id);
    if (!place) return;
    context.beginPath();
    context.arc(...place, radius, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  /** Write a name beside its dot where there is room; a name without room is left out. */
  label(context, side, id, name, style, colour, taken, font) {
    const place = this.place(side, id);
    if (!place) return;
    const text = name.length > 28 ? `${name.slice(0, 27)}…` : name;
    context.font = font + getComputedStyle(document.body).fontFamily;
    const width = context.measureText(text).width;
    const panel = this.panels[side].element;
    const right = panel.offsetLeft + panel.clientWidth;
    for (const [across, down] of [[9, 4], [-9 - width, 4], [-width / 2, -11], [-width / 2, 20], [9, -9], [9, 17], [-9 - width, -9], [-9 - width, 17]]) {
      const box = [place[0] + across - 3, place[1] + down - 12, place[0] + across + width + 3, place[1] + down + 4];
      const inside = box[0] > panel.offsetLeft + 4 && box[2] < right - 4 && box[1] > panel.offsetTop + 4;
      if (!inside || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      context.lineWidth = 3.5;
      context.lineJoin = "round";
      context.strokeStyle = style("--halo");
      context.strokeText(text, place[0] + across, place[1] + down);
      context.fillStyle = colour;
      context.fillText(text, place[0] + across, place[1] + down);
      return;
    }
  }
}

function overlap(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}
