"""Apps for the tests of the web side, and a client that holds every answer against the contract."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from marshmallow import EXCLUDE
from werkzeug.test import TestResponse

from flask_leaderboard import Board, Daily, Leaderboards, Season, Segment, Weekly
from flask_leaderboard.rules.windows import AllTime
from flask_leaderboard.web.blueprint import OPERATIONS
from flask_leaderboard.web.openapi import describe_api
from flask_leaderboard.web.replies import ProblemSchema

SUBMIT, ADMIN = {"Authorization": "Bearer s3cret"}, {"Authorization": "Bearer r00t"}
TOKENS = {"submit": ["s3cret"], "admin": ["r00t"]}
API = describe_api(OPERATIONS, "/v1")


def arena(**rules: Any) -> Board:
    return Board("arena", windows=[AllTime(), Daily(), Weekly()], segments=[Segment("country", limit=2)], **rules)


def seasonal() -> Board:
    return Board("cup", update="best", order="asc", ranking="dense", score_type="float", windows=[Season(), AllTime()])


def make_app(
    boards: Iterable[Board] = (), *, clock: Any = None, instance: Path | None = None, authorize: Any = None, **config: Any
) -> Flask:
    """Make an app with leaderboards; configuration without its prefix."""
    app = Flask("game", instance_path=None if instance is None else str(instance))
    app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_TOKENS=TOKENS, LEADERBOARD_CACHE_MS=0)
    app.config.update(LEADERBOARD_MODE="redis_only")  # a board that is to keep a log says so
    app.config.update({f"LEADERBOARD_{key.upper()}": value for key, value in config.items()})
    more = {} if clock is None else {"clock": clock}
    Leaderboards(boards=boards, authorize=authorize, **more).init_app(app)
    app.test_client_class = ContractClient
    return app


def code(response: Any) -> tuple[int, str]:
    """Give the status and the stable code of a refusal."""
    return response.status_code, response.json["code"]


class ContractClient(FlaskClient):
    """Checks that each answer is one that the OpenAPI document tells of, to its last member."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        path = response.request.path
        operation = next((item for item in OPERATIONS if item.method == response.request.method and _fits(item.path, path)), None)
        if operation is None:
            return response
        documented = API["paths"][operation.path][operation.method.lower()]["responses"]
        assert str(response.status_code) in documented, f"{response.status_code} is not told of: {response.text}"
        if response.status_code in (200, 202):
            assert response.mimetype == "application/json"
            schema = operation.reply()
            assert schema.validate(response.json) == {}, response.json
            assert set(response.json) <= set(schema.fields)
        elif response.status_code >= 400:
            assert response.mimetype == "application/problem+json"
            assert ProblemSchema(unknown=EXCLUDE).validate(response.json) == {}
            assert response.json["status"] == response.status_code
            assert f"`{response.json['code']}`" in documented[str(response.status_code)]["description"], response.json["code"]
        return response


def _fits(template: str, path: str) -> bool:
    pattern = re.sub(r"{\w+}", "[^/]+", template)
    return re.fullmatch(f"/v1{pattern}", path) is not None
