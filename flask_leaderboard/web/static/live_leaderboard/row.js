/** One row of the list. Names come from players: they are text, and never anything else. */

import { count } from "./glide.js";
import { climbed } from "./ranking.js";

const MOVE_SHOWN_MS = 12_000;
const LONG = 11;
const SEEN = /[^\s\p{C}\p{M}\p{Z}]/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

export function make(tag, part, ...children) {
  const element = document.createElement(tag);
  if (part) Object.assign(element, { className: part, part });
  element.append(...children);
  return element;
}

export class Row {
  constructor(user_id) {
    this.rank = make("span", "rank");
    this.avatar = make("span", "avatar");
    this.name = make("bdi", "name");
    this.you = make("span", "you");
    this.move = make("span", "move");
    this.score = make("span", "score");
    this.avatar.setAttribute("aria-hidden", "true");
    this.name.dir = "auto";
    this.you.hidden = true;
    this.root = make("tr", "row", ...this.#cells());
    this.root.setAttribute("role", "row");
    this.root.style.setProperty("--hue", hueOf(user_id));
    this.user_id = user_id;
    this.entry = null;
  }

  /** Show an entry; `share` is how its score compares with the leader's (0 to 1), `own` whether it is the user's. */
  show(entry, { wording, write, own, share, picture, quiet }) {
    const before = this.entry;
    this.entry = entry;
    const name = SEEN.test(entry.user_name ?? "") ? entry.user_name : entry.user_id;
    if (this.name.textContent !== name) this.#rename(name);
    this.rank.textContent = wording.write(entry.rank);
    this.root.part = ["row", own && "own", entry.rank <= 3 && `medal-${entry.rank}`].filter(Boolean).join(" ");
    this.root.className = this.root.part.value;
    this.root.style.setProperty("--share", share);
    if (own) this.root.setAttribute("aria-current", "true");
    else this.root.removeAttribute("aria-current");
    this.you.hidden = !own;
    this.you.textContent = wording.say("you");
    this.#picture(picture);
    this.#score(before?.score, entry.score, write);
    if (before && before.rank !== entry.rank && !quiet) this.showMove(climbed(before.rank, entry.rank), wording);
  }

  /** Tell how far the entry has moved (null: it is new), for a while. */
  showMove(places, wording) {
    const up = places === null || places > 0;
    const told = places === null ? wording.say("entered") : wording.say(up ? "up" : "down", { count: Math.abs(places) });
    const sign = make("span", "", places === null ? "★" : `${up ? "▲" : "▼"} ${wording.write(Math.abs(places))}`);
    sign.setAttribute("aria-hidden", "true");
    this.move.replaceChildren(sign, make("span", "hidden", told));
    this.move.className = this.move.part = `move ${up ? "up" : "down"}`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.clearMove(), MOVE_SHOWN_MS);
  }

  clearMove() {
    clearTimeout(this.timer);
    this.move.replaceChildren();
  }

  #cells() {
    const player = make("div", "player", this.avatar, make("div", "title", this.name, this.you));
    return [["rank", this.rank], ["player", player], ["move", this.move], ["score", this.score]].map(([kind, child]) => {
      const cell = make("td", "", child);
      cell.className = `cell-${kind}`;
      cell.setAttribute("role", "cell");
      return cell;
    });
  }

  #rename(name) {
    this.name.textContent = this.name.title = name;
    const [first] = graphemes.segment(name.replace(/^[\s\p{P}\p{C}\p{Sm}\p{Sk}]+/u, "") || name);
    this.initial = first ? initialOf(first.segment) : "";
    if (!this.shown) this.avatar.textContent = this.initial;
  }

  #picture(url) {
    if (url === this.shown) return;
    this.shown = url;
    if (!url) return void (this.avatar.textContent = this.initial);
    const image = make("img", "");
    Object.assign(image, { alt: "", loading: "lazy", referrerPolicy: "no-referrer", src: url });
    image.onerror = () => (this.avatar.textContent = this.initial);
    this.avatar.replaceChildren(image);
  }

  #score(from, to, write) {
    const text = write(to);
    this.root.classList.toggle("long", text.length > LONG);
    if (this.written === text) return;
    this.written = text;
    if (from === undefined) return void (this.score.textContent = text);
    count(from, to, (value) => {
      if (this.written !== text) return false; // a newer one is on its way
      this.score.textContent = write(value);
      return true;
    });
  }
}

/** A sign may be stacked with marks without end: of such a one its base is enough. */
function initialOf(grapheme) {
  return (grapheme.length > LONG ? String.fromCodePoint(grapheme.codePointAt(0)) : grapheme).toLocaleUpperCase();
}

/** Give every user a colour that stays. */
function hueOf(text) {
  let hash = 0;
  for (const sign of text) hash = (hash * 31 + sign.codePointAt(0)) >>> 0;
  return Math.round(hash * 137.508) % 360; // the golden angle keeps neighbours apart
}
