// The side of the page: the selected node in words, its predictions, its known edges.

const SHOWN = 60; // known edges listed at first

export class Details {
  /** `handlers`: chosen(name), pointed(name or null), cleared(), more(). */
  constructor(result, handlers) {
    this.result = result;
    this.handlers = handlers;
    this.element = document.getElementById("details");
    this.element.addEventListener("keydown", (event) => this.type(event));
  }

  /** Say how to begin; `first` are nodes to begin with. */
  welcome(first) {
    const box = make("div", "welcome");
    box.append(
      make("h2", "", "Pick a node"),
      make("p", "empty", "Click a dot, or search for a name: you will see its known edges and where the result expects new ones."),
    );
    if (first.length) {
      const chips = make("div", "chips");
      chips.append(...first.map((name) => this.nodeButton(name, "")));
      const words = this.result.has_graph ? "Those of most edges:" : "Some to begin with:";
      box.append(make("p", "quiet", words), chips);
    }
    const keys = make("dl", "keys");
    for (const [key, words] of [["/", "search"], ["↑ ↓", "go through a list"], ["Esc", "clear the node"], ["+ − 0", "zoom the space in focus, show all"], ["← ↑ ↓ →", "move it"]]) {
      const term = make("dt");
      term.append(make("kbd", "", key));
      keys.append(term, make("dd", "", words));
    }
    box.append(keys);
    this.element.replaceChildren(box);
  }

  /** Show a node at once; its lists follow when they come. */
  wait(name) {
    this.element.replaceChildren(this.heading(name), make("p", "empty", "Looking for its edges …"));
  }

  fail(name, words) {
    this.element.replaceChildren(this.heading(name ?? "No such node"), make("p", "empty", words));
  }

  show({ facts, direction, predictions, known, mayGrow }) {
    const parts = [this.heading(facts.name)];
    if (facts.out_degree !== null) parts.push(this.degrees(facts));
    parts.push(this.predicted(predictions, direction, mayGrow), this.known(known, direction));
    this.element.replaceChildren(...parts);
  }

  heading(name) {
    const box = make("div", "heading");
    const buttons = make("div", "buttons");
    const copy = make("button", "text-button", "Copy link");
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(location.href).catch(() => {});
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy link"; }, 1500);
    });
    const clear = make("button", "text-button", "Clear");
    clear.addEventListener("click", () => this.handlers.cleared());
    buttons.append(copy, clear);
    box.append(make("h2", "", name || "(no name)"), buttons);
    return box;
  }

  degrees(facts) {
    const list = make("dl", "facts");
    const pairs = this.result.directed
      ? [["Known targets", facts.out_degree], ["Known sources", facts.in_degree]]
      : [["Known neighbours", facts.out_degree]];
    for (const [term, value] of pairs) {
      const part = make("div");
      part.append(make("dt", "", term), make("dd", "", value.toLocaleString("en")));
      list.append(part);
    }
    return list;
  }

  predicted(predictions, direction, mayGrow) {
    const words = this.result.directed ? { targets: "Predicted targets", sources: "Predicted sources" }[direction] : "Predicted edges";
    const section = this.section(words, "score", "predictions");
    if (!predictions.length) section.append(make("p", "empty", "No candidates: every other node is known already."));
    else section.append(this.rows(predictions, "rows predicted"));
    if (mayGrow) {
      const more = make("button", "text-button", "Show more");
      more.addEventListener("click", () => this.handlers.more());
      section.append(more);
    }
    return section;
  }

  known(known, direction) {
    const words = this.result.directed ? { targets: "Known targets", sources: "Known sources" }[direction] : "Known edges";
    if (!this.result.has_graph) {
      const section = this.section(words, "", "known");
      section.append(make("p", "empty", "Start with --graph to see known edges, and to keep them out of the predictions."));
      return section;
    }
    const section = this.section(words, `${known.total.toLocaleString("en")} in all, by score`, "known");
    if (!known.total) section.append(make("p", "empty", "None in the graph."));
    else section.append(this.rows(known.edges.slice(0, SHOWN), "rows"));
    const hidden = known.total - Math.min(known.edges.length, SHOWN);
    if (hidden > 0) section.append(make("p", "quiet", `and ${hidden.toLocaleString("en")} of lower score`));
    return section;
  }

  section(title, remark, id) {
    const section = make("section");
    section.id = id;
    const heading = make("h3", "", title);
    heading.id = `${id}-title`;
    section.setAttribute("aria-labelledby", heading.id);
    heading.append(make("small", "", remark));
    section.append(heading);
    return section;
  }

  rows(edges, kind) {
    const list = make("ol", kind);
    const most = Math.max(...edges.map((edge) => edge.score ?? 0), 0);
    edges.forEach((edge, place) => {
      const item = make("li");
      const button = this.nodeButton(edge.node, "");
      button.tabIndex = place === 0 ? 0 : -1; // arrow keys lead to the others
      button.replaceChildren(make("span", "rank", String(place + 1)), make("span", "name", edge.node || "(no name)"), make("span", "score", edge.score === null ? "–" : edge.score.toFixed(3)));
      button.setAttribute("aria-label", `${place + 1}: ${edge.node}, score ${edge.score}`);
      if (most > 0) button.append(measure((edge.score ?? 0) / most));
      item.append(button);
      list.append(item);
    });
    return list;
  }

  nodeButton(name, kind) {
    const button = make("button", kind, name || "(no name)");
    button.type = "button";
    button.dataset.node = name;
    button.addEventListener("click", () => this.handlers.chosen(name));
    for (const event of ["mouseenter", "focus"]) button.addEventListener(event, () => this.handlers.pointed(name));
    for (const event of ["mouseleave", "blur"]) button.addEventListener(event, () => this.handlers.pointed(null));
    return button;
  }

  type(event) {
    const list = event.target.closest(".rows");
    if (!list) return;
    const buttons = [...list.querySelectorAll("button")];
    const place = buttons.indexOf(event.target);
    const places = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: buttons.length - 1 };
    if (!(event.key in places)) return;
    event.preventDefault();
    const next = buttons[Math.min(Math.max(places[event.key], 0), buttons.length - 1)];
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  }
}

function measure(part) {
  const whole = make("span", "measure");
  const bar = make("i");
  bar.style.width = `${Math.max(0, 100 * part)}%`;
  whole.append(bar);
  return whole;
}

function make(tag, kind = "", text = null) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  if (text !== null) element.textContent = text;
  if (tag === "button") element.type = "button";
  return element;
}
