"""The house: imports run one way, and importing the package does nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "flask_leaderboard"
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "rules": {"errors", "rules"},
    "store": {"errors", "rules", "store"},
    "log": {"errors", "rules", "log"},
    "engine": {"errors", "rules", "store", "log", "engine"},
    "live": {"errors", "rules", "store", "engine", "live"},
    "config": {"errors", "rules"},
    "backends": {"errors", "backends"},
    "contexts": set(),
    "host_database": {"contexts", "errors"},
    "signals": {"contexts"},
    "web": {"errors", "version", "config", "rules", "store", "log", "engine", "live", "web"},
    "globals": {"engine", "web"},
    "cli": {"errors", "rules", "log", "engine", "globals", "cli"},
    "extension": {"errors", "cli", "config", "rules", "backends", "engine", "host_database", "live", "log", "signals", "web"},
}
NO_SERVER = {"rules", "log", "errors", "version", "config", "contexts", "signals", "web", "globals", "cli", "extension"}
NO_FLASK = {"rules", "log", "errors", "version", "config", "store", "engine", "live", "backends"}


def imports_of(path: Path) -> set[str]:
    """List what a module imports: parts of the package by their name, others with a dot in front."""
    found = set()
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            inside = path.relative_to(PACKAGE).parts[: depth - node.level]
            found.add((*inside, *(node.module or "errors").split("."))[0])
        elif isinstance(node, ast.ImportFrom):
            found.add(f".{(node.module or '').split('.')[0]}")
        elif isinstance(node, ast.Import):
            found.update(f".{alias.name.split('.')[0]}" for alias in node.names)
    return found


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    inside = {name for name in imports_of(path) if not name.startswith(".")}
    assert inside <= MAY_IMPORT[part]
    if part in NO_SERVER:
        assert ".redis" not in imports_of(path)
    if part in NO_FLASK:
        assert ".flask" not in imports_of(path)


def test_import_connects_to_nothing() -> None:
    code = "import socket; socket.socket.connect = None; import flask_leaderboard, threading; print(threading.active_count())"
    told = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "1"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_columns_that_share_a_name_with_a_method_are_read_by_their_names(path: Path) -> None:
    methods = r"add|as_readonly|clear|compare|contains_column|extend|get|items|keys|remove|update|values"
    assert not re.search(rf"\.c\.({methods})\b", path.read_text()), "SQLAlchemy 2.0 gives the method: write c['name']"
