/** Tells people who can't see the list how their own rank changes: politely, and not too often. */

import { climbed } from "./ranking.js";

const GAP_MS = 3_000;

export class Reporter {
  constructor(wording, announce) {
    this.wording = wording;
    this.announce = announce;
    this.told = 0;
    this.forget();
  }

  /** The next rank is the first of another ranking: no change. */
  forget() {
    this.rank = undefined;
    clearTimeout(this.timer);
  }

  stop() {
    clearTimeout(this.timer);
  }

  /** Take a rank; give what has changed, if anything. */
  report(rank, total) {
    const before = this.rank;
    this.rank = rank;
    if (before === undefined || before === rank) return null;
    this.from ??= before;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#speak(rank, total), Math.max(0, this.told + GAP_MS - Date.now()));
    return { old_rank: before };
  }

  #speak(rank, total) {
    const places = climbed(this.from, rank);
    this.from = undefined;
    this.told = Date.now();
    if (rank === null) return this.announce(this.wording.say("announceUnranked"));
    const told = this.wording.say("announce", { rank, total });
    if (!places) return this.announce(told);
    return this.announce(`${told}, ${this.wording.say(places > 0 ? "up" : "down", { count: Math.abs(places) })}`);
  }
}
