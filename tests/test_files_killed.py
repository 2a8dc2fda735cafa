"""An import that is killed and run again, and an export that is killed at the worst moment."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from flask import Flask

from flask_leaderboard import AllTime, Board, current_leaderboards
from flask_leaderboard.errors import StoreUnavailableError
from flask_leaderboard.web.service import service_of
from tests.waiting import until
from tests.web import make_app

LINES = 3500
GAME = """
import os, signal, sys
from pathlib import Path
from flask import Flask
from flask.cli import ScriptInfo
from flask_leaderboard import AllTime, Board, Leaderboard, Leaderboards

def die(*words, **more):
    os.kill(os.getpid(), signal.SIGKILL)

app = Flask("game", instance_path=sys.argv[1])
app.config["LEADERBOARD_REDIS_URL"] = "memory://"
Leaderboards(app, boards=[Board("arena", mode="ledger", windows=[AllTime()])])
exec(sys.argv[2])
app.cli.main(["leaderboard", *sys.argv[3:]], obj=ScriptInfo(create_app=lambda: app))
"""
DIE_BEFORE_THE_THIRD_BATCH = """
left = [die, Leaderboard.submit_many, Leaderboard.submit_many]
Leaderboard.submit_many = lambda *words, **more: left.pop()(*words, **more)
"""
DIE_AFTER_THE_COMMIT_OF_THE_SECOND_BATCH = """
from flask_leaderboard.engine.folding import Folder
left = [die, *[Folder.begin] * 7]  # a batch is four parts
Folder.begin = lambda *words: left.pop()(*words)
"""
DIE_BEFORE_THE_RENAME = "Path.replace = die"


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    return make_app([Board("arena", mode="ledger", windows=[AllTime()])], instance=tmp_path)


def run(folder: Path, death: str, *words: object) -> tuple[int, str]:
    command = [sys.executable, "-c", GAME, str(folder), death, *map(str, words)]
    told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    return told.returncode, told.stdout or told.stderr


@pytest.mark.parametrize("death", [DIE_BEFORE_THE_THIRD_BATCH, DIE_AFTER_THE_COMMIT_OF_THE_SECOND_BATCH])
def test_import_that_was_killed_is_run_again(app: Flask, tmp_path: Path, death: str) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("user_id,points\n" + "".join(f"user{n % 10},{n}\n" for n in range(LINES)))
    words = ("import", file, "--ids-from-lines", "old-")
    assert run(tmp_path, death, *words)[0] == -signal.SIGKILL
    assert run(tmp_path, "", *words) == (0, "3,500 lines: 1,500 counted, 2,000 had counted before, 0 refused.\n")
    with app.app_context():
        board = current_leaderboards["arena"]
        assert board.log.head() == LINES
        page = until(lambda: board.top(20), passing=(StoreUnavailableError,))  # this app's Redis is empty: it is brought back
        assert {entry.user_id: entry.score for entry in page.entries} == {f"user{n}": sum(range(n, LINES, 10)) for n in range(10)}
    service_of(app).hub.close()


def test_export_that_was_killed_leaves_the_file_before(app: Flask, tmp_path: Path) -> None:
    with app.app_context():
        current_leaderboards["arena"].submit("mary", 5)
    service_of(app).hub.close()
    target = tmp_path / "there" / "log.csv"
    target.parent.mkdir()
    target.write_text("the one before")
    assert run(tmp_path, DIE_BEFORE_THE_RENAME, "export", "--what", "log", target)[0] == -signal.SIGKILL
    assert target.read_text() == "the one before"
    (part,) = [path for path in target.parent.iterdir() if path != target]
    assert part.name.endswith(".part")
    assert run(tmp_path, "", "export", "--what", "log", target)[0] == 0
    assert "mary" in target.read_text()
