/** What is known of a ranking, and how messages change it: plain values in, plain values out. */

/** Take over a whole ranking. */
export function fromSnapshot({ window, period, seq = null, sum = null, total, entries }) {
  return { window, period, seq, sum, total, entries };
}

/**
 * Apply what has changed since the state that the message builds on.
 *
 * Who is not named keeps his place. Gives null where the message does not fit: then only a new snapshot helps.
 */
export function updated(ranking, message) {
  if (ranking === null || ranking.sum === null || message.base !== ranking.sum) return null;
  const entries = new Array(message.count).fill(null);
  const moved = new Set(message.left);
  for (const { place, old_rank: _old, ...entry } of message.entries) {
    if (!(place >= 1 && place <= message.count)) return null;
    entries[place - 1] = entry;
    moved.add(entry.user_id);
  }
  for (let index = 0; index < message.count; index++) {
    const stays = ranking.entries[index];
    entries[index] ??= stays && !moved.has(stays.user_id) ? stays : null;
  }
  if (entries.includes(null)) return null;
  return { ...ranking, period: message.period, seq: message.seq, sum: message.sum, total: message.total, entries };
}

/** Nothing visible was missed: only the numbers move on. */
export function resumed(ranking, { seq, sum, total }) {
  if (ranking === null || sum !== ranking.sum) return null;
  return { ...ranking, seq, sum, total };
}

/** What to go on from after a pause, if anything. */
export function since(ranking) {
  return ranking?.sum ? { seq: ranking.seq, sum: ranking.sum } : null;
}

/** How far a rank has moved: above 0 is up, null where there was none before. */
export function climbed(oldRank, rank) {
  return typeof oldRank === "number" && typeof rank === "number" ? oldRank - rank : null;
}

/** The entries to pin below the list: the user with his neighbours, without those that the list shows already. */
export function pinned(ranking, own) {
  if (!ranking || !own || own.rank === null) return [];
  const listed = new Set(ranking.entries.map((entry) => entry.user_id));
  if (listed.has(own.user_id)) return [];
  return [own.above, own, own.below].filter((entry) => entry && !listed.has(entry.user_id));
}
