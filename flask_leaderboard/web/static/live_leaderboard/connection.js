/** Keeps one topic followed: by the best transport that works, again and again after failures, each time a little later. */

import { Events, Polls, Socket } from "./transports.js";

const LADDER = [Socket, Socket, Events, Events, Polls];
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 20_000;
const MOST_FAILURES = 6;
const TRY_LIVE_AGAIN_MS = 60_000;
const FULL = 1013;

export class Connection {
  /** `hear` gets the messages of the topic, `tell` the state, `since` gives what to go on from; `asks` leaves it at asking. */
  constructor(api, { hear, tell, since, asks }) {
    this.api = api;
    this.ladder = asks ? [Polls] : LADDER;
    this.hear = hear;
    this.tell = tell;
    this.since = since;
    this.number = 0;
    this.failures = 0;
    this.worked = null;
    this.wake = () => this.#wake();
    addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.wake);
  }

  /** Follow a topic in the place of the one before. */
  follow(topic) {
    this.topic = topic;
    this.id = `s${++this.number}`;
    if (this.transport) this.transport.follow(this.id, topic, null);
    else this.#connect();
  }

  /** Ask for the whole ranking: what came does not fit to what is known. */
  again() {
    this.follow(this.topic);
  }

  close() {
    removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.#drop();
  }

  #connect() {
    this.#drop();
    const Kind = this.#next;
    const transport = new Kind(this.api, {
      heard: (message) => this.#heard(Kind, message),
      closed: (code) => this.#closed(code),
    });
    this.transport = transport;
    transport.follow(this.id, this.topic, this.since());
    if (Kind !== this.ladder[0] && Kind === Polls) this.timer = setTimeout(() => this.#climb(), TRY_LIVE_AGAIN_MS);
  }

  get #next() {
    return this.worked ?? this.ladder[Math.min(this.failures, this.ladder.length - 1)];
  }

  #heard(Kind, message) {
    if (message.type === "bye") this.retryIn = message.retry_in_ms;
    if (message.id !== this.id) return;
    if (message.type === "stale") return void this.#stale();
    if (message.type === "error") return void this.hear(message);
    if (Kind !== Polls) this.worked = Kind;
    this.failures = 0;
    this.tell(Kind.state);
    this.hear(message);
    if (Kind === Polls && this.wasStale && Kind !== this.ladder[0]) this.#climb();
  }

  #stale() {
    this.wasStale = true;
    this.tell("stale");
  }

  #closed(code) {
    this.transport = null;
    this.failures += 1;
    if (code === FULL) this.failures = this.ladder.length;
    if (code === FULL || this.failures > MOST_FAILURES) this.worked = null;
    this.tell(navigator.onLine ? "reconnecting" : "offline");
    this.timer = setTimeout(() => this.#connect(), this.retryIn ?? this.#wait());
    this.retryIn = undefined;
  }

  #wait() {
    const doubled = this.#next === Polls ? 1 : 2 ** (this.failures - 1); // asking has a pace of its own
    const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * doubled);
    return most * (0.5 + Math.random() / 2);
  }

  /** Leave asking behind, and try the live transports from the first on. */
  #climb() {
    this.failures = 0;
    this.wasStale = false;
    this.#connect();
  }

  /** The server can't serve the topic now. */
  later() {
    this.#drop();
    this.#closed(0);
  }

  #wake() {
    if (document.hidden) return;
    if (this.transport) this.transport.check?.();
    else if (this.topic) this.#connect();
  }

  #drop() {
    clearTimeout(this.timer);
    this.transport?.close();
    this.transport = null;
  }
}
