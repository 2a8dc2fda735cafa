/** The custom element `<live-leaderboard>`: a first look over REST, then live. */

import { Api, Refusal } from "./api.js";
import { Connection } from "./connection.js";
import { Pictures } from "./pictures.js";
import * as rankings from "./ranking.js";
import { Reporter } from "./reporter.js";
import { readable, Wording } from "./texts.js";
import { View } from "./view.js";

const HERE = new URL("../../", import.meta.url).href;
const COALESCE_MS = 25;
const DEFAULT_TOP = 10;

export class LiveLeaderboard extends HTMLElement {
  static observedAttributes = [
    "base", "board", "heading", "level", "live", "pictures", "ranking", "segment", "ticket-url", "token", "top", "user",
    "window", "windows",
  ];
  /** Texts for all elements of the page; an element's own `texts` go first. */
  static texts = {};

  #view = new View(this.attachShadow({ mode: "open" }), {
    choose: (window) => this.#choose(window),
    retry: () => this.reload(),
  });
  #state = "off";
  #ranking = null;
  #own = null;
  #oldRanks = new Map();
  #isOther; // what is shown next is another ranking: nobody has moved
  #described;
  #api;
  #connection;
  #looking;
  #wording;
  #pictures;
  #reporter;
  #showing;
  #restarting;

  connectedCallback() {
    this.#start();
  }

  disconnectedCallback() {
    this.#stop();
  }

  attributeChangedCallback(name, old, now) {
    if (!this.#api || old === now) return;
    if (name === "window") this.#follow();
    else this.#startSoon();
  }

  /** Begin anew: after `texts`, `ticket` or `formatScore` have changed. */
  reload() {
    if (this.isConnected) this.#start();
  }

  get state() {
    return this.#state;
  }

  /** What is shown: the entries from the top, and the user's own standing. */
  get standings() {
    return { entries: structuredClone(this.#ranking?.entries ?? []), own: structuredClone(this.#own) };
  }

  #start() {
    this.#stop();
    this.#wording = new Wording({ ...LiveLeaderboard.texts, ...this.texts }, this.#language());
    this.#api = new Api({
      base: new URL(this.getAttribute("base") ?? HERE, document.baseURI).href,
      token: this.getAttribute("token"),
    });
    this.#api.ticket = this.#ticketer();
    this.#pictures = new Pictures(this.hasAttribute("pictures"), () => this.#showSoon());
    this.#reporter = new Reporter(this.#wording, (text) => this.#view.announce(text));
    this.#described = false;
    if (this.getAttribute("live") !== "off") this.#connection = this.#connect();
    this.#tell(this.#connection ? "connecting" : "off");
    this.#label(this.getAttribute("board"));
    this.#follow();
  }

  #startSoon() {
    clearTimeout(this.#restarting);
    this.#restarting = setTimeout(() => this.reload(), 0);
  }

  #stop() {
    clearTimeout(this.#showing);
    clearTimeout(this.#restarting);
    this.#reporter?.stop();
    this.#looking?.abort();
    this.#connection?.close();
    this.#connection = null;
  }

  #connect() {
    return new Connection(this.#api, {
      hear: (message) => this.#hear(message),
      tell: (state) => this.#tell(state),
      since: () => rankings.since(this.#ranking),
      asks: this.getAttribute("live") === "poll",
    });
  }

  #topic() {
    const topic = { top: this.#top() };
    for (const name of ["board", "window", "segment", "ranking"]) {
      if (this.getAttribute(name)) topic[name] = this.getAttribute(name);
    }
    if (this.getAttribute("user")) topic.user_id = this.getAttribute("user");
    return topic;
  }

  #top() {
    const asked = Number.parseInt(this.getAttribute("top"), 10);
    return asked > 0 ? Math.min(asked, 100) : DEFAULT_TOP;
  }

  /** Turn to the ranking that the attributes name: what is shown stays until the new one is here. */
  async #follow() {
    this.#looking?.abort();
    const looking = (this.#looking = new AbortController());
    const topic = this.#topic();
    this.#ranking = this.#own = null;
    this.#isOther = true;
    this.#reporter.forget();
    this.#view.wait(topic.window, this.#wording);
    this.#connection?.follow(topic);
    try {
      for await (const message of this.#api.look(topic, looking.signal)) {
        if (looking.signal.aborted) return;
        this.#hear(message);
      }
    } catch (error) {
      if (!looking.signal.aborted) this.#fail(error);
    }
  }

  /** Take a message in. A look that comes after the live snapshot is older than that. */
  #hear(message) {
    if (message.reason === "look" && this.#ranking?.sum) return;
    if (message.type === "error") return this.#refuse(new Refusal(message));
    if (message.type === "rank") this.#takeRank(message);
    else this.#takeRanking(message);
    this.#showSoon();
  }

  #takeRanking(message) {
    const isWhole = message.type === "snapshot";
    const next = isWhole
      ? rankings.fromSnapshot(message)
      : (message.type === "update" ? rankings.updated : rankings.resumed)(this.#ranking, message);
    if (next === null) return this.#connection.again();
    if (this.#ranking && next.period !== this.#ranking.period) {
      this.#isOther = true;
      this.#reporter.forget();
    }
    this.#ranking = next;
    for (const { user_id, old_rank } of isWhole ? [] : (message.entries ?? [])) this.#oldRanks.set(user_id, old_rank);
    if (isWhole && !this.#described) this.#describe(message.board);
  }

  #takeRank(message) {
    const { rank, user_id, user_name, score, percentile, total, above, below } = message;
    this.#own = { rank, user_id, user_name, score, percentile, above, below };
    const change = this.#reporter.report(rank, total);
    if (change) this.#fire("rank", { user_id, rank, score, ...change });
  }

  #showSoon() {
    clearTimeout(this.#showing);
    this.#showing = setTimeout(() => this.#show(), COALESCE_MS);
  }

  #show() {
    if (!this.#ranking) return;
    this.#pictures.see(this.#ranking.entries, () => this.#api.pictures(this.#topic()));
    this.#view.show({
      ranking: this.#ranking,
      own: this.#own,
      user: this.getAttribute("user"),
      pinned: rankings.pinned(this.#ranking, this.#own),
      quiet: this.#isOther,
      oldRanks: this.#oldRanks,
      pictures: this.#pictures,
      wording: this.#wording,
      write: (score) => this.formatScore?.(score) ?? this.#wording.write(score),
    });
    this.#isOther = false;
    this.#oldRanks.clear();
    const { window, period, total } = this.#ranking;
    this.#fire("update", { window, period, total, ...this.standings });
  }

  #refuse(error) {
    if (error.passes) this.#connection?.later();
    this.#fail(error);
  }

  /** Show the refusal where nothing better is to be had; what passes is tried again. */
  #fail(error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "unauthorized" && this.#api.ticket && this.#connection && !this.#ranking) return;
    if (!error.passes) {
      this.#looking.abort();
      this.#connection?.close();
      this.#connection = null;
      this.#ranking = this.#own = null;
      this.#tell("off");
    }
    if (!this.#ranking) this.#view.fail(error, this.#wording);
    this.#fire("error", { code: error.code, detail: error.message });
  }

  #tell(state) {
    this.#view.tell(state, this.#wording);
    if (state === this.#state) return;
    this.#state = state;
    this.#fire("state", { state });
  }

  #choose(window) {
    this.setAttribute("window", window);
    this.#fire("window", { window });
  }

  #label(board) {
    this.#view.label(this.getAttribute("heading") ?? readable(board ?? ""), this.getAttribute("level") ?? "2", this.#wording);
    const windows = this.getAttribute("windows");
    if (windows !== null) this.#view.offer(windows.split(/[\s,]+/).filter(Boolean), this.#wording);
  }

  async #describe(board) {
    this.#described = true;
    this.#label(board);
    if (this.hasAttribute("windows")) return;
    try {
      const { windows } = await this.#api.board(board);
      this.#view.offer(windows.map((window) => window.name), this.#wording);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error; // without tabs, then
    }
  }

  #ticketer() {
    const url = this.getAttribute("ticket-url");
    if (this.ticket) return () => this.ticket();
    return url ? () => this.#api.askForTicket(new URL(url, document.baseURI).href, this.getAttribute("user")) : null;
  }

  #language() {
    return this.closest("[lang]")?.lang || document.documentElement.lang || navigator.language;
  }

  #fire(what, detail) {
    this.dispatchEvent(new CustomEvent(`leaderboard-${what}`, { detail, bubbles: true, composed: true }));
  }
}

if (!customElements.get("live-leaderboard")) customElements.define("live-leaderboard", LiveLeaderboard);
