/** The list: the best, and below them the user with his neighbours. */

import { fade, glide } from "./glide.js";
import { Row, make } from "./row.js";

const SPEED_MS = 600;
const SKELETONS = 5;

export class List {
  constructor() {
    this.rows = new Map();
    this.top = make("tbody", "top");
    this.pinned = make("tbody", "pinned");
    this.table = make("table", "table", this.#head(), this.top, this.pinned);
    this.layer = make("div", "leaving");
    this.layer.setAttribute("aria-hidden", "true");
    this.root = make("div", "list", this.table, this.layer);
    this.table.setAttribute("role", "table");
    for (const body of [this.top, this.pinned]) body.setAttribute("role", "rowgroup");
    this.pinned.hidden = true;
    new ResizeObserver(() => this.#reachable()).observe(this.root);
  }

  get isEmpty() {
    return this.rows.size === 0;
  }

  label(wording, heading) {
    this.table.setAttribute("aria-label", heading);
    for (const cell of this.heads) cell.textContent = wording.say(cell.dataset.text);
  }

  /** Show entries; `quiet` where they are another ranking's, so that nobody has moved. */
  show({ entries, pinned }, how) {
    const wanted = [...entries, ...pinned];
    const staying = new Set(wanted.map((entry) => entry.user_id));
    const speed = this.#speed();
    const isFirst = this.isEmpty;
    this.#clearSkeletons();
    glide(() => [...this.rows.values()].map((row) => row.root), () => {
      this.#drop(staying, speed);
      this.#fill(this.top, entries, how, isFirst);
      this.#fill(this.pinned, pinned, how, true);
      this.pinned.hidden = pinned.length === 0;
      this.#alignScores();
    }, { speed, enters: !isFirst });
    this.#reachable();
  }

  /** Show that entries are on their way. */
  wait() {
    if (!this.isEmpty || this.top.childElementCount) return;
    this.top.replaceChildren(...Array.from({ length: SKELETONS }, () => make("tr", "skeleton")));
    for (const row of this.top.children) row.setAttribute("aria-hidden", "true");
  }

  clear() {
    this.rows.clear();
    this.top.replaceChildren();
    this.pinned.replaceChildren();
    this.pinned.hidden = true;
  }

  #clearSkeletons() {
    for (const row of this.top.querySelectorAll(".skeleton")) row.remove();
  }

  #drop(staying, speed) {
    for (const [id, row] of this.rows) {
      if (staying.has(id)) continue;
      this.rows.delete(id);
      fade(row.root, this.layer, speed);
    }
  }

  #fill(body, entries, how, isFirst) {
    entries.forEach((entry, index) => {
      const known = this.rows.get(entry.user_id);
      const row = known ?? new Row(entry.user_id);
      this.rows.set(entry.user_id, row);
      if (how.quiet) row.clearMove();
      row.show(entry, how.of(entry));
      if (!known && !isFirst && !how.quiet) row.showMove(how.climbed(entry), how.wording);
      if (body.children[index] !== row.root) body.insertBefore(row.root, body.children[index] ?? null);
    });
  }

  /** Give all scores the width of the longest, so that what stands beside them is in line. */
  #alignScores() {
    const longest = Math.max(0, ...[...this.rows.values()].map((row) => row.written.length));
    this.table.style.setProperty("--digits", `${longest}ch`);
  }

  /** A list that scrolls must be reachable by keyboard. */
  #reachable() {
    if (this.root.scrollHeight > this.root.clientHeight + 1) this.root.tabIndex = 0;
    else this.root.removeAttribute("tabindex");
  }

  #speed() {
    const chosen = Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--ll-speed"));
    return Number.isFinite(chosen) ? chosen : SPEED_MS;
  }

  #head() {
    this.heads = ["rank", "player", "change", "score"].map((text) => {
      const cell = make("th", "");
      cell.setAttribute("role", "columnheader");
      cell.scope = "col";
      cell.dataset.text = text;
      return cell;
    });
    const row = make("tr", "", ...this.heads);
    const head = make("thead", "hidden", row);
    row.setAttribute("role", "row");
    head.setAttribute("role", "rowgroup");
    return head;
  }
}
