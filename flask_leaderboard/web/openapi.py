"""The OpenAPI document, made of the operations and their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from .. import errors as e
from ..version import __version__
from .fields import AnyNumber, CountText, Moment, NumberText, UserId
from .operations import Operation
from .problems import HTTP_CODES, MEDIA_TYPE, status_of
from .replies import ProblemSchema
from .schemas import SubmissionSchema
from .signatures import SIGNATURE, TIMESTAMP

_ALWAYS: tuple[type[e.LeaderboardError], ...] = (
    e.InputError,
    e.StoreUnavailableError,
    e.LogUnavailableError,
    e.LogMismatchError,
    e.LayoutError,
    e.ConfigurationError,
    e.ProtocolError,
)
_GUARDED: tuple[type[e.LeaderboardError], ...] = (e.UnauthorizedError, e.ForbiddenError)
EVENTS = "text/event-stream"
_EVENTS = {"schema": {"type": "string", "description": "Events whose `data` is a message of `live/schema.json`"}}
_TYPES: dict[type, str] = {UserId: "string", AnyNumber: "number", NumberText: "number", CountText: "integer", Moment: "string"}


def describe_api(operations: Iterable[Operation], server: str) -> dict[str, Any]:
    """Describe the operations as OpenAPI 3.1."""
    plugin: Any = MarshmallowPlugin(schema_name_resolver=_schema_name)
    spec = APISpec(
        title="Leaderboards",
        version=__version__,
        openapi_version="3.1.0",
        info={"description": "Real-time leaderboards: exact, atomic, exactly once."},
        servers=[{"url": server}],
        plugins=[plugin],
    )
    for kind, name in _TYPES.items():
        plugin.map_to_openapi_type(kind, name, None)
    spec.components.schema("Submission", schema=SubmissionSchema)
    spec.components.schema("Problem", schema=ProblemSchema)
    spec.components.security_scheme("token", {"type": "http", "scheme": "bearer"})
    for operation in operations:
        spec.path(path=operation.path, operations={operation.method.lower(): _operation(operation)})
    return spec.to_dict()


def _schema_name(schema: Any) -> str:
    kind = schema if isinstance(schema, type) else type(schema)
    return str(kind.__name__).removesuffix("Schema")


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [*_path_parameters(operation.path), *_query_parameters(operation.query)],
        "responses": _responses(operation),
    }
    if operation.role is not None:
        described["description"] = f"Takes the role `{operation.role}`."
        described["security"] = [{"token": []}] if operation.role != "read" else [{}, {"token": []}]
    if operation.role in ("submit", "admin"):
        described["parameters"] += [_header(TIMESTAMP), _header(SIGNATURE)]
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": operation.body}}}
    return described


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", path)
    schema = {"type": "string", "minLength": 1, "maxLength": 255}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in names]


def _query_parameters(query: Schema) -> list[dict[str, Any]]:
    return [{"in": "query", "schema": type(query)}] if query.fields else []


def _header(name: str) -> dict[str, Any]:
    told = "Where signatures are asked for: see the docs on security"
    return {"name": name, "in": "header", "required": False, "description": told, "schema": {"type": "string"}}


def _responses(operation: Operation) -> dict[str, Any]:
    codes: dict[int, set[str]] = {}
    guarded = _GUARDED if operation.role else ()
    for error in (*_ALWAYS, *guarded, *operation.errors):
        codes.setdefault(status_of(error), set()).add(error.code)
    for status in (405, 413, *((415,) if operation.body is not None else ())):
        codes.setdefault(status, set()).add(HTTP_CODES[status])
    content = {EVENTS: _EVENTS} if operation.reply is None else {"application/json": {"schema": operation.reply}}
    responses: dict[str, Any] = {"200": {"description": "Done", "content": content}}
    if operation.may_pend:
        responses["202"] = {"description": "Written to the log; scores and ranks follow by themselves", "content": content}
    if operation.shared:
        responses["304"] = {"description": "You have it already"}
    for status, names in sorted(codes.items()):
        told = "Codes: " + ", ".join(f"`{name}`" for name in sorted(names))
        responses[str(status)] = {"description": told, "content": {MEDIA_TYPE: {"schema": ProblemSchema}}}
    return responses
