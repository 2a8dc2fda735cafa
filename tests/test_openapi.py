"""The OpenAPI document, and what schemathesis finds when it calls all that it tells of."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from flask_leaderboard import current_leaderboards
from flask_leaderboard.web.blueprint import OPERATIONS
from tests.web import API, arena, make_app, seasonal

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


def fill(app: Flask) -> Flask:
    with app.app_context():
        board = current_leaderboards["arena"]
        for number in range(30):
            board.submit(f"u{number}", number, segments={"country": "NL"}, user_name=f"User {number}")
    return app


app = fill(make_app([arena(), seasonal()], tokens={"submit": ["s3cret"], "admin": ["r00t"]}))
schema = schemathesis.openapi.from_wsgi("/v1/openapi.json", app)


@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_api_answers_as_documented(case: Any) -> None:
    streams = case.operation.path.endswith("/events")  # it has no server here that it could stream under, and says so: 501
    case.call_and_validate(headers={"Authorization": "Bearer r00t"}, checks=CHECKS[1:] if streams else CHECKS)


def test_every_operation_is_documented() -> None:
    documented = {(method.upper(), path) for path, methods in API["paths"].items() for method in methods}
    assert documented == {(operation.method, operation.path) for operation in OPERATIONS}


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    known = {f"#/components/schemas/{name}" for name in API["components"]["schemas"]}
    assert references(API) <= known


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_operation_tells_of_its_errors(operation: Any) -> None:
    told = API["paths"][operation.path][operation.method.lower()]
    assert told["summary"]
    for error in operation.errors:
        assert any(f"`{error.code}`" in response["description"] for response in told["responses"].values())
