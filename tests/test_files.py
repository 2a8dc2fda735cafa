"""``flask leaderboard export`` and ``import``: files out, files in, and files that mean harm."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from flask_leaderboard import AllTime, Board, LeaderboardError, current_leaderboards, submission_counted
from flask_leaderboard.cli import importing
from flask_leaderboard.cli.lines import LONGEST_LINE, Line, read_lines
from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.errors import LogUnavailableError
from flask_leaderboard.rules.instants import to_datetime
from flask_leaderboard.rules.submission import Submission
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.databases import DATABASES, DatabaseServer
from tests.web import arena, make_app

DAY = 86_400_000_000
NASTY = "=cmd|\" '🦊,;"


def log_board(**rules: Any) -> Board:
    return Board("old", **{"mode": "ledger", "updates": ("latest",), "windows": [AllTime()], "segments": ["country"], **rules})


@pytest.fixture
def app(clock: SetClock, tmp_path: Path) -> Iterator[Flask]:
    app = make_app([arena(mode="ledger"), arena_without_log(), log_board(), floats()], clock=clock, instance=tmp_path / "game")
    yield app
    service_of(app).hub.close()


def arena_without_log() -> Board:
    return Board("quick", windows=[AllTime()], per_minute=2)


def floats() -> Board:
    return Board("floats", mode="ledger", score_type="float", tie_break="member", update="best")


def run(app: Flask, *words: object, code: int = 0, **more: Any) -> Result:
    result = app.test_cli_runner().invoke(args=["leaderboard", *map(str, words)], **more)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def scores(app: Flask, board: str = "old") -> dict[str, float]:
    with app.app_context():
        return {entry.user_id: entry.score for entry in current_leaderboards[board].top(1000).entries}


@pytest.fixture
def played(app: Flask, clock: SetClock) -> Flask:
    with app.app_context():
        board = current_leaderboards["old"]
        board.submit("ann", 5, submission_id="m1", segments={"country": "NL"}, user_name="Ann")
        clock.now += 1_234_567
        board.submit(NASTY, -3, at=to_datetime(clock.now - DAY), update="latest")
        board.remove("ann")
    return app


LOG = [
    {
        "number": 1,
        "kind": "submit",
        "user_id": "ann",
        "points": 5,
        "at": "2050-07-02T12:00:00+00:00",
        "taken_at": "2050-07-02T12:00:00+00:00",
        "update": "increment",
        "segments": {"country": "NL"},
        "submission_id": "m1",
        "refused": None,
    },
    {
        "number": 2,
        "kind": "submit",
        "user_id": NASTY,
        "points": -3,
        "at": "2050-07-01T12:00:01.234567+00:00",
        "taken_at": "2050-07-02T12:00:01.234567+00:00",
        "update": "latest",
        "segments": {},
        "submission_id": None,
        "refused": None,
    },
    {
        "number": 3,
        "kind": "remove",
        "user_id": "ann",
        "points": None,
        "at": "2050-07-02T12:00:01.234567+00:00",
        "taken_at": "2050-07-02T12:00:01.234567+00:00",
        "update": None,
        "segments": {},
        "submission_id": None,
        "refused": None,
    },
]


# Export


def test_log_as_json_lines(played: Flask, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    assert "3 rows exported" in run(played, "export", "--board", "old", "--what", "log", file).stderr
    assert [json.loads(line) for line in file.read_text().splitlines()] == LOG


def test_log_as_csv_on_stdout(played: Flask) -> None:
    result = run(played, "export", "--board", "old", "--what", "log", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["points"], row["segments"], row["submission_id"]) for row in rows] == [
        ("5", "country=NL", "m1"),
        ("-3", "", ""),
        ("",) * 3,
    ]
    assert [row["user_id"] for row in rows] == ["ann", NASTY, "ann"]
    assert list(rows[0]) == list(LOG[0])


def test_ranking_is_exported_in_pages(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.cli.exporting.LARGEST_PAGE", 7)
    with app.app_context():
        submissions = [Submission(f"user{n}", n // 2, segments={"country": "NL"}, user_name=f"U {n}") for n in range(30)]
        current_leaderboards["arena"].submit_many(submissions)
    file = tmp_path / "top.csv"
    run(app, "export", "--what", "ranking", "--window", "daily", "--segment", "country=NL", file)
    rows = list(csv.reader(file.read_text().splitlines()))
    assert rows[:3] == [
        ["rank", "user_id", "user_name", "score", "at"],
        ["1", "user28", "U 28", "14", "2050-07-02T12:00:00+00:00"],
        ["1", "user29", "U 29", "14", "2050-07-02T12:00:00+00:00"],
    ]
    assert [row[0] for row in rows[1:]] == [str(n // 2 * 2 + 1) for n in range(30)]
    assert {row[1] for row in rows[1:]} == {f"user{n}" for n in range(30)}


def test_ranking_that_changes_meanwhile_is_told_of(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.cli.exporting.LARGEST_PAGE", 1)
    with app.app_context():
        board = current_leaderboards["old"]
        board.submit_many([Submission("ann", 1), Submission("bob", 2)])
        top = board.top

        def top_and_submit(*words: Any, **how: Any) -> Any:
            page = top(*words, **how)
            board.submit("zoe", 1)
            return page

        monkeypatch.setattr(board, "top", top_and_submit)
        assert "meanwhile" in run(app, "export", "--board", "old", "--what", "ranking", tmp_path / "a.csv").stderr


def test_log_of_every_database_comes_back(
    clock: SetClock, tmp_path: Path, database_servers: Callable[[str], DatabaseServer]
) -> None:
    """A log that was exported from one database and imported into the next is the same, to the last digit."""
    before = None
    values = (0.1, -1e-300, 1.7976931348623157e308, 2.0**60, 5e-324)
    for kind in DATABASES:
        url = f"sqlite:///{tmp_path}/a.sqlite3" if kind == "sqlite" else database_servers(kind).empty()
        app = make_app([floats()], clock=clock, database_url=url)
        run(app, "db", "upgrade")
        if before is None:
            with app.app_context():
                current_leaderboards.default.submit_many([Submission(f"ü {n}", value, f"m{n}") for n, value in enumerate(values)])
        else:
            unneeded = [word for name in ("number", "kind", "taken_at", "refused") for word in ("--ignore", name)]
            run(app, "import", before, *unneeded)
        file = tmp_path / f"{kind}.{'csv' if kind == 'sqlite' else 'jsonl'}"
        run(app, "export", "--what", "log", file)
        lines = file.read_text().splitlines()
        rows = list(csv.DictReader(lines)) if kind == "sqlite" else [json.loads(line) for line in lines]
        found = [(row["user_id"], float(row["points"]), row["submission_id"]) for row in rows]
        assert found == [(f"ü {n}", value, f"m{n}") for n, value in enumerate(values)]
        before = file
        service_of(app).hub.close()


def test_broken_export_leaves_the_file_before(played: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.cli.exporting.LARGEST_PAGE", 2)
    file = tmp_path / "log.csv"
    file.write_text("the one before")
    with played.app_context():
        log = current_leaderboards["old"].log
    read = log.read

    def read_once(after: int, limit: int) -> Any:
        if after:
            raise LogUnavailableError("the log is away")
        return read(after, limit)

    monkeypatch.setattr(log, "read", read_once)
    assert "the log is away" in run(played, "export", "--board", "old", "--what", "log", file, code=1).stderr
    assert file.read_text() == "the one before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game", "log.csv"]


def test_log_with_a_gap_is_not_exported(played: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.cli.exporting.LARGEST_PAGE", 1)
    with played.app_context():
        log = current_leaderboards["old"].log
    read = log.read
    monkeypatch.setattr(log, "read", lambda after, limit: read(after + 1 if after else after, limit))
    assert "meanwhile" in run(played, "export", "--board", "old", "--what", "log", tmp_path / "a.csv", code=1).stderr
    assert not (tmp_path / "a.csv").exists()


def test_pruned_log_says_so(played: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with played.app_context():
        log = current_leaderboards["old"].log
    read = log.read
    monkeypatch.setattr(log, "read", lambda after, limit: read(max(after, 1), limit))
    assert "Events 1 to 1 are not kept" in run(played, "export", "--board", "old", "--what", "log", tmp_path / "a.csv").stderr


def test_export_goes_through_links_and_into_pipes(played: Flask, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "there" / "log.csv")
    run(played, "export", "--board", "old", "--what", "log", link)
    assert link.is_symlink()
    assert len((tmp_path / "there" / "log.csv").read_text().splitlines()) == 4
    run(played, "export", "--board", "old", "--what", "log", "--format", "csv", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_spreadsheet_is_not_given_formulas(played: Flask) -> None:
    words = ("export", "--board", "old", "--what", "log", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(run(played, *words, "--spreadsheet").stdout)))
    assert (rows[1]["user_id"], rows[1]["points"], rows[0]["user_id"]) == (f"'{NASTY}", "-3", "ann")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--what", "log"], 2, "name the format"),
        (["--what", "log", "a.txt"], 2, "name the format"),
        (["a.csv"], 2, "--what"),
        (["--what", "log", "--window", "daily", "a.csv"], 2, "--what ranking"),
        (["--what", "log", "--board", "quick", "--format", "csv"], 1, "keeps no log"),
        (["--what", "ranking", "/nonexistent/a.csv"], 1, "No such file"),
        (["--what", "ranking", "--window", "nope", "--format", "csv"], 1, "no window"),
    ],
)
def test_export_refuses(app: Flask, words: list[str], status: int, told: str) -> None:
    assert told in run(app, "export", *words, code=status).stderr


# Import


def test_import_of_csv(app: Flask, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(
        "﻿points,user_id,segments,user_name,update,at\r\n5,ann,country=NL,Änn,,\r\n\r\n7,bob,,,latest,2020-01-01T00:00:00Z\r\n"
    )
    assert run(app, "import", "--board", "old", file).stdout == "2 lines: 2 counted, 0 had counted before, 0 refused.\n"
    assert scores(app) == {"bob": 7, "ann": 5}
    with app.app_context():
        board = current_leaderboards["old"]
        (ann,) = board.top(10, segment="country=NL").entries
        assert (ann.user_id, ann.user_name) == ("ann", "Änn")
        assert [(event.at, event.update) for event in board.history("bob")] == [(1_577_836_800_000_000, "latest")]


def test_import_of_json_lines_from_stdin(app: Flask) -> None:
    first = '{"user_id": 17, "points": 5, "submission_id": 3, "segments": {"country": "NL"}, "at": null}'
    text = first + '\n{"user_id": "bob", "points": 1}'
    run(app, "import", "--board", "old", "--format", "jsonl", "-", input=text)
    assert scores(app) == {"17": 5, "bob": 1}


def test_import_without_a_log_meets_the_limits_of_the_board(app: Flask) -> None:
    text = "user_id,points\n" + "ann,1\n" * 4
    result = run(app, "import", "--board", "quick", "--format", "csv", "-", input=text, code=1)
    assert result.stdout == "4 lines: 2 counted, 0 had counted before, 2 refused.\n"
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["line 4", "line 5"]


def test_import_again_counts_nothing_twice(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "LINES_A_BATCH", 10)
    file = tmp_path / "scores.csv"
    rows = "".join(f"user{n % 7},{n},{'own' if n == 3 else ''}\n" for n in range(35))
    file.write_text(f"user_id,points,submission_id\n{rows}")
    words = ("import", "--board", "old", "--ids-from-lines", "old-game-", file)
    submit_many = Leaderboard.submit_many
    calls = iter((True, True, False))

    def break_down(board: Leaderboard, *words: Any, **how: Any) -> Any:
        if next(calls):
            return submit_many(board, *words, **how)
        raise LogUnavailableError("the log is away")

    with monkeypatch.context() as patch:
        patch.setattr(Leaderboard, "submit_many", break_down)
        told = run(app, *words, code=1).stderr
        assert "the log is away. The lines before 22 are done, 22 to 31 may be or not; run it again" in told
    assert run(app, *words).stdout == "35 lines: 15 counted, 20 had counted before, 0 refused.\n"
    assert scores(app) == {f"user{n}": sum(range(n, 35, 7)) for n in range(7)}
    with app.app_context():
        events = current_leaderboards["old"].log.read(0, 100)
    assert [event.submission_id for event in events] == ["own" if n == 3 else f"old-game-{n + 2}" for n in range(35)]


def test_stop_warns_of_lines_without_ids(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*words: Any, **how: Any) -> Any:
        raise LogUnavailableError("away")

    monkeypatch.setattr(Leaderboard, "submit_many", break_down)
    told = run(app, "import", "--format", "csv", "-", input="user_id,points\nann,1\n", code=1).stderr
    assert "have no submission_id" in told


BROKEN: list[tuple[bytes, str]] = [
    (b'{"user_id": "a", "points": 1}{}', "not JSON: Extra data"),
    (b"[1]", "must be an object"),
    (b'{"user_id": "a", "points": 1, "points": 2}', "'points' stands twice"),
    (b'{"user_id": "a", "points": NaN}', "NaN is no number"),
    (b'{"user_id": "a", "points": 0.1}', "must be whole"),
    (b'{"user_id": "a", "points": 9007199254740993}', "2^53"),
    (b'{"user_id": "a", "points": 1e400}', "finite"),
    (b'{"user_id": "a", "points": "5"}', "must be a number"),
    (b'{"user_id": "a", "points": true}', "must be a number"),
    (b'{"user_id": "a"}', "'points' must be given"),
    (b'{"points": null}', "'user_id' and 'points' must be given"),
    (b'{"user_id": 1.5, "points": 1}', "text or a whole number"),
    (b'{"user_id": "a\\u0000", "points": 1}', "control characters"),
    (b'{"user_id": "a\x00", "points": 1}', "control character"),
    (b'{"user_id": "\\ud800", "points": 1}', "not valid Unicode"),
    (b'{"user_id": "\xff", "points": 1}', "not UTF-8: invalid start byte at byte 13"),
    (b'{"user_id": "a/b", "points": 1}', "must not have '/'"),
    (b'{"user_id": "a", "points": 1, "score": 2}', "'score' is none of user_id"),
    (b'{"user_id": "a", "points": 1, "at": "yesterday"}', "'at' must be a time"),
    (b'{"user_id": "a", "points": 1, "at": "2026-11-18T12:00:00"}', "'at' must have a time zone"),
    (b'{"user_id": "a", "points": 1, "at": 5}', "'at' must be a time"),
    (b'{"user_id": "a", "points": 1, "at": "2199-01-01T00:00:00Z"}', "in the future"),
    (b'{"user_id": "a", "points": 1, "segments": {"country": 5}}', "must be an object of texts"),
    (b'{"user_id": "a", "points": 1, "segments": "country=NL"}', "must be an object of texts"),
    (b'{"user_id": "a", "points": 1, "segments": {"planet": "earth"}}', "no segment 'planet'"),
    (b'{"user_id": "a", "points": 1, "user_name": 5}', "'user_name' must be text"),
    (b'{"user_id": "a", "points": 1, "update": "best"}', "does not allow update 'best'"),
    (b'{"user_id": "a", "points": 1, "update": ["best"]}', "'update' must be text"),
    (b'{"user_id": "a", "points": ' + b"1" * 5000 + b"}", "too many digits"),
    (b"[" * 50_000, "nested too deeply"),
    (b'{"user_id": "' + b"a" * LONGEST_LINE + b'", "points": 1}', "more than 65,536 bytes"),
    (b'{"user_id": "' + b"a" * 300 + b'", "points": 1}', "has 300 bytes"),
]


@pytest.mark.parametrize("dry", [True, False])
def test_broken_json_lines_are_told_and_the_others_count(app: Flask, tmp_path: Path, dry: bool) -> None:
    file, rejects = tmp_path / "scores.jsonl", tmp_path / "refused.jsonl"
    file.write_bytes(b"".join(b'{"user_id": "good", "points": 1}\n' + line + b"\n" for line, _ in BROKEN))
    words = ["import", "--board", "old", file, "--rejects", rejects, *(["--dry-run"] if dry else [])]
    told = run(app, *words, code=1).stdout
    assert told.startswith(f"{2 * len(BROKEN)} lines: {len(BROKEN)} {'are right' if dry else 'counted'}")
    refused = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [row["line"] for row in refused] == [2 * place + 2 for place in range(len(BROKEN))]
    for row, (_, reason) in zip(refused, BROKEN, strict=True):
        assert reason in row["error"]
        assert len(row["error"]) <= 301
    assert scores(app) == ({} if dry else {"good": len(BROKEN)})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a", "1 values for 3 columns"),
        (b"a,1,,", "4 values for 3 columns"),
        (b'"a,1,', "not CSV: unexpected end of data"),
        (b'"a"b,1,', "not CSV"),
        (b"a\rb,1,", "not CSV"),
        (b"a\x00,1,", "control characters"),
        (b"\xff,1,", "not UTF-8"),
        (b",1,", "'user_id' must be given"),
        (b"a,,", "'points' must be given"),
        (b"a, 5,", "' 5' is not a number"),
        (b"a,+5,", "'+5' is not a number"),
        (b"a,0x10,", "'0x10' is not a number"),
        (b"a,5_0,", "'5_0' is not a number"),
        ("a,٣,".encode(), "is not a number"),
        (b"a,0.1,", "must be whole"),
        (b"a,inf,", "'inf' is not a number"),
        (b"a,1,NL", "must stand as 'country=NL'"),
        (b"a,1,country=NL country=BE", "stands twice"),
        (b"a,1,country=", "no value of segment"),
        (b"a" * (LONGEST_LINE + 1), "more than 65,536 bytes"),
    ],
)
def test_broken_csv_is_told(app: Flask, tmp_path: Path, line: bytes, reason: str) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes(b"user_id,points,segments\ngood,1,\n" + line + b"\ngood,2,\n")
    result = run(app, "import", "--board", "old", file, code=1)
    assert result.stdout.startswith("3 lines: 2 counted")
    (told,) = result.stderr.splitlines()
    assert told.startswith("line 3: ")
    assert reason in told
    assert scores(app) == {"good": 3}


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", "the file is empty"),
        (b"user_id\n", "'points' is not there"),
        (b"user_id,points,points\n", "'points' stands there twice"),
        (b"user_id;points\n", "'user_id;points' is none of"),
        ("user_id,points".encode("utf-16"), "not UTF-8"),
        (b"user_id,points,score\n", "--ignore 'score'"),
        (b"x" * 10 * LONGEST_LINE, "more than 65,536 bytes"),
    ],
)
def test_header_that_is_wrong_stops_the_import(app: Flask, tmp_path: Path, header: bytes, reason: str) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes(header)
    assert reason in run(app, "import", file, code=1).stderr


def test_line_of_the_longest_length_is_read() -> None:
    frame = b'{"user_id": "a", "points": 1}'
    padded = frame + b" " * (LONGEST_LINE - len(frame))
    for end in (b"\n", b"\r\n", b""):
        assert [line.found for line in read_lines(io.BytesIO(padded + end), "jsonl")] == [Submission("a", 1)]
    lines = list(read_lines(io.BytesIO(padded + b" \r\n" + frame), "jsonl"))
    assert isinstance(lines[0].found, LeaderboardError)
    assert lines[1] == Line(2, Submission("a", 1))


def test_many_refused_lines_are_not_all_told(app: Flask, tmp_path: Path) -> None:
    result = run(app, "import", "--format", "csv", "-", input="user_id,points\n" + "a,x\n" * 250, code=1)
    told = result.stderr.splitlines()
    assert (len(told), told[-1]) == (101, "… and 150 more: --rejects FILE keeps them all")


def test_closed_periods_refuse_history_also_in_a_dry_run(app: Flask) -> None:
    line = '{"user_id": "a", "points": 1, "submission_id": "m1", "at": "2050-06-01T00:00:00Z"}'
    for more in ([], ["--dry-run"]):
        assert "is closed in" in run(app, "import", "--format", "jsonl", "-", *more, input=line, code=1).stderr


def test_refusal_by_the_score_is_told(clock: SetClock, tmp_path: Path) -> None:
    app = make_app([log_board(score_range=(0, 10))], clock=clock, instance=tmp_path)
    result = run(app, "import", "--format", "csv", "-", input="user_id,points\na,9\na,9\na,1\n", code=1)
    assert result.stderr.startswith("line 3: ")
    assert scores(app) == {"a": 10}
    service_of(app).hub.close()


def test_redis_away_is_told(clock: SetClock, tmp_path: Path) -> None:
    app = make_app([log_board()], clock=clock, instance=tmp_path, redis_url=f"unix://{tmp_path}/nobody.sock")
    told = run(app, "import", "--format", "csv", "-", input="user_id,points\na,9\n").stdout
    assert "1 counted" in told
    assert "1 wait for Redis" in told
    service_of(app).hub.close()


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["-"], 2, "name the format"),
        (["/nonexistent/a.csv"], 1, "No such file"),
        (["--format", "csv", "-", "--board", "nope"], 1, "no board 'nope'"),
        (["--format", "csv", "-", "--ids-from-lines", "a\tb"], 1, "--ids-from-lines"),
        (["--format", "csv", "-", "--rejects", "/nonexistent/r.csv"], 1, "No such file"),
    ],
)
def test_import_refuses(app: Flask, words: list[str], status: int, told: str) -> None:
    assert told in run(app, "import", *words, code=status, input="user_id,points\na,1\n").stderr
    assert scores(app, "arena") == {}


def test_signals_tell_of_what_was_imported(app: Flask) -> None:
    heard: list[Any] = []

    def hear(sender: Flask, **what: Any) -> None:
        heard.append(what["receipt"].user_id)

    with submission_counted.connected_to(hear, app):
        run(app, "import", "--format", "csv", "-", input="user_id,points\na,1\nb,2\n")
    assert heard == ["a", "b"]
