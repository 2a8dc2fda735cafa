"""The bundle against `lua/vectors.json`: calls and replies on every server, and the periods that instants fall into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from flask_leaderboard import AllTime, Daily, Every, Monthly, Tournament, Weekly
from flask_leaderboard.rules.instants import to_instant
from flask_leaderboard.rules.windows import Period, Window
from tests.servers import BACKENDS, FLAVOURS

LUA = Path(__file__).resolve().parent.parent / "lua"
VECTORS = json.loads((LUA / "vectors.json").read_text("utf-8"))
MANIFEST = json.loads((LUA / "dist" / "manifest.json").read_text("utf-8"))
COMMANDS: dict[str, Any] = MANIFEST["commands"]
CALENDAR: dict[str, type[Window]] = {"all": AllTime, "daily": Daily, "weekly": Weekly, "monthly": Monthly}
FUNCTION_BACKENDS = [name for name in BACKENDS if name == "fake" or FLAVOURS[name].functions]

each_case = pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])


class Run(Protocol):
    def __call__(self, client: Redis, command: str, keys: list[str], args: list[str]) -> Any: ...


def run_script(client: Redis, command: str, keys: list[str], args: list[str]) -> Any:
    sha1 = COMMANDS[command]["sha1"]
    try:
        return client.evalsha(sha1, len(keys), *keys, *args)
    except NoScriptError:
        assert client.script_load((LUA / "dist" / COMMANDS[command]["script"]).read_text("utf-8")) == sha1
        return client.evalsha(sha1, len(keys), *keys, *args)


def run_function(client: Redis, command: str, keys: list[str], args: list[str]) -> Any:
    return client.fcall(COMMANDS[command]["function"], len(keys), *keys, *args)


def plain(reply: Any) -> Any:
    """Give a reply with its texts decoded."""
    if isinstance(reply, list):
        return [plain(part) for part in reply]
    return reply.decode() if isinstance(reply, bytes) else reply


def masked(reply: Any, expected: Any) -> Any:
    """Give a reply with its refusals cut down to their code where only that is expected."""
    if isinstance(expected, list) and isinstance(reply, list) and len(expected) == len(reply):
        return [masked(part, wanted) for part, wanted in zip(reply, expected, strict=True)]
    if isinstance(expected, dict) and isinstance(reply, str) and reply.startswith("refused "):
        return {"refused": reply.split(" ")[1]}
    return reply


def outcome(run: Run, client: Redis, step: dict[str, Any]) -> dict[str, Any]:
    """Take a step and describe what came of it in the words of the vectors."""
    try:
        if "redis" in step:
            reply = client.execute_command(*step["redis"])
        else:
            reply = run(client, step["command"], step["keys"], step["args"])
    except ResponseError as error:
        message = str(error)
        return {"error": message.partition(" ")[0] if "error" in step else message}
    return {"reply": masked(plain(reply), step.get("reply"))}


def play(run: Run, client: Redis, case: dict[str, Any]) -> None:
    for number, step in enumerate(case["steps"], 1):
        expected = {key: step[key] for key in ("reply", "error") if key in step}
        assert outcome(run, client, step) == expected, f"step {number}: {step}"


@each_case
def test_script(case: dict[str, Any], client: Redis) -> None:
    play(run_script, client, case)


@each_case
@pytest.mark.parametrize("backend_name", FUNCTION_BACKENDS)
def test_function(case: dict[str, Any], client: Redis) -> None:
    client.function_load((LUA / "dist" / MANIFEST["library"]["file"]).read_text("utf-8"), replace=True)
    play(run_function, client, case)


def codes_seen(command: str) -> Iterator[tuple[str, str]]:
    """List the codes that the cases expect of a command."""
    for case in VECTORS["cases"]:
        for step in case["steps"]:
            if step.get("command") == command:
                if "error" in step:
                    yield "errors", step["error"]
                else:
                    yield from (("refusals", part["refused"]) for part in step["reply"] if isinstance(part, dict))


@pytest.mark.parametrize("command", COMMANDS)
def test_codes_of_manifest_and_vectors_agree(command: str) -> None:
    declared = {(kind, code["name"]) for kind in ("errors", "refusals") for code in COMMANDS[command][kind]}
    assert set(codes_seen(command)) == declared


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_covered(command: str) -> None:
    steps = [step for case in VECTORS["cases"] for step in case["steps"] if step.get("command") == command]
    assert any("reply" in step for step in steps)


def test_protocol() -> None:
    assert VECTORS["protocol"] == MANIFEST["protocol"]


def instant(text: str) -> int:
    return to_instant(datetime.fromisoformat(text))


def build_window(described: dict[str, Any]) -> Window:
    """Build the window that a vector describes."""
    options = {key: value for key, value in described.items() if key != "type"}
    match described["type"]:
        case "every":
            return Every(timedelta(seconds=options["seconds"]))
        case "tournament":
            return Tournament(options["name"], datetime.fromisoformat(options["start"]), datetime.fromisoformat(options["end"]))
        case kind:
            return CALENDAR[kind](**options)


def period_name(vector: dict[str, Any]) -> str:
    return " ".join(map(str, (*vector["window"].values(), vector["at"])))


@pytest.mark.parametrize("vector", VECTORS["periods"], ids=period_name)
def test_period(vector: dict[str, Any]) -> None:
    window = build_window(vector["window"])
    found = window.period_at(instant(vector["at"]))
    if vector["period"] is None:
        assert found is None
    else:
        assert found == Period(vector["period"], instant(vector["start"]), instant(vector["end"]))
        assert window.period(vector["period"]) == found
