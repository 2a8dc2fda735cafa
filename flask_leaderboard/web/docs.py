"""The docs page: the OpenAPI document for people. It needs no script and no other host."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader

POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class Row(NamedTuple):
    """A parameter, or a member of a body."""

    name: str
    type: str
    what: str
    required: bool


def render_docs(api: dict[str, Any], *, document: str, stylesheet: str) -> str:
    """Write the page; `document` and `stylesheet` are where the OpenAPI document and the style are served."""
    operations = [
        _described(api, path, method, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    template = _environment().get_template("docs.html")
    objects = {name: _rows(schema) for name, schema in sorted(api["components"]["schemas"].items())}
    return template.render(api=api, operations=operations, objects=objects, document=document, stylesheet=stylesheet).strip()


@cache
def _environment() -> Environment:
    return Environment(loader=PackageLoader("flask_leaderboard.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True)


def _described(api: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {})
    responses = operation["responses"]
    return {
        "id": operation["operationId"],
        "method": method,
        "path": api["servers"][0]["url"] + path,
        "summary": operation["summary"],
        "role": operation.get("description", "").partition("`")[2].partition("`")[0],
        "parameters": [_parameter(parameter) for parameter in operation["parameters"]],
        "body": _members(api, body),
        "answer": _members(api, responses["200"]["content"]),
        "errors": [
            (status, response["description"].removeprefix("Codes: ").replace("`", "").split(", "))
            for status, response in responses.items()
            if status >= "400"
        ],
    }


def _parameter(parameter: dict[str, Any]) -> Row:
    schema = parameter["schema"]
    what = parameter.get("description") or schema.get("description", "")
    default = f" (default {schema['default']})" if "default" in schema else ""
    place = "" if parameter["in"] == "query" else f" ({parameter['in']})"
    return Row(parameter["name"], _type(schema) + place, what + default, False)


def _members(api: dict[str, Any], content: dict[str, Any]) -> list[Row]:
    return [row for kind in content.values() for row in _rows(_resolved(api, kind["schema"]))]


def _rows(schema: dict[str, Any]) -> list[Row]:
    required = schema.get("required", [])
    return [
        Row(name, _type(member), member.get("description", ""), name in required)
        for name, member in schema.get("properties", {}).items()
    ]


def _resolved(api: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = api["components"]["schemas"][name] if name else schema
    return found


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "allOf" in schema:
        return _type(schema["allOf"][0])
    if "enum" in schema:
        return ", ".join("null" if choice is None else str(choice) for choice in schema["enum"])
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
