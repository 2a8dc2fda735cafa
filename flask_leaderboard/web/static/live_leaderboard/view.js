/** Everything that is seen: heading, state, tabs, list, messages. */

import { List } from "./list.js";
import { climbed } from "./ranking.js";
import { make } from "./row.js";
import { sheet } from "./styles.js";
import { Tabs } from "./tabs.js";

export class View {
  constructor(root, { choose, retry }) {
    root.adoptedStyleSheets = [sheet];
    this.heading = make("div", "heading");
    this.heading.id = "heading";
    this.heading.setAttribute("role", "heading");
    this.period = make("div", "period");
    this.dot = make("span", "dot");
    this.stateText = make("span", "");
    this.state = make("div", "state", this.dot, this.stateText);
    this.list = new List();
    this.message = make("div", "message");
    this.message.hidden = true;
    this.panel = make("div", "panel", this.list.root, this.message);
    this.panel.id = "panel";
    this.tabs = new Tabs(this.panel, choose);
    this.footer = make("div", "footer");
    this.announcer = make("div", "hidden");
    this.announcer.setAttribute("role", "status");
    this.retry = make("button", "retry");
    this.retry.type = "button";
    this.retry.addEventListener("click", retry);
    root.append(this.#card());
  }

  #card() {
    const header = make("div", "header", make("div", "titles", this.heading, this.period), this.state);
    const card = make("section", "card", header, this.tabs.root, this.panel, this.footer, this.announcer);
    card.setAttribute("aria-labelledby", "heading");
    return card;
  }

  label(heading, level, wording) {
    this.heading.textContent = heading;
    this.heading.setAttribute("aria-level", /^[1-6]$/.test(level) ? level : "2");
    this.list.label(wording, heading);
  }

  offer(windows, wording) {
    this.tabs.offer(windows, wording);
  }

  /** Show that another ranking is on its way: the one before stays, dimmed, until it is here. */
  wait(window, wording) {
    if (window) this.tabs.select(window);
    this.panel.setAttribute("aria-busy", "true");
    this.list.wait();
    if (!this.message.hidden) this.#clear();
    this.footer.textContent ||= wording.say("loading");
  }

  tell(state, wording) {
    this.state.hidden = state === "off";
    this.state.className = this.state.part = `state ${state}`;
    this.stateText.textContent = wording.say(state);
  }

  announce(text) {
    this.announcer.textContent = text;
  }

  show({ ranking, own, user, pinned, quiet, oldRanks, pictures, wording, write }) {
    const best = ranking.entries[0]?.score;
    this.panel.removeAttribute("aria-busy");
    if (ranking.window) this.tabs.select(ranking.window);
    this.period.textContent = wording.period(ranking.period);
    this.list.show({ entries: ranking.entries, pinned }, {
      wording,
      quiet,
      climbed: (entry) => climbed(oldRanks.get(entry.user_id), entry.rank),
      of: (entry) => ({
        wording,
        write,
        quiet,
        own: entry.user_id === user,
        share: isHighBest(ranking.entries) && entry.score > 0 ? Math.min(1, entry.score / best) : 0,
        picture: pictures.of(entry.user_id),
      }),
    });
    this.#tellOfNobody(ranking, wording);
    this.#foot(ranking, own, wording);
  }

  fail(error, wording) {
    this.panel.removeAttribute("aria-busy");
    this.list.clear();
    this.period.textContent = this.footer.textContent = "";
    this.retry.textContent = wording.say("retry");
    this.#say(wording.say("failed"), error.message, this.retry);
    this.message.part = "message failed";
    this.message.dataset.code = error.code;
  }

  #tellOfNobody(ranking, wording) {
    if (ranking.entries.length) return this.#clear();
    const why = ranking.period === null ? "closed" : "empty";
    this.#say(wording.say(why), wording.say(`${why}Hint`));
  }

  #foot(ranking, own, wording) {
    const parts = ranking.entries.length ? [wording.say("players", { count: ranking.total }), wording.share(ranking.total, own)] : [];
    if (own?.rank === null && ranking.period !== null) parts.push(wording.say("unranked"));
    this.footer.replaceChildren(...parts.filter(Boolean).map((part) => make("span", "", part)));
  }

  #say(title, hint, ...more) {
    this.message.replaceChildren(make("div", "podium"), make("p", "message-title", title), make("p", "hint", hint), ...more);
    this.message.firstChild.setAttribute("aria-hidden", "true");
    this.message.hidden = false;
    this.list.root.hidden = true;
  }

  #clear() {
    this.message.hidden = true;
    this.list.root.hidden = false;
    delete this.message.dataset.code;
    this.message.part = "message";
  }
}

/** Bars compare scores with the best one: they say nothing where low scores win. */
function isHighBest(entries) {
  return entries.length > 0 && entries[0].score > 0 && entries[0].score >= entries[entries.length - 1].score;
}
