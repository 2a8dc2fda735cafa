"""One board in Redis: a method for each command of the bundle."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import StoreUnavailableError
from ..rules.board import Board
from ..rules.instants import duration
from ..rules.results import Entry, Found, Measure, RankingKind, Rows, Watched
from ..rules.scores import Number, number_text
from ..rules.segments import Segment
from ..rules.windows import Period, Window
from .batch import Batch
from .calls import Arg, Call, Caller, Commands
from .guards import Guard, Trusting
from .ids import IdMemory
from .journal import Journal
from .keys import BoardKeys
from .rankings import Ranking, RankingBook
from .rates import RateCounts
from .rows import read_entry, read_rows, read_watched
from .server import server_run
from .streams import Stream, open_stream
from .submit_stream import SubmitStream
from .terms import Terms

LEAST, CLOSED_UNTIL = "least", "closed_until"
Applied = tuple[int, list[bytes] | None]
"""The number that the board stands at, and the receipts; none where earlier entries are missing."""


def _read_applied(reply: Sequence[Any]) -> Applied:
    number, state, *lines = reply
    return number, None if state == b"gap" else lines


def _bound(value: Number | None) -> str:
    return "-" if value is None else number_text(value)


class BoardStore:
    """Calls the commands for one board, with plain values in and out."""

    def __init__(
        self, board: Board, caller: Caller, prefix: str, *, shadow: str | None = None, signal_ms: int | None = None
    ) -> None:
        self.board = board
        self.keys = BoardKeys(prefix, board.name, shadow)
        self.rankings = RankingBook(board, self.keys)
        self.ids = IdMemory(self.keys, board.id_buckets, duration(board.remember_ids))
        self.rates = RateCounts(self.keys)
        self.terms = Terms(board, self.keys, signal_ms)
        self.journal = Journal(self.keys.journal, caller)
        self.guard: Guard = Trusting()
        self.connects = caller.connects
        self.caller = self._caller = caller
        self._call = caller.call

    @contextmanager
    def submitting(self, now: int) -> Iterator[SubmitStream]:
        """Fold batches of submissions, the next one prepared while Redis works on the one before."""
        with self._numbering("submit") as stream:
            yield SubmitStream(stream, self.keys.board, self.terms, self.guard, now)

    def remove(self, batch: Batch, now: int, values: Sequence[int] = ()) -> tuple[int, list[bytes]]:
        """Take the batch's users out of their rankings; refused where a segment has not as many `values` any more."""
        sets = [self.keys.segment_values(name) for name in self.board.segment_names] if values else []
        keys = batch.keys(self.keys.board, [*self.terms.batch_keys(batch), *sets])
        with self._numbering("remove") as stream:
            stream.send(keys, batch.args(self.terms.line(self.guard.least, now, values)))
            number, *lines = stream.receive()
        self.guard.expect(number)
        return number, lines

    @contextmanager
    def _numbering(self, command: str) -> Iterator[Stream]:
        """Open a stream of calls that give numbers. The look comes behind the connection: it has seen the server."""
        with open_stream(self._caller, command) as stream:
            self.guard.insist()
            yield stream

    def apply(self, batch: Batch, first: int, *, board_key: str | None = None) -> Applied:
        """Fold log entries from number `first` on; None in place of receipts where earlier ones are missing."""
        return _read_applied(self._call("apply", *self._applying(batch, first, board_key)))

    def begin_apply(self, batches: Iterable[tuple[Batch, int]]) -> Callable[[], list[Applied]]:
        """Send batches of log entries, each with its first number; give what waits for the answers."""
        replies = self._caller.begin("apply", [self._applying(batch, first, None) for batch, first in batches])
        return lambda: [_read_applied(reply) for reply in replies()]

    def _applying(self, batch: Batch, first: int, board_key: str | None) -> Call:
        if board_key is not None:  # beside the board nobody is told
            return batch.keys(board_key), batch.args(str(first))
        return batch.keys(self.keys.board, self.terms.apply_keys(batch)), batch.args(self.terms.first(first))

    def admit(self, user_ids: Sequence[str], limit: int, now: int) -> list[bytes]:
        """Count a submission of each of these users in this minute; ``admitted``, or a refusal above the limit, for each."""
        places = [self.rates.place(user_id, now) for user_id in user_ids]
        buckets = {key: number for number, key in enumerate(dict.fromkeys(places), 1)}
        items = [f"{user_id}\t{buckets[place]}" for user_id, place in zip(user_ids, places, strict=True)]
        _, *answers = self._call("admit", [self.keys.board, *buckets], [limit, *items])
        return list(answers)

    def page(
        self, ranking: Ranking, kind: RankingKind, offset: int, limit: int, *, profiles: Commands = ()
    ) -> tuple[Rows, list[Any]]:
        """Give entries from an index on; `profiles` are asked in the same trip, and their replies given behind."""
        args: list[Arg] = [ranking.line, kind, offset, limit]
        reply, *others = self._ask("page", [self.keys.board, *ranking.keys], args, *profiles)
        return read_rows(self.board, reply), others

    def after(
        self,
        ranking: Ranking,
        kind: RankingKind,
        position: tuple[str, int | None, str],
        limit: int,
        *,
        lowest: Number | None = None,
        highest: Number | None = None,
    ) -> Rows:
        score, at, user_id = position
        time = "-" if at is None else at
        return self._rows("after", ranking, kind, score, time, user_id, _bound(lowest), _bound(highest), limit)

    def range(
        self, ranking: Ranking, kind: RankingKind, lowest: Number | None, highest: Number | None, offset: int, limit: int
    ) -> Rows:
        return self._rows("range", ranking, kind, _bound(lowest), _bound(highest), offset, limit)

    def around(self, ranking: Ranking, kind: RankingKind, user_id: str, above: int, below: int) -> Rows:
        return self._rows("around", ranking, kind, user_id, above, below)

    def entries(
        self, rankings: Sequence[Ranking], kind: RankingKind, user_ids: Sequence[str], *, profiles: Commands = ()
    ) -> tuple[list[Found], list[Any]]:
        """Give, for each ranking, its size and the users' entries with percentiles; `profiles` are asked in the same trip."""
        keys = [self.keys.board, *(key for ranking in rankings for key in ranking.keys)]
        lines = [ranking.line for ranking in rankings]
        args = [kind, "percentile", len(lines), *lines, *user_ids]
        (_, *replies), *others = self._ask("entries", keys, args, *profiles)
        found = []
        for total, *rows in replies:
            found.append(Found(total, [read_entry(self.board, *row) for row in zip(user_ids, rows, strict=True)]))
        return found, others

    def look_up(self, ranking: Ranking, user_ids: Sequence[str]) -> tuple[int, list[Entry | None]]:
        """Give users' entries and the number they are of, whether or not Redis is behind."""
        args: list[Arg] = ["unique", "-", 1, ranking.line, *user_ids]
        number, (_, *rows) = self._call("entries", [self.keys.board, *ranking.keys], args)
        return number, [read_entry(self.board, *row) for row in zip(user_ids, rows, strict=True)]

    def watch(
        self, ranking: Ranking, kind: RankingKind, top: int, user_ids: Sequence[str], *, profiles: Commands = ()
    ) -> tuple[Watched, list[Any]]:
        """Give the best, and where users stand with the entries beside them; `profiles` are asked in the same trip."""
        args: list[Arg] = [ranking.line, kind, top, *user_ids]
        reply, *others = self._ask("watch", [self.keys.board, *ranking.keys], args, *profiles)
        return read_watched(self.board, user_ids, reply), others

    def count(self, ranking: Ranking, lowest: Number | None, highest: Number | None) -> Measure[int]:
        """Tell how many scores of a ranking lie between two scores."""
        _, total, counted = self._read("count", ranking, _bound(lowest), _bound(highest))
        return Measure(total, counted)

    def percentile(self, ranking: Ranking, user_id: str) -> Measure[float | None]:
        _, total, _, percentile = self._read("percentile", ranking, user_id)
        return Measure(total, None if percentile is None else float(percentile))

    def score_at(self, ranking: Ranking, tenths: int) -> Measure[Number | None]:
        _, total, score = self._read("score_at", ranking, tenths)
        return Measure(total, None if score is None else self.board.read_number(score))

    def move(
        self, source: Ranking, destination: Ranking, user_id: str, lowest: Number | None, end: Number | None
    ) -> tuple[str, Number | None]:
        """Move a user between two bands; give ``moved``, ``there`` or ``absent``, and the score."""
        keys = [self.keys.board, *source.keys, *destination.keys]
        _, state, *rest = self._call("move", keys, [source.line, destination.line, user_id, _bound(lowest), _bound(end)])
        return state.decode(), self.board.read_number(rest[0]) if rest else None

    def restore(self, fresh: Ranking, rows: Iterable[tuple[str, Number, int]]) -> int:
        """Load rows of user, score and time into fresh keys; give the size they have then."""
        lines = [f"{user_id}\t{number_text(score)}\t{at}" for user_id, score, at in rows]
        (total,) = self._call("restore", fresh.keys, [fresh.line, *lines])
        return int(total)

    def swap(self, shadow_key: str, threes: Sequence[str], windows: Iterable[str], *, whole: bool = True) -> bool:
        """Put fresh keys in place of live ones; `threes` are fresh, live and free names. False where the fresh are behind.

        Where they are not the `whole` board, False also where they are further.
        """
        layouts = [text for window in windows for text in (window, self.board.layout(window))]
        extent = "whole" if whole else "part"
        _, state, *_ = self._call("swap", [self.keys.board, shadow_key, *threes], [extent, *layouts])
        return bool(state == b"swapped")

    def drop(self, keys: Sequence[str], windows: Sequence[str] = ()) -> int:
        """Drop keys without blocking, and forget the layout of windows that have no data left."""
        _, dropped = self._call("drop", [self.keys.board, *keys], windows)
        return int(dropped)

    def number(self) -> int:
        """Give the number of the last event that Redis has folded."""
        (number,) = self._caller.ask(("HGET", self.keys.board, "seq"))
        return int(number or 0)

    def server(self) -> str | None:
        """Tell the server behind the client from any other, and from itself before a restart; None where it does not tell."""
        return self._caller.use(server_run)

    def close(self, time: int) -> int:
        """Take nothing any more that was planned before a time; give the number up to which such events may be."""
        number, _ = self._call("close", [self.keys.board], [time])
        return int(number)

    def closed_until(self) -> int:
        """Give the time before which nothing is taken."""
        (time,) = self.marks([CLOSED_UNTIL])
        return int(time or 0)

    def insist(self, least: int) -> None:
        """Give no numbers before the board stands at `least`."""
        self.move_mark(LEAST, least)

    def insists_on(self) -> int:
        """Give the number that the board must stand at to give others."""
        (least,) = self.marks([LEAST])
        return int(least or 0)

    def remember_ids(self, items: Iterable[tuple[str, str, str, int]]) -> None:
        """Remember submission ids of users again: what each stands for, and when it was taken."""
        commands = [words for item in items for words in self.ids.remembering(*item)]
        if commands:
            self._caller.ask(*commands)

    def season(self, window: str, expected: str, following: str, now: int) -> str:
        """Switch the season of a window, or read it (`expected` and `following` the same)."""
        _, running = self._call("season", [self.keys.board], [window, expected, following, now])
        return str(running.decode())

    def fields(self) -> dict[str, str]:
        """Give all that the board's hash has."""
        found: dict[bytes, bytes] = self._caller.use(lambda client: client.hgetall(self.keys.board))
        return {name.decode(): value.decode() for name, value in found.items()}

    def mark(self, field: str, now: int) -> int:
        """Give the time that a mark of the board stands at; a new one is put at `now`."""
        _, mark = self._caller.ask(("HSETNX", self.keys.board, field, now), ("HGET", self.keys.board, field))
        return int(mark)

    def move_mark(self, field: str, now: int) -> None:
        self._caller.ask(("HSET", self.keys.board, field, now))

    def marks(self, fields: Sequence[str]) -> list[bytes | None]:
        """Give marks as they are, None for those that are not there."""
        return list(self._caller.ask(("HMGET", self.keys.board, *fields))[0]) if fields else []

    def claim(self, duty: str, seconds: int) -> str | None:
        """Take a duty for so many seconds; give the claim, or None where another process has it."""
        claim = secrets.token_hex(8)
        (answer,) = self._caller.ask(("SET", self.keys.claim(duty), claim, "NX", "EX", seconds))
        return None if answer is None else claim

    def begin_interval(self, ms: int) -> int:
        """Begin an interval of so many ms, for all processes; give what is left of one that has begun before, 0 for a new one."""
        key = self.keys.claim("interval")
        begun, left = self._caller.ask(("SET", key, "1", "NX", "PX", ms), ("PTTL", key))
        return 0 if begun is not None else max(1, left)

    def renew(self, duty: str, claim: str, seconds: int) -> bool:
        """Keep a duty for so many seconds more, if it is still ours; tell whether it is."""
        return self._holds(duty, claim) and bool(self._caller.ask(("EXPIRE", self.keys.claim(duty), seconds))[0])

    def release(self, duty: str, claim: str) -> None:
        """Give a duty up, if it is still ours."""
        if self._holds(duty, claim):
            self._caller.ask(("DEL", self.keys.claim(duty)))

    def is_claimed(self, duty: str) -> bool:
        """Tell whether a process has a duty."""
        return bool(self._caller.ask(("EXISTS", self.keys.claim(duty)))[0])

    def _holds(self, duty: str, claim: str) -> bool:
        (holder,) = self._caller.ask(("GET", self.keys.claim(duty)))
        return bool(holder == claim.encode())

    def segment_labels(self) -> list[str]:
        """List the segment values the board has seen, as ``country=NL``."""
        return sorted(label for segment in self.board.segments for label in self._labels_of(segment))

    def _labels_of(self, segment: Segment | str) -> list[str]:
        name = segment if isinstance(segment, str) else segment.name
        (labels,) = self._caller.ask(("SMEMBERS", self.keys.segment_values(name)))
        return [label.decode() for label in labels]

    def expire_period(self, window: Window, period: Period) -> None:
        """Set anew when a period's keys expire by themselves, after its end has changed."""
        moment = self.rankings.expires_at(window, period)
        if moment is None:
            return
        labels = (None, *self.segment_labels())
        keys = [key for label in labels for key in self.rankings.get(window, period, label).data_keys]

        self._caller.ask(*(("PEXPIREAT", key, moment // 1000) for key in keys))

    def _read(self, command: str, ranking: Ranking, *args: str | int) -> Any:
        return self._ask(command, [self.keys.board, *ranking.keys], [ranking.line, *args])[0]

    def _ask(self, command: str, keys: Sequence[str], args: Sequence[Arg], *others: Sequence[Arg]) -> list[Any]:
        """Run a reading command and plain ones in one trip, once more where Redis had to be brought up to date."""
        self.guard.look()
        least = self.guard.least
        replies = self._caller.read(command, keys, args, *others)
        if self.guard.is_behind(replies[0][0], least):
            self.guard.repair()
            least = self.guard.least
            replies = self._caller.read(command, keys, args, *others)
            if self.guard.is_behind(replies[0][0], least):
                raise StoreUnavailableError("Redis has lost events that it had, and is being brought up to date")
        return replies

    def _rows(self, command: str, ranking: Ranking, *args: str | int) -> Rows:
        return read_rows(self.board, self._read(command, ranking, *args))
