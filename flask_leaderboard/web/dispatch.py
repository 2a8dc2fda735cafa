"""The way of a request: who calls, what is asked, then the operation, then the answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from flask import Request, Response
from marshmallow import Schema, ValidationError
from werkzeug.exceptions import MethodNotAllowed

from ..engine.routing import noting_reads
from .answers import Answer, make_answer
from .bodies import json_text, limit_body, read_body
from .operations import Call, Content, Operation, Written
from .problems import FieldsError
from .service import Service

NO_STORE = "no-store"


def dispatch(service: Service, request: Request, operations: Mapping[str, Operation], path: Mapping[str, str]) -> Response:
    """Answer a request to a path with the operation of its method."""
    operation = operations.get("GET" if request.method == "HEAD" else request.method)
    if operation is None:
        return answer_other_method(request, operations)
    limit_body(request, service.settings.max_body_bytes)
    _check_caller(service, request, operation, path)
    if operation.reply is None:
        return cast(Response, operation.run(_read_call(service, request, operation, path)))
    if operation.shared:
        key = (operation.name, request.path, request.query_string)
        answer = service.cache.get(key, lambda: _answer(service, request, operation, path), _may_be_kept)
    else:
        answer = _answer(service, request, operation, path)
    service.hub.tell_of_closed()
    return answer.respond(request)


def answer_other_method(request: Request, methods: Collection[str]) -> Response:
    """Tell the methods of a path, or refuse one that it does not have."""
    if request.method == "OPTIONS":
        return Response(headers={"Allow": ", ".join([*sorted(methods), "OPTIONS"])})
    raise MethodNotAllowed(sorted(methods), f"{request.method} is not a method of this path: use {' or '.join(sorted(methods))}")


def load(schema: Schema, data: Any, what: str) -> Any:
    """Load what was sent through a schema, or tell which fields are wrong."""
    if not isinstance(data, dict):
        raise FieldsError({"_schema": ["must be a JSON object"]}, what)
    try:
        return schema.load(data)
    except ValidationError as error:
        messages = error.messages
        raise FieldsError(messages if isinstance(messages, dict) else {"_schema": messages}, what) from None


def _check_caller(service: Service, request: Request, operation: Operation, path: Mapping[str, str]) -> None:
    if operation.role is None or operation.checks_callers:
        return
    service.access.check(request, operation.role, path.get("user_id"))
    if operation.role != "read":
        service.signatures.check(request, service.hub.clock(), service.hub.app_keys.remember)


def _answer(service: Service, request: Request, operation: Operation, path: Mapping[str, str]) -> Answer:
    call = _read_call(service, request, operation, path)
    now = service.hub.clock()
    with noting_reads() as notes:
        content = cast(Content, operation.run(call))
    if isinstance(content, Written):
        written = content
    else:
        written = Written(json_text({**content, "degraded": True} if notes.degraded else content))
    cache_control = NO_STORE if notes.degraded else _cache_control(service, operation)
    as_of = now - notes.behind if operation.dated else None
    return make_answer(written, as_of=as_of, cache_control=cache_control, tagged=operation.shared and not notes.degraded)


def _read_call(service: Service, request: Request, operation: Operation, path: Mapping[str, str]) -> Call:
    query = load(operation.query, _query(request), "query") if request.query_string else {}
    body = load(operation.body, read_body(request), "body") if operation.body is not None else None
    return Call(service, path, query, body)


def _may_be_kept(answer: Answer) -> bool:
    return answer.cache_control != NO_STORE


def _query(request: Request) -> dict[str, str]:
    found = {}
    for name, values in request.args.lists():
        if len(values) > 1:
            raise FieldsError({name: ["is given more than once"]}, "query")
        found[name] = values[0]
    return found


def _cache_control(service: Service, operation: Operation) -> str:
    if operation.shared:
        return shared_cache_control(service)
    return "private, no-cache" if operation.role == "read" else NO_STORE


def shared_cache_control(service: Service) -> str:
    """Say who may keep what is the same for everybody, and for how long."""
    keeper = "public" if service.reads_are_public else "private"
    return f"{keeper}, max-age={service.settings.max_age_s}"
