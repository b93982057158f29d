// The explorer: brings what the server says, what the address says and what is drawn together.

import { Nodes, getColours, getJson } from "./data.js";
import { Details } from "./details.js";
import { Legend } from "./legend.js";
import { Overlay } from "./overlay.js";
import { Pace } from "./pace.js";
import { Panel } from "./panel.js";
import { Search } from "./search.js";
import { State } from "./state.js";
import { setUpTheme, style } from "./theme.js";

const FIRST = 10; // predictions at first
const MOST = 50;

class Explorer {
  constructor(result, nodes) {
    this.result = result;
    this.nodes = nodes;
    this.state = new State();
    this.scene = { selected: null, mine: "source", theirs: "target", known: [], predicted: [], hovered: null };
    this.count = FIRST;
    this.pace = new Pace(() => this.redrawAll());
    const sides = result.one_space ? ["target"] : ["source", "target"];
    document.getElementById("spaces").classList.toggle("single", result.one_space);
    document.getElementById("source").hidden = result.one_space;
    this.panels = {};
    for (const side of sides) this.panels[side] = new Panel(side, nodes, result.boxes[side], this.handlers(side));
    this.overlay = new Overlay(this.panels);
    this.legend = new Legend(result);
    this.details = new Details(result, {
      chosen: (name) => this.select(name),
      pointed: (name) => this.hover(name === null ? null : (nodes.id(name) ?? null)),
      cleared: () => this.select(null),
      more: () => { this.count = MOST; this.look(); },
    });
    this.search = new Search((name) => this.select(name));
    this.setUpControls();
  }

  handlers(side) {
    return {
      picked: (id) => this.select(this.nodes.names[id]),
      hovered: (id, event) => this.hover(id, event, side),
      moved: () => this.redraw(),
    };
  }

  setUpControls() {
    const { result, state } = this;
    const directions = document.getElementById("directions");
    directions.hidden = !result.directed;
    directions.addEventListener("change", (event) => {
      state.direction = event.target.value;
      this.count = FIRST;
      this.look();
      state.write();
    });
    const select = document.getElementById("colouring");
    select.append(...result.colourings.map(({ name }) => new Option(name, name)));
    select.addEventListener("change", () => { state.colour = select.value; this.colour(); state.write(); });
    setUpTheme(() => this.redrawAll());
    window.addEventListener("hashchange", () => { state.read(); this.apply(); });
    window.addEventListener("popstate", () => { state.read(); this.apply(); });
    document.addEventListener("keydown", (event) => this.type(event));
  }

  type(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=text], select, textarea");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      this.search.focus();
    } else if (event.key === "Escape" && !typing && this.state.node !== null) {
      this.select(null);
    }
  }

  /** Show what the address says. */
  async apply() {
    const { state, result } = this;
    if (!result.colourings.some(({ name }) => name === state.colour)) state.colour = result.colourings[0].name;
    if (!result.directed) state.direction = "targets";
    document.querySelector(`#directions input[value=${state.direction}]`).checked = true;
    document.getElementById("colouring").value = state.colour;
    for (const [side, panel] of Object.entries(this.panels)) {
      if (state.views[side]) panel.setView(state.views[side]);
      else panel.showAll();
    }
    await Promise.all([this.colour(), this.look()]);
  }

  async colour() {
    const asked = this.state.colour;
    const colours = await getColours(asked, this.nodes.count);
    if (asked !== this.state.colour) return;
    for (const [side, panel] of Object.entries(this.panels)) panel.points.colour(colours[side]);
    this.legend.show(asked);
    this.redrawAll();
  }

  select(name) {
    if (name === this.state.node) return;
    this.state.node = name;
    this.count = FIRST;
    this.state.write({ isNew: true });
    this.look();
  }

  /** Ask about the selected node, and show it. */
  async look() {
    const { node, direction } = this.state;
    const { one_space: single } = this.result;
    const [mine, theirs] = single ? ["target", "target"] : direction === "targets" ? ["source", "target"] : ["target", "source"];
    const selected = node === null ? null : (this.nodes.id(node) ?? null);
    this.scene = { ...this.scene, selected, mine, theirs, known: [], predicted: [], hovered: null };
    for (const panel of Object.values(this.panels)) panel.faded = selected !== null;
    this.legend.mark(selected !== null);
    this.redrawAll();
    if (node === null) return void this.begin();
    this.details.wait(node);
    if (selected !== null && !this.panels[mine].isHome) this.panels[mine].show(selected);
    try {
      if (selected === null) await getJson("/v1/nodes", { name: node }); // which offers close names
      await this.fetchEdges(node, direction);
    } catch (error) {
      this.details.fail(node, `${error.message[0].toUpperCase()}${error.message.slice(1)}.`);
    }
  }

  async fetchEdges(node, direction) {
    const [{ nodes: [facts] }, { recommendations: predictions }, known] = await Promise.all([
      getJson("/v1/nodes", { name: node }),
      getJson("/v1/recommend", { node, direction, k: this.count }),
      getJson("/explore/edges", { node, direction }),
    ]);
    if (node !== this.state.node || direction !== this.state.direction) return;
    const ids = (edges) => edges.map((edge) => this.nodes.id(edge.node)).filter((id) => id !== undefined);
    this.scene = { ...this.scene, known: ids(known.edges), predicted: ids(predictions) };
    const mayGrow = this.count < MOST && predictions.length === this.count;
    this.details.show({ facts, direction, predictions, known, mayGrow });
    document.getElementById("said").textContent = `${node}: ${predictions.length} predictions, ${known.total} known edges`;
    this.redraw();
  }

  async begin() {
    this.details.welcome([]);
    const { nodes } = await getJson("/v1/nodes", { limit: 8 });
    if (this.state.node === null) this.details.welcome(nodes.map(({ name }) => name));
  }

  hover(id, event = null, side = null) {
    const tip = document.getElementById("tip");
    tip.hidden = id === null || event === null;
    if (!tip.hidden) {
      const { element } = this.panels[side];
      tip.textContent = this.nodes.names[id] || "(no name)";
      tip.style.left = `${Math.min(element.offsetLeft + event.offsetX + 14, this.overlay.element.clientWidth - tip.offsetWidth - 4)}px`;
      tip.style.top = `${element.offsetTop + event.offsetY + 16}px`;
    }
    if (id === this.scene.hovered) return;
    this.scene.hovered = id;
    this.redraw();
  }

  redrawAll() {
    for (const panel of Object.values(this.panels)) panel.isStale = true;
    this.redraw();
  }

  /** Draw what changed before the next frame, however often this is called until then. */
  redraw() {
    if (this.waiting || !this.overlay) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const { scene, nodes } = this;
    const grain = Math.max(...Object.values(this.panels).map((panel) => panel.homeGrain));
    for (const panel of Object.values(this.panels)) if (panel.isHome) panel.goHome(grain);
    for (const [side, panel] of Object.entries(this.panels)) {
      const cone = this.result.exact && scene.selected !== null && side === scene.theirs ? this.direction() : null;
      if (panel.isStale) {
        panel.drawBack(style, cone);
        panel.draw(panel.isMoving ? this.pace.frame() : 1);
        [panel.isStale, panel.isMoving] = [false, false];
      }
      this.state.views[side] = panel.isHome ? null : panel.view;
    }
    this.overlay.draw(scene, style, nodes.names);
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.state.write(), 250);
  }

  /** The vector whose products with the other side are the scores of the selected node. */
  direction() {
    const { mine, selected } = this.scene;
    const places = this.nodes.places[this.result.one_space ? "source" : mine];
    return [places[2 * selected], places[2 * selected + 1]];
  }
}

function describe(result) {
  const number = (value) => value.toLocaleString("en");
  const edges = result.num_edges === null ? "" : ` · ${number(result.num_edges)} edges`;
  document.getElementById("title").textContent = result.title;
  document.title = `${result.title} · arcvec`;
  document.getElementById("facts").textContent = `${number(result.num_nodes)} nodes${edges} · dim ${result.dim}`;
  const shown = result.exact ? "two numbers, as learned" : "best projection";
  for (const side of ["source", "target"]) {
    const words = document.createElement("small");
    words.textContent = shown;
    const title = document.getElementById(`${side}-title`);
    if (result.one_space) title.textContent = "Nodes";
    title.append(words);
  }
}

async function start() {
  const loading = document.getElementById("loading");
  try {
    const result = await getJson("/explore/result");
    describe(result);
    const explorer = new Explorer(result, await Nodes.load(result.num_nodes));
    await explorer.apply();
    loading.hidden = true;
  } catch (error) {
    loading.classList.add("failed");
    loading.lastElementChild.textContent = `The result could not be shown: ${error.message}`;
    throw error;
  }
}

start();
