/**
 * The ways to hear of changes: WebSocket, Server-Sent Events, asking again and again.
 *
 * Each has `follow(id, topic, since)` and `close()`, and calls `heard(message)` and, once, `closed(code)`.
 */

import { Refusal } from "./api.js";

const TIMES = { silence: 40_000, answer: 10_000, opening: 10_000, poll: 5_000 };

const EVENTS = ["snapshot", "update", "resumed", "rank", "stale", "error", "bye", "ping"];

/** What all have in common: the callbacks, the end, and a timer. */
class Transport {
  constructor(api, { heard, closed }) {
    this.api = api;
    this.heard = heard;
    this.ended = false;
    this.fail = (code) => {
      if (this.ended) return;
      this.close();
      closed(code);
    };
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
  }

  later(milliseconds, act) {
    clearTimeout(this.timer);
    if (!this.ended) this.timer = setTimeout(act, milliseconds);
  }
}

export class Socket extends Transport {
  static state = "live";

  constructor(...given) {
    super(...given);
    this.later(TIMES.opening, () => this.fail(0));
    this.api.socketUrl().then((url) => this.#open(url)).catch(() => this.fail(0));
  }

  follow(id, topic, since) {
    if (this.id) this.#send({ type: "unsubscribe", id: this.id });
    this.id = id;
    this.wanted = { type: "subscribe", id, ...topic, ...(since && { since }) };
    this.#send(this.wanted);
  }

  close() {
    super.close();
    this.socket?.close();
  }

  /** See soon whether the other side is there: a device that slept does not know. */
  check() {
    if (this.#isOpen) this.#ask();
  }

  get #isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  #open(url) {
    if (this.ended) return;
    this.socket = new WebSocket(url, this.api.protocols);
    this.socket.onopen = () => {
      this.#listen();
      if (this.wanted) this.#send(this.wanted);
    };
    this.socket.onmessage = ({ data }) => {
      this.#listen();
      if (!this.ended) this.heard(JSON.parse(data));
    };
    this.socket.onclose = ({ code }) => this.fail(code);
  }

  #listen() {
    this.later(TIMES.silence, () => this.#ask());
  }

  #ask() {
    this.#send({ type: "ping" });
    this.later(TIMES.answer, () => this.fail(0));
  }

  #send(message) {
    if (this.#isOpen) this.socket.send(JSON.stringify(message));
  }
}

export class Events extends Transport {
  static state = "live";

  follow(id, topic) {
    this.source?.close();
    this.later(TIMES.opening, () => this.fail(0));
    this.api.eventsUrl(topic).then((url) => this.#open(url, id)).catch(() => this.fail(0));
  }

  close() {
    super.close();
    this.source?.close();
  }

  /** Its heartbeat can't be heard here: after a long silence, a new connection is the way to know. */
  check() {
    if (Date.now() - this.heardAt > TIMES.silence) this.fail(0);
  }

  #open(url, id) {
    if (this.ended) return;
    this.source?.close();
    const source = (this.source = new EventSource(url));
    source.onopen = () => this.#listen();
    for (const type of EVENTS) source.addEventListener(type, (event) => this.#hear(source, event, id));
  }

  #hear(source, event, id) {
    if (source !== this.source) return;
    if (event.data === undefined) return void this.fail(0); // the connection's own "error"
    this.#listen();
    this.heard({ ...JSON.parse(event.data), id });
  }

  #listen() {
    clearTimeout(this.timer);
    this.heardAt = Date.now();
  }
}

export class Polls extends Transport {
  static state = "polling";

  follow(id, topic) {
    this.topic = topic;
    this.id = id;
    this.#look();
  }

  async #look() {
    const id = this.id;
    try {
      for await (const message of document.hidden ? [] : this.api.look(this.topic)) {
        if (this.ended || id !== this.id) return;
        this.heard({ ...message, reason: "poll", id });
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.ended || id !== this.id) return;
      if (error.passes) this.heard({ type: "stale", id });
      else this.heard({ type: "error", id, code: error.code, detail: error.message });
    }
    this.later(TIMES.poll * (1 + Math.random() / 5), () => this.#look());
  }
}
