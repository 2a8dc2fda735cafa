/** Tabs for a board's windows: one stop for the Tab key, arrows between them. */

import { make } from "./row.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export class Tabs {
  /** `choose` is called with the name of the window that was chosen; `panel` is what the tabs switch. */
  constructor(panel, choose) {
    this.panel = panel;
    this.choose = choose;
    this.root = make("div", "tabs");
    this.root.setAttribute("role", "tablist");
    this.root.hidden = true;
    this.root.addEventListener("click", ({ target }) => target.dataset.window && this.#pick(target));
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.addEventListener("scroll", () => this.#edges(), { passive: true });
    new ResizeObserver(() => this.#edges()).observe(this.root);
  }

  /** Offer windows by their names; a single one needs no tab. */
  offer(windows, wording) {
    const focused = this.root.getRootNode().activeElement?.dataset?.window;
    this.root.setAttribute("aria-label", wording.say("windows"));
    this.root.replaceChildren(...windows.map((name) => this.#tab(name, wording)));
    this.root.hidden = windows.length < 2;
    this.select(this.selected);
    if (focused) this.#of(focused)?.focus();
  }

  select(name) {
    this.selected = name;
    for (const tab of this.root.children) {
      const chosen = tab.dataset.window === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.part = chosen ? "tab selected" : "tab";
      tab.tabIndex = chosen ? 0 : -1;
    }
    const tab = this.#of(name);
    if (!tab && this.root.firstElementChild) this.root.firstElementChild.tabIndex = 0;
    this.#labelPanel(this.root.hidden ? undefined : tab);
    this.#reveal(tab);
  }

  #labelPanel(tab) {
    if (tab) {
      this.panel.setAttribute("role", "tabpanel");
      this.panel.setAttribute("aria-labelledby", tab.id);
    } else {
      this.panel.removeAttribute("role");
      this.panel.removeAttribute("aria-labelledby");
    }
  }

  /** Scroll within the tabs only: the page stays where it is. */
  #reveal(tab) {
    if (tab) this.root.scrollTo({ left: tab.offsetLeft - (this.root.clientWidth - tab.clientWidth) / 2, behavior: "instant" });
  }

  /** Let the sides fade behind which there are more tabs. */
  #edges() {
    const { scrollLeft, scrollWidth, clientWidth } = this.root;
    const [passed, room] = [Math.abs(scrollLeft), scrollWidth - clientWidth];
    const mirrored = getComputedStyle(this.root).direction === "rtl";
    this.root.classList.toggle(mirrored ? "more-after" : "more-before", passed > 2);
    this.root.classList.toggle(mirrored ? "more-before" : "more-after", room - passed > 2);
  }

  #tab(name, wording) {
    const tab = make("button", "tab", wording.window(name));
    Object.assign(tab, { type: "button", id: `tab-${name}` });
    tab.dataset.window = name;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", this.panel.id);
    return tab;
  }

  #of(name) {
    return [...this.root.children].find((tab) => tab.dataset.window === name);
  }

  #pick(tab) {
    tab.focus({ preventScroll: true });
    if (tab.dataset.window !== this.selected) this.choose(tab.dataset.window);
  }

  #key(event) {
    const tabs = [...this.root.children];
    const at = tabs.indexOf(event.target);
    const next = { Home: 0, End: tabs.length - 1 }[event.key] ?? this.#step(event.key, at, tabs.length);
    if (at < 0 || next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#pick(tabs[next]);
  }

  #step(key, at, length) {
    if (!(key in STEPS)) return undefined;
    const mirrored = key === "ArrowLeft" || key === "ArrowRight" ? getComputedStyle(this.root).direction === "rtl" : false;
    return (at + (mirrored ? -STEPS[key] : STEPS[key]) + length) % length;
  }
}
