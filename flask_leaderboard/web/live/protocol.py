"""The protocol: reading what clients send, and describing all of it."""

from __future__ import annotations

from functools import cache
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import ValidationError

from ...errors import InputError, MessageError
from ...rules.strict_json import parse_json
from ..bodies import json_text
from ..fields import UserId
from .schemas import CLIENT, SERVER


def read_message(text: str | bytes) -> dict[str, Any]:
    """Give what a client sent, or refuse it."""
    if isinstance(text, bytes):
        raise MessageError("messages are text frames, not binary ones")
    try:
        message = parse_json(text.encode(), "the message")
    except (InputError, UnicodeEncodeError) as error:
        raise MessageError(str(error)) from None
    kind = message.get("type") if isinstance(message, dict) else None
    schema = CLIENT.get(kind) if isinstance(kind, str) else None
    if schema is None:
        raise MessageError(f"a message is a JSON object with a 'type' of {', '.join(CLIENT)}")
    try:
        loaded: dict[str, Any] = schema.load(message)
    except ValidationError as error:
        raise MessageError(f"the message is wrong: {_told(error.messages)}") from None
    return loaded


def _told(messages: Any) -> str:
    """Say which fields are wrong, and how."""
    if not isinstance(messages, dict):
        return " ".join(map(str, messages))
    return "; ".join(f"'{str(name)[:64]}': {_told(how)}" for name, how in messages.items())


@cache
def describe_protocol() -> str:
    """Describe all messages as a JSON Schema, with ``#/$defs/client`` and ``#/$defs/server`` for the two sides."""
    plugin: Any = MarshmallowPlugin(schema_name_resolver=_name_of)
    spec = APISpec(title="live", version="1", openapi_version="3.1.0", plugins=[plugin])
    plugin.map_to_openapi_type(UserId, "string", None)
    sides = {}
    for side, schemas in (("client", CLIENT.values()), ("server", SERVER)):
        names = [_name_of(schema) for schema in schemas]
        for name, schema in zip(names, schemas, strict=True):
            if name not in spec.components.schemas:
                spec.components.schema(name, schema=schema)
        sides[side] = {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in names]}
    text = json_text(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Leaderboards, live: messages over WebSocket, and in Server-Sent Events",
            "anyOf": [{"$ref": f"#/components/schemas/{side}"} for side in sides],
            "$defs": {**spec.to_dict()["components"]["schemas"], **sides},
        }
    )
    return text.replace("#/components/schemas/", "#/$defs/")


def _name_of(schema: Any) -> str:
    kind = schema if isinstance(schema, type) else type(schema)
    return str(kind.__name__).removesuffix("Schema")
