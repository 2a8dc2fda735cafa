"""The Lua bundle: up to date, told right by its headers, and part of the wheel."""

from __future__ import annotations

import hashlib
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from flask_leaderboard.store.bundle import library_text, manifest, script_text
from flask_leaderboard.store.calls import error_of
from tests.servers import FLAVOURS

ROOT = Path(__file__).resolve().parent.parent
BUILD: dict[str, Any] = runpy.run_path(str(ROOT / "lua" / "build.py"))


def test_dist_is_up_to_date() -> None:
    assert BUILD["stale_files"](BUILD["Bundle"]().files()) == []


def test_check_tells_of_stale_files(tmp_path: Path) -> None:
    copy = tmp_path / "lua"
    subprocess.run(["cp", "-r", str(ROOT / "lua"), str(copy)], check=True)
    build = [sys.executable, str(copy / "build.py"), "--check"]
    assert subprocess.run(build, check=False).returncode == 0
    include = copy / "src" / "includes" / "text.lua"
    include.write_text(include.read_text() + "\n-- changed\n")
    (copy / "dist" / "scripts" / "gone.lua").write_text("return 1")
    told = subprocess.run(build, check=False, capture_output=True, text=True)
    assert told.returncode == 1
    assert "scripts/submit.lua" in told.stderr
    assert "scripts/gone.lua" in told.stderr


def header_of(**tags: list[str]) -> Any:
    return BUILD["Source"]("sample", [], {"access": ["read"], **tags}, "return call('GET', KEYS[1])")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (header_of(error=["LBCALL  wrong"]), "tells of"),
        (header_of(access=["write"]), "is marked"),
        (header_of(include=["text"]), "without using"),
    ],
)
def test_headers_that_disagree_with_the_code_are_refused(source: Any, message: str) -> None:
    with pytest.raises(Exception, match=message):
        BUILD["check_header"](source, source.code)


def test_manifest_names_the_scripts_by_their_sha1() -> None:
    for name, entry in manifest()["commands"].items():
        assert entry["sha1"] == hashlib.sha1(script_text(name).encode()).hexdigest()
    assert manifest()["library"]["sha1"] == hashlib.sha1(library_text().encode()).hexdigest()


def test_the_protocol_is_in_every_name() -> None:
    protocol = manifest()["protocol"]
    assert manifest()["key_prefix"] == f"lb{protocol}"
    assert manifest()["library"]["name"] == f"leaderboard_v{protocol}"
    assert all(entry["function"].startswith(f"leaderboard_v{protocol}_") for entry in manifest()["commands"].values())
    assert library_text().startswith(f"#!lua name=leaderboard_v{protocol}\n")


def test_every_code_has_an_error_of_its_own_in_python() -> None:
    codes = {item["name"] for entry in manifest()["commands"].values() for item in (*entry["errors"], *entry["refusals"])}
    assert [code for code in sorted(codes) if error_of(f"{code} text") is None] == []


def test_scripts_walk_nothing_and_block_nothing() -> None:
    forbidden = {"KEYS", "SCAN", "HSCAN", "ZSCAN", "SSCAN", "DEL", "HGETALL", "SMEMBERS", "TIME", "SORT"}
    for entry in manifest()["commands"].values():
        assert forbidden.isdisjoint(entry["redis_commands"])


@pytest.mark.parametrize("name", [name for name, flavour in FLAVOURS.items() if flavour.functions])
def test_reads_may_run_on_replicas(name: str, backends: Any) -> None:
    client: Redis = backends(name).client
    client.function_load(library_text(), replace=True)
    for command, entry in manifest()["commands"].items():
        with pytest.raises(
            ResponseError, match="Can not execute a script with write flag|LBCALL" if entry["access"] == "write" else "LBCALL"
        ):
            client.execute_command("FCALL_RO", entry["function"], 0)
        assert command


def test_the_wheel_carries_the_bundle_and_the_whole_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    expected = {"manifest.json", "leaderboard.lua", *(f"scripts/{name}.lua" for name in manifest()["commands"])}
    assert {f"flask_leaderboard/lua/{name}" for name in expected} <= names
    package = (path for path in (ROOT / "flask_leaderboard").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert {str(path.relative_to(ROOT)) for path in package} <= names
