"""A board: a named ranking with rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import Literal, get_args

from ..errors import (
    ConfigurationError,
    DenseRankError,
    IdentityError,
    InputError,
    PointsError,
    UnknownWindowError,
    UpdateError,
)
from .encoding import Encoding, choose_encoding
from .instants import duration
from .names import check_name
from .results import RANKING_KINDS, RankingKind
from .scores import Number, Points, ScoreType, exact_number, largest, number_text
from .segments import Segment
from .submission import Update
from .windows import AllTime, Season, Window

Order = Literal["desc", "asc"]
TieBreak = Literal["first", "last", "member"]
Mode = Literal["redis_only", "ledger", "write_behind"]
MOST_COALESCE_MS = 10_000

_CHOICES: dict[str, tuple[str, ...]] = {
    "update": get_args(Update),
    "order": get_args(Order),
    "ranking": RANKING_KINDS,
    "tie_break": get_args(TieBreak),
    "score_type": get_args(ScoreType),
    "mode": get_args(Mode),
}


@dataclass(frozen=True)
class Board:
    """The rules of a board; the docs page "Boards" explains each of them."""

    name: str
    _: KW_ONLY
    update: Update = "increment"
    updates: Sequence[Update] = ()
    order: Order = "desc"
    ranking: RankingKind = "sparse"
    dense: bool = False
    tie_break: TieBreak = "first"
    tie_resolution: timedelta = timedelta(milliseconds=1)
    score_type: ScoreType = "integer"
    score_range: tuple[Points, Points] | None = None
    points_range: tuple[Points, Points] | None = None
    per_minute: int | None = None
    packed: bool = False
    windows: Sequence[Window] = (AllTime(),)
    segments: Sequence[Segment | str] = ()
    remember_ids: timedelta = timedelta(hours=24)
    id_buckets: int = 1024
    mode: Mode | None = None
    journal_limit: int = 100_000
    events: timedelta | None = None
    coalesce_ms: int = 0

    def __post_init__(self) -> None:
        check_name(self.name, "board")
        for rule in ("updates", "windows", "segments"):
            if isinstance(getattr(self, rule), str) or not isinstance(getattr(self, rule), Iterable):
                raise self._wrong(rule, "a list")
        for rule, choices in _CHOICES.items():
            if rule != "mode" or self.mode is not None:
                self._check_choice(rule, getattr(self, rule), choices)
        for update in self.updates:
            self._check_choice("updates", update, _CHOICES["update"])
        self._check_limits()
        self._settle_ranges()
        self._settle_windows()
        self._settle_segments()
        object.__setattr__(self, "dense", self.dense or self.ranking == "dense")
        if self.packed:
            self._insist_on_packed()
        if self.mode == "write_behind":
            self._insist_on_numbers()
        if self.coalesce_ms and self.mode not in (None, "ledger"):
            raise ConfigurationError(f"board {self.name!r} can't have coalesce_ms in mode {self.mode!r}: use mode='ledger'")

    def _check_limits(self) -> None:
        if not isinstance(self.tie_resolution, timedelta) or self.tie_resolution < timedelta(microseconds=1):
            raise self._wrong("tie_resolution", "a timedelta of a microsecond or more")
        if not isinstance(self.remember_ids, timedelta) or self.remember_ids < timedelta(seconds=1):
            raise self._wrong("remember_ids", "a timedelta of a second or more")
        for rule in ("dense", "packed"):
            if not isinstance(getattr(self, rule), bool):
                raise self._wrong(rule, "True or False")
        if self.per_minute is not None and (type(self.per_minute) is not int or not 1 <= self.per_minute <= 10**6):
            raise self._wrong("per_minute", "a whole number from 1 to 1,000,000, or None")
        if type(self.id_buckets) is not int or not 1 <= self.id_buckets <= 2**20:
            raise self._wrong("id_buckets", "a whole number from 1 to 2^20")
        if type(self.journal_limit) is not int or not 1000 <= self.journal_limit <= 10**8:
            raise self._wrong("journal_limit", "a whole number from 1,000 (a call brings some hundred entries) to 100,000,000")
        if self.events is not None and (not isinstance(self.events, timedelta) or self.events < timedelta(seconds=1)):
            raise self._wrong("events", "a timedelta of a second or more, or None")
        if type(self.coalesce_ms) is not int or not 0 <= self.coalesce_ms <= MOST_COALESCE_MS:
            raise self._wrong("coalesce_ms", f"a whole number from 0 to {MOST_COALESCE_MS:,}")

    def _check_choice(self, rule: str, value: object, choices: tuple[str, ...]) -> None:
        if value not in choices:
            raise ConfigurationError(f"{rule} {value!r} of board {self.name!r} is none of {', '.join(choices)}")

    def _wrong(self, rule: str, form: str) -> ConfigurationError:
        return ConfigurationError(f"{rule} {getattr(self, rule)!r} of board {self.name!r} must be {form}")

    def _settle_ranges(self) -> None:
        for rule in ("score_range", "points_range"):
            bounds = getattr(self, rule)
            if bounds is None:
                continue
            try:
                lowest, highest = (exact_number(bound, self.score_type, rule) for bound in bounds)
            except (TypeError, ValueError):
                raise self._wrong(rule, "a pair of numbers") from None
            except PointsError as error:
                raise ConfigurationError(f"board {self.name!r}: {error}") from error
            if lowest > highest:
                raise self._wrong(rule, "a pair with the lower number first")
            object.__setattr__(self, rule, (lowest, highest))

    def _settle_windows(self) -> None:
        windows = tuple(self.windows)
        if not windows or not all(isinstance(window, Window) for window in windows):
            raise self._wrong("windows", "one or more windows, such as [AllTime(), Daily()]")
        if len({window.name for window in windows}) != len(windows):
            raise ConfigurationError(f"two windows of board {self.name!r} have the same name: give one of them another name=")
        object.__setattr__(self, "windows", windows)

    def _settle_segments(self) -> None:
        segments = tuple(Segment(item) if isinstance(item, str) else item for item in self.segments)
        if not all(isinstance(segment, Segment) for segment in segments):
            raise self._wrong("segments", "names or Segment objects")
        if len({segment.name for segment in segments}) != len(segments):
            raise ConfigurationError(f"two segments of board {self.name!r} have the same name")
        object.__setattr__(self, "segments", segments)

    def _insist_on_packed(self) -> None:
        for window in self.windows:
            encoding = self.encoding(window.name)
            if encoding.kind == "packed":
                continue
            advice = "declare a score_range of whole numbers"
            if encoding.headroom:
                resolution = self.tie_resolution / encoding.headroom
                advice = (
                    f"a tie_resolution of {resolution} or coarser would fit, or a score_range"
                    f" {1 / encoding.headroom:.3g} times smaller"
                )
            raise ConfigurationError(
                f"window {window.name!r} of board {self.name!r} can't be packed: {encoding.reason}; {advice}"
            )

    def _insist_on_numbers(self) -> None:
        """Refuse seasons where Redis gives the numbers: which events lie in a season is told by numbers that the log gives."""
        if any(isinstance(window, Season) for window in self.windows):
            raise ConfigurationError(f"board {self.name!r} can't have a Season in mode 'write_behind': use mode='ledger'")

    @property
    def logged(self) -> bool:
        """Whether the board keeps a log."""
        return self.mode in ("ledger", "write_behind")

    def settled(self, mode: Mode) -> Board:
        """Give the board with a mode: its own, or this one where it states none."""
        return self if self.mode is not None else replace(self, mode=mode)

    def window(self, name: str) -> Window:
        """Find a window by its name."""
        try:
            return self._windows_by_name[name]
        except (KeyError, TypeError):  # what can't be hashed is no name either
            known = ", ".join(repr(other) for other in self._windows_by_name)
            raise UnknownWindowError(f"board {self.name!r} has no window {name!r}: it has {known}") from None

    @cached_property
    def _windows_by_name(self) -> dict[str, Window]:
        return {window.name: window for window in self.windows}

    @cached_property
    def _segments_by_name(self) -> dict[str, Segment]:
        return {segment.name: segment for segment in self.segments if isinstance(segment, Segment)}

    @property
    def segment_names(self) -> tuple[str, ...]:
        return tuple(self._segments_by_name)

    def segment(self, name: str) -> Segment:
        """Find a segment by its name."""
        try:
            return self._segments_by_name[name]
        except KeyError:
            raise IdentityError(f"board {self.name!r} has no segment {name!r}: declare it with segments=[...]") from None

    def segment_labels(self, values: Mapping[str, str] | None) -> tuple[str, ...]:
        """Give a submission's segments as ``name=value`` texts, in the board's order."""
        if not values:
            return ()
        if not isinstance(values, Mapping):
            raise IdentityError(f"segments {values!r} must be a mapping, such as {{'country': 'NL'}}")
        labels = {name: self.segment(name).label(value) for name, value in values.items()}
        return tuple(labels[name] for name in self._segments_by_name if name in labels)

    def segment_label(self, segment: Mapping[str, str] | str | None) -> str | None:
        """Give the segment of a ranking as ``name=value``; None for the whole board."""
        if not segment:
            return None
        if isinstance(segment, str):
            name, _, value = segment.partition("=")
            segment = {name: value}
        if not isinstance(segment, Mapping) or len(segment) != 1:
            raise InputError("a ranking has one segment: name one, such as {'country': 'NL'}")
        return self.segment_labels(segment)[0]

    def encoding(self, window_name: str) -> Encoding:
        """Tell how a window's data is stored, why, and with how much headroom."""
        whole = self.score_type == "integer" and self.score_range is not None
        lowest, highest = self.bounds
        return choose_encoding(
            int(lowest) if whole else None,
            int(highest) if whole else None,
            by_time=self.tie_break != "member",
            longest=self.window(window_name).longest,
            resolution=duration(self.tie_resolution),
            best_first=1 if self.order == "asc" else -1,
        )

    def layout(self, window_name: str) -> str:
        """Give all that decides how a window's data is read, as the scripts take it: the window's fingerprint."""
        encoding = self.encoding(window_name)
        levels = "levels" if self.dense else "-"
        return (
            f"{encoding.kind} {self.order} {self.tie_break} {duration(self.tie_resolution)} {encoding.slots}"
            f" {encoding.parameter} {self.score_type} {levels} {self.window(window_name).calendar}"
        )

    @property
    def bounds(self) -> tuple[Number, Number]:
        """The lowest and highest score the board may hold."""
        if self.score_range is None:
            return -largest(self.score_type), largest(self.score_type)
        lowest, highest = self.score_range
        return self.number(lowest), self.number(highest)

    @cached_property
    def rules_line(self) -> str:
        """The rules for folding, as the scripts take them."""
        lowest, highest = self.bounds
        allowed = ",".join(dict.fromkeys((self.update, *self.updates)))
        return f"{self.score_type} {number_text(lowest)} {number_text(highest)} {self.update} {allowed}"

    def number(self, value: Points, what: str = "score") -> Number:
        """Give a number as this board counts it, or refuse it."""
        return exact_number(value, self.score_type, what)

    def read_number(self, text: bytes | str) -> Number:
        """Read a score as the scripts write it."""
        return int(text) if self.score_type == "integer" else float(text)

    def check_points(self, points: Points) -> Number:
        """Give points as this board counts them, or refuse what no submission may carry."""
        number = exact_number(points, self.score_type)
        if self.points_range is not None:
            lowest, highest = self.points_range
            if not lowest <= number <= highest:
                raise PointsError(
                    f"points {points!r} are outside {lowest} to {highest}, what one submission to {self.name!r} may carry"
                )
        return number

    def check_update(self, update: Update | None) -> Update:
        """Give the update a submission asks for, or the board's own."""
        if update is None or update == self.update or update in self.updates:
            return update or self.update
        raise UpdateError(
            f"board {self.name!r} does not allow update {update!r}: declare it with updates=({update!r},), or leave it out"
        )

    def check_ranking(self, ranking: RankingKind | None) -> RankingKind:
        """Give the ranking kind a read asks for, or the board's own."""
        if ranking is None:
            return self.ranking
        if ranking not in RANKING_KINDS:
            raise InputError(f"ranking {ranking!r} is none of {', '.join(RANKING_KINDS)}")
        if ranking == "dense" and not self.dense:
            raise DenseRankError(
                f"board {self.name!r} keeps no dense levels: declare it with dense=True, or ask for another ranking"
            )
        return ranking
