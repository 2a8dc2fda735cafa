/** Users' pictures, where the page asks for them. Only from this site or over https: anything else is no picture. */

const REST_MS = 5_000;

export class Pictures {
  constructor(wanted, arrived) {
    this.wanted = wanted;
    this.arrived = arrived;
    this.known = new Map();
    this.restUntil = 0;
  }

  of(user_id) {
    return this.known.get(user_id) ?? null;
  }

  /** See which users are shown; where one is new, `fetch` gives the pictures of all, at most every few seconds. */
  async see(entries, fetch) {
    if (!this.wanted || Date.now() < this.restUntil || entries.every(({ user_id }) => this.known.has(user_id))) return;
    this.restUntil = Date.now() + REST_MS;
    try {
      for (const [user_id, url] of await fetch()) this.known.set(user_id, allowed(url));
      this.arrived();
    } catch {
      // the initials stay
    }
  }
}

function allowed(url) {
  if (typeof url !== "string" || !URL.canParse(url, document.baseURI)) return null;
  const parsed = new URL(url, document.baseURI);
  return parsed.protocol === "https:" || parsed.origin === location.origin ? parsed.href : null;
}
