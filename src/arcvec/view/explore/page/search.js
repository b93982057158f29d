// The search box: names that start so, chosen by keys or by a click.

import { getJson } from "./data.js";

const WAIT = 90; // milliseconds after the last key

export class Search {
  constructor(chosen) {
    this.chosen = chosen;
    this.input = document.getElementById("search");
    this.list = document.getElementById("matches");
    this.found = [];
    this.active = -1;
    this.input.addEventListener("input", () => this.later());
    this.input.addEventListener("focus", () => this.later());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.type(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[data-place]");
      if (item) this.choose(Number(item.dataset.place));
    });
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), WAIT);
  }

  async look() {
    const prefix = this.input.value;
    const answer = await getJson("/v1/nodes", { prefix, limit: 12 }).catch(() => ({ nodes: [] }));
    if (prefix !== this.input.value || document.activeElement !== this.input) return;
    this.found = answer.nodes;
    this.active = this.found.length && prefix ? 0 : -1;
    this.show(answer.more);
  }

  show(more) {
    const items = this.found.map((node, place) => option(node, place));
    if (!items.length) items.push(remark("No node starts so."));
    else if (more) items.push(remark("Go on typing for others …"));
    this.list.replaceChildren(...items);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
  }

  mark() {
    for (const item of this.list.querySelectorAll("[data-place]")) {
      const isActive = Number(item.dataset.place) === this.active;
      item.setAttribute("aria-selected", String(isActive));
      if (isActive) item.scrollIntoView({ block: "nearest" });
    }
    if (this.active < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `match-${this.active}`);
  }

  close() {
    clearTimeout(this.timer);
    this.list.hidden = true;
    this.active = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  choose(place) {
    const node = this.found[place];
    if (!node) return;
    this.input.value = "";
    this.close();
    this.input.blur();
    this.chosen(node.name);
  }

  async type(event) {
    const count = this.found.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.list.hidden) return void this.look();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (count) this.active = (this.active + step + count) % count;
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      clearTimeout(this.timer);
      if (this.list.hidden || !count) await this.look();
      this.choose(Math.max(this.active, 0));
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (this.input.value) {
        this.input.value = "";
        this.later();
      } else {
        this.close();
        this.input.blur();
      }
    }
  }
}

function option(node, place) {
  const item = document.createElement("li");
  item.id = `match-${place}`;
  item.dataset.place = place;
  item.setAttribute("role", "option");
  const name = document.createElement("span");
  name.textContent = node.name || "(no name)";
  item.append(name);
  if (node.out_degree !== null) {
    const edges = document.createElement("span");
    edges.className = "quiet";
    edges.textContent = `${node.out_degree.toLocaleString("en")} out · ${node.in_degree.toLocaleString("en")} in`;
    item.append(edges);
  }
  return item;
}

function remark(words) {
  const item = document.createElement("li");
  item.className = "none";
  item.setAttribute("role", "presentation");
  item.textContent = words;
  return item;
}
