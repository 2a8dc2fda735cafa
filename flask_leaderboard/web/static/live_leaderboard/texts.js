/** What the component says, and how it writes numbers and periods. Every text can be replaced by the page. */

export const TEXTS = {
  rank: "Rank",
  player: "Player",
  change: "Change",
  score: "Score",
  you: "You",
  windows: "Time",
  all: "All time",
  daily: "Today",
  weekly: "This week",
  monthly: "This month",
  week: "Week {week}, {year}",
  since: "Since {time}",
  players: { one: "{count} player", other: "{count} players" },
  share: "You are in the top {share}",
  up: { one: "up {count} place", other: "up {count} places" },
  down: { one: "down {count} place", other: "down {count} places" },
  entered: "new",
  announce: "Your rank is now {rank} of {total}",
  announceUnranked: "You are not ranked any more",
  unranked: "You have no score here yet",
  empty: "Nobody has scored yet",
  emptyHint: "The first score takes the lead.",
  closed: "Nothing is running now",
  closedHint: "Come back when it starts.",
  loading: "Loading the leaderboard",
  failed: "The leaderboard can’t be shown",
  retry: "Try again",
  connecting: "Connecting",
  live: "Live",
  polling: "Delayed",
  reconnecting: "Reconnecting",
  stale: "Paused",
  offline: "Offline",
};

const LEAST_FOR_SHARE = 20;

/** Fill texts with values, in one language. */
export class Wording {
  constructor(texts, locale) {
    this.texts = { ...TEXTS, ...texts };
    this.locale = supported(locale);
    this.number = new Intl.NumberFormat(this.locale, { maximumFractionDigits: 17 });
    this.percent = new Intl.NumberFormat(this.locale, { style: "percent", maximumFractionDigits: 0 });
    this.plural = new Intl.PluralRules(this.locale);
  }

  say(name, values = {}) {
    let text = this.texts[name] ?? "";
    if (typeof text === "object") text = text[this.plural.select(values.count)] ?? text.other;
    return text.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? this.write(values[key]) : whole));
  }

  write(value) {
    return typeof value === "number" ? this.number.format(value) : String(value);
  }

  window(name) {
    return this.texts[name] ?? readable(name);
  }

  /** Name a period; the game's own ids, such as those of seasons, are shown as they are. */
  period(id) {
    if (id === null || id === undefined || id === "all") return "";
    const [, year, week] = /^(\d{4})-W(\d\d)$/.exec(id) ?? [];
    if (week) return this.say("week", { week: Number(week), year });
    if (/^\d{4}-\d\d$/.test(id)) return this.#date(`${id}-01`, { year: "numeric", month: "long" });
    if (/^\d{4}-\d\d-\d\d$/.test(id)) return this.#date(id, { dateStyle: "full" });
    const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(id)?.slice(1).map(Number);
    if (parts) return this.say("since", { time: this.#moment(...parts) });
    return id;
  }

  /** Tell among which part of the players the user is; small rankings have no such part. */
  share(total, own) {
    if (total < LEAST_FOR_SHARE || !own?.rank || typeof own.percentile !== "number") return "";
    const better = Math.round(total * (1 - own.percentile / 100));
    const share = Math.min(100, Math.ceil((100 * (better + 1)) / total));
    return this.say("share", { share: this.percent.format(share / 100) });
  }

  /** Write an instant as the reader's clock has it; without the day where that is today. */
  #moment(year, month, ...rest) {
    const moment = new Date(Date.UTC(year, month - 1, ...rest));
    const today = moment.toDateString() === new Date().toDateString();
    const style = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
    return new Intl.DateTimeFormat(this.locale, style).format(moment);
  }

  #date(day, options) {
    return new Intl.DateTimeFormat(this.locale, { ...options, timeZone: "UTC" }).format(new Date(`${day}T00:00:00Z`));
  }
}

/** Make a name out of an id: `race-times` → `Race times`. */
export function readable(name) {
  const words = name.replace(/[-_]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function supported(locale) {
  try {
    return Intl.getCanonicalLocales(locale || [])[0];
  } catch {
    return undefined;
  }
}
