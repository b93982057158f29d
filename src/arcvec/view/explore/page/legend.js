// What colours and lines mean.

export class Legend {
  constructor(result) {
    this.result = result;
    this.element = document.getElementById("legend");
    this.marks = document.createElement("div");
    this.marks.className = "marks";
    const words = [["predicted", "predicted"], ["", "known"], ...(result.exact ? [["cone", "positive product"]] : [])];
    for (const [kind, text] of words) this.marks.append(span(`mark ${kind}`, text));
    this.mark(false);
  }

  show(name) {
    const { note, ramp, ends, swatches } = this.result.colourings.find((one) => one.name === name);
    const parts = [span("", note)];
    if (ramp.length) parts.push(bar(ramp, ends));
    for (const [colour, words] of swatches) {
      const swatch = span("swatch", words);
      const dot = span("dot", "");
      dot.style.background = colour;
      swatch.prepend(dot);
      parts.push(swatch);
    }
    this.element.replaceChildren(...parts, this.marks);
  }

  /** Explain lines while there are any. */
  mark(isShown) {
    this.marks.hidden = !isShown;
  }
}

function bar(ramp, ends) {
  const box = span("ramp", "");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [120, 9];
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `from ${ends[0]} to ${ends[1]}`);
  const context = canvas.getContext("2d");
  const gradient = context.createLinearGradient(0, 0, 120, 0);
  ramp.forEach((colour, i) => gradient.addColorStop(i / (ramp.length - 1), colour));
  context.fillStyle = gradient;
  context.fillRect(0, 0, 120, 9);
  box.append(span("", ends[0]), canvas, span("", ends[1]));
  return box;
}

function span(kind, text) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  return element;
}
