"""The documentation of the API as one HTML page without scripts, made from the OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title} API</title>
<link rel="stylesheet" href="static/styles/docs.css"></head>
<body><main><h1>{title} {version}</h1><p>{description}</p>
"""
_FOOT = "</main></body></html>\n"
_BOUNDS = {  # of a JSON schema, in the order in which they are shown
    "minimum": ">= {}", "exclusiveMinimum": "> {}", "maximum": "<= {}", "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters", "maxLength": "at most {} characters", "minItems": "at least {} items",
    "maxItems": "at most {} items", "minProperties": "at least {} keys", "maxProperties": "at most {} keys",
}  # fmt: skip


def docs_page(document: Mapping[str, Any]) -> str:
    """Return the page: a list of links, the operations by tag, and the types of their bodies."""
    links, by_tag = "", dict[str, str]()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            title = f"<code>{method.upper()} {escape(path)}</code>"
            links += f'<li><a href="#{operation["operationId"]}">{title}</a></li>'
            tag = operation["tags"][0]
            by_tag[tag] = by_tag.get(tag, "") + _section(operation["operationId"], title, operation, _bodies(operation))
    groups = "".join(f"<h2>{escape(tag)}</h2>\n{sections}" for tag, sections in by_tag.items())
    schemas = "".join(_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    head = _HEAD.format(**{name: escape(text) for name, text in document["info"].items()})
    download = '<p>For generated clients: <a href="openapi.json">openapi.json</a></p>\n'
    return f"{head}{download}<ul>{links}</ul>\n{groups}<h2>types</h2>\n{schemas}{_FOOT}"


def _section(anchor: str, title: str, part: Mapping[str, Any], content: str) -> str:
    description = _text(part.get("description", ""))
    return f'<section id="{anchor}"><h3>{title}</h3><p>{description}</p>\n{content}</section>\n'


def _bodies(operation: Mapping[str, Any]) -> str:
    """Return the table of the bodies of the request and of the answers."""
    bodies = {"request": operation.get("requestBody", {})}
    for status, response in operation["responses"].items():
        bodies[f"{status}: {escape(response['description'])}"] = {"content": {"": {"schema": {}}}} | response
    rows = [
        (name, kind, _type(part["schema"]))
        for name, body in bodies.items()
        for kind, part in body.get("content", {}).items()
    ]
    return _table(("body", "content type", "type"), rows)


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (
            f"<code>{escape(key)}</code>",
            _type(part),
            "required" if key in required else f"<code>{escape(json.dumps(part.get('default')))}</code>",
            _text(part.get("description", "")),
        )
        for key, part in schema.get("properties", {}).items()
    ]
    examples = (f"<pre>{escape(json.dumps(example, indent=2))}</pre>\n" for example in schema.get("examples", ()))
    table = _table(("field", "type", "default", "meaning"), rows)
    return _section(f"type-{escape(name)}", escape(name), schema, table + "".join(examples))


def _type(schema: Mapping[str, Any]) -> str:
    """Return a type in words, with its bounds and with links to other types."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"<code>{escape(json.dumps(value))}</code>" for value in schema["enum"])
    text = escape(schema.get("format", schema.get("type", "any")))
    for field, label in (("items", "of"), ("additionalProperties", "with values")):
        if isinstance(schema.get(field), Mapping) and schema[field]:
            text += f" {label} ({_type(schema[field])})"
    bounds = [bound.format(schema[field]) for field, bound in _BOUNDS.items() if field in schema]
    return ", ".join([text, *map(escape, bounds)])


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>\n" if body else ""


def _text(text: str) -> str:
    """Return a text in HTML; what is between backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
