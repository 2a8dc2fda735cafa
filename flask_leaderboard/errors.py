"""What can go wrong, as one tree.

LeaderboardError
├── ConfigurationError        a board, window or setting is declared in a way that can't work
│   └── NoAppError            leaderboards are used outside an app, or the app has none
├── InputError                what the caller sent is wrong; nothing was changed
│   ├── PointsError           points, a score or a bound is not an exact number, or beyond a limit
│   ├── IdentityError         a user id, submission id or segment is malformed
│   ├── TimeError             a time is in the future, has no zone, or lies outside what the board can hold
│   ├── CursorError           a cursor does not belong to what was asked for
│   ├── MessageError          a message over a WebSocket was not understood
│   └── SubscriptionsError    a client follows as much as one may
├── UnknownBoardError         there is no such board
├── UnknownWindowError        the board has no such window, period or segment
├── UnknownUserError          nothing is known of the user
├── NotRankedError            the user has no entry in the ranking
├── ClosedPeriodError         every window that could take the submission is closed
├── ScoreRangeError           the score would leave the board's range
├── UpdateError               the board does not allow this update
├── ConflictError             the submission id was used with other points
├── DenseRankError            dense ranks are not kept by this board
├── SegmentLimitError         the segment has its full number of values
├── SeasonError               another season is running
├── LayoutError               the data in Redis was written under other rules
├── LogMismatchError          Redis has events that the log has not
├── NoLogError                the board keeps no log
├── UnsupportedError          the server that the app runs under can't do it
├── TemporaryError            it passes: try again after `retry_after` seconds
│   ├── RateLimitError        the user has submitted as often as the board allows in a minute
│   ├── MessageRateError      a client sends more messages than one may in a minute
│   ├── ClientsError          the process has as many live clients as it takes
│   ├── JournalFullError      the journal has no room until a worker drains it
│   ├── StoreUnavailableError Redis can't be reached or does not answer in time
│   │   ├── BehindError       Redis has lost events: it gives no numbers until they are brought back
│   │   └── MovedError        what was looked up before the call had changed when it came
│   │       └── PastError     the log takes nothing any more of the time at which the call was planned
│   └── LogUnavailableError   the database of the log can't be reached
├── AccessError               the caller may not do this
│   ├── UnauthorizedError     no valid token or signature came with the request
│   │   └── TicketError       the ticket was not given by this server, or has run out
│   ├── ForbiddenError        the token's role is not enough, or nobody has the role
│   │   └── OriginError       a page from elsewhere opened the connection
│   └── ReplayError           the signed request was seen before
└── ProtocolError             Redis was called in a way the scripts do not understand: a bug
"""

from __future__ import annotations


class LeaderboardError(Exception):
    """Base of every error of this package; `code` is stable."""

    code = "error"


class ConfigurationError(LeaderboardError):
    code = "configuration"


class NoAppError(ConfigurationError, RuntimeError):
    """A RuntimeError too: by that, proxies know that there is nothing behind them."""


class InputError(LeaderboardError):
    code = "bad_input"


class PointsError(InputError):
    code = "bad_points"


class IdentityError(InputError):
    code = "bad_id"


class TimeError(InputError):
    code = "bad_time"


class CursorError(InputError):
    code = "bad_cursor"


class MessageError(InputError):
    code = "bad_message"


class SubscriptionsError(InputError):
    code = "too_many_subscriptions"


class UnknownBoardError(LeaderboardError, KeyError):
    code = "unknown_board"
    __str__ = Exception.__str__  # KeyError would put it in quotes


class UnknownWindowError(LeaderboardError):
    code = "unknown_window"


class UnknownUserError(LeaderboardError):
    code = "unknown_user"


class NotRankedError(LeaderboardError):
    code = "not_ranked"


class ClosedPeriodError(LeaderboardError):
    code = "closed_period"


class ScoreRangeError(LeaderboardError):
    code = "score_range"


class UpdateError(LeaderboardError):
    code = "update_not_allowed"


class ConflictError(LeaderboardError):
    code = "submission_conflict"


class DenseRankError(LeaderboardError):
    code = "dense_not_kept"


class SegmentLimitError(LeaderboardError):
    code = "segment_limit"


class SeasonError(LeaderboardError):
    code = "season"


class LayoutError(LeaderboardError):
    code = "layout"


class LogMismatchError(LeaderboardError):
    code = "log_mismatch"


class NoLogError(LeaderboardError):
    code = "no_log"


class UnsupportedError(LeaderboardError):
    code = "live_unsupported"


class TemporaryError(LeaderboardError):
    """Base of errors that pass; `retry_after` is how many seconds to wait before trying again."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimitError(TemporaryError):
    code = "rate_limited"


class MessageRateError(TemporaryError):
    code = "too_many_messages"


class ClientsError(TemporaryError):
    code = "live_full"


class JournalFullError(TemporaryError):
    code = "journal_full"


class StoreUnavailableError(TemporaryError):
    code = "store_unavailable"


class BehindError(StoreUnavailableError):
    pass


class MovedError(StoreUnavailableError):
    pass


class PastError(MovedError):
    pass


class LogUnavailableError(TemporaryError):
    code = "log_unavailable"


class AccessError(LeaderboardError):
    code = "access"


class UnauthorizedError(AccessError):
    code = "unauthorized"


class TicketError(UnauthorizedError):
    code = "bad_ticket"


class ForbiddenError(AccessError):
    code = "forbidden"


class OriginError(ForbiddenError):
    code = "bad_origin"


class ReplayError(AccessError):
    code = "replayed"


class ProtocolError(LeaderboardError):
    code = "protocol"
