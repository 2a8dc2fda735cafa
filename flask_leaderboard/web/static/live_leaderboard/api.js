/** The server's API: one look over REST, and where the live routes are. */

const PATIENCE_MS = 10_000;
const PROTOCOL = "leaderboard.v1";
const FINAL = /^(bad_|unknown_|dense_not_kept|unauthorized|forbidden)/;

/** The server said no, or could not be asked; `code` is one of its stable codes, or "unreachable". */
export class Refusal extends Error {
  constructor({ code = "unreachable", detail = "", status = 0 } = {}) {
    super(detail || code);
    this.code = code;
    this.status = status;
  }

  /** Whether asking again may help. */
  get passes() {
    return !FINAL.test(this.code);
  }
}

export class Api {
  /** `token` is sent as it is; `ticket`, where it is set, gives (a promise of) a ticket for the live routes. */
  constructor({ base, token = null }) {
    this.base = base.endsWith("/") ? base : `${base}/`;
    this.token = token;
    this.ticket = null;
  }

  board(name, signal) {
    return this.#get(`boards/${encodeURIComponent(name)}`, {}, signal);
  }

  /** Look once, and tell it as the live routes would: a snapshot, then the user's rank where there is a user. */
  async *look(topic, signal) {
    const asked = topic.user_id ? this.#rank(topic, signal) : null;
    asked?.catch(() => {}); // told below, where the page could be read
    const page = await this.#page(topic, signal);
    yield { ...page, type: "snapshot", reason: "look", entries: page.data };
    if (asked) yield { ...(await asked), type: "rank", reason: "look", period: page.period, total: page.total };
  }

  /** Give the users' pictures as the game keeps them, by id. */
  async pictures(topic) {
    const page = await this.#page(topic, undefined, { include: "metadata" });
    return page.data.map(({ user_id, metadata }) => [user_id, metadata?.picture]);
  }

  async socketUrl() {
    const url = new URL(await this.#liveUrl("live", {}, this.ticket));
    url.protocol = url.protocol.replace("http", "ws");
    return url.href;
  }

  get protocols() {
    return this.token && !this.ticket ? [PROTOCOL, `bearer.${this.token}`] : [PROTOCOL];
  }

  /** An event source can send no header: a token is changed into a ticket. */
  async eventsUrl(topic) {
    const ticket = this.ticket ?? (this.token ? () => this.askForTicket(undefined, topic.user_id) : null);
    return this.#liveUrl("live/events", topic, ticket);
  }

  /** Ask for a ticket, of this server or of a page of the host's. */
  async askForTicket(url = this.#url("live/tickets"), user_id = null) {
    const headers = { ...this.#headers(), "Content-Type": "application/json" };
    const body = JSON.stringify(user_id === null ? {} : { user_ids: [user_id] });
    return (await this.#fetch(url, { method: "POST", headers, body })).ticket;
  }

  async #liveUrl(path, params, ticket) {
    return this.#url(path, { ...params, ticket: await ticket?.() });
  }

  #page({ top, user_id: _user, ...place }, signal, more = {}) {
    return this.#get("scores", { ...place, limit: top, ...more }, signal);
  }

  async #rank({ user_id, top: _top, ...place }, signal) {
    const path = `scores/${encodeURIComponent(user_id)}`;
    try {
      const { user_info: own } = await this.#get(path, place, signal);
      const around = await this.#get(`${path}/neighbors`, { ...place, above: 1, below: 1 }, signal);
      const at = around.data.findIndex((entry) => entry.user_id === own.user_id);
      return { ...own, above: around.data[at - 1] ?? null, below: around.data[at + 1] ?? null };
    } catch (error) {
      if (error.code !== "not_ranked") throw error;
      return { user_id, user_name: null, rank: null, score: null, percentile: null, above: null, below: null };
    }
  }

  #headers() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  #url(path, params = {}) {
    const url = new URL(path, this.base);
    for (const [name, value] of Object.entries(params)) {
      if (value !== null && value !== undefined) url.searchParams.set(name, value);
    }
    return url.href;
  }

  #get(path, params, signal) {
    return this.#fetch(this.#url(path, params), { headers: this.#headers() }, signal);
  }

  async #fetch(url, how, signal) {
    const limit = AbortSignal.timeout(PATIENCE_MS);
    let response, told;
    try {
      response = await fetch(url, { ...how, signal: signal ? AbortSignal.any([signal, limit]) : limit });
      told = await response.json();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Refusal({ status: response && !response.ok ? response.status : 0 });
    }
    if (!response.ok) throw new Refusal({ ...told, status: response.status });
    return told;
  }
}
