// How many dots a frame may have while the view moves: all, or fewer where drawing is slow.

const SLOW = 45; // milliseconds between frames
const QUICK = 22;
const LEAST = 0.06;
const REST = 160; // milliseconds after which the view is at rest

export class Pace {
  /** `settled`: called when the view is at rest and all dots shall be drawn. */
  constructor(settled) {
    this.settled = settled;
    this.part = 1;
    this.last = -Infinity;
  }

  /** Return the part of the dots to draw in this frame of a movement. */
  frame() {
    const now = performance.now();
    const gap = now - this.last;
    this.last = now;
    if (gap > SLOW && gap < 1000) this.part = Math.max(LEAST, this.part * Math.max(0.4, SLOW / gap));
    else if (gap < QUICK) this.part = Math.min(1, this.part * 1.1);
    clearTimeout(this.timer);
    if (this.part < 1) this.timer = setTimeout(this.settled, REST);
    return this.part;
  }
}
