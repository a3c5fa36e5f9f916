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
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    by_tag: dict[str, list[str]] = {}
    for method, path, operation in operations:
        by_tag.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    links = (
        f'<li><a href="#{operation["operationId"]}"><code>{method} {escape(path)}</code></a></li>'
        for method, path, operation in operations
    )
    groups = (f"<h2>{escape(tag)}</h2>\n{''.join(parts)}" for tag, parts in by_tag.items())
    schemas = (_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    head = _HEAD.format(**{name: escape(text) for name, text in document["info"].items()})
    download = '<p>For generated clients: <a href="openapi.json">openapi.json</a></p>\n'
    return f"{head}{download}<ul>{''.join(links)}</ul>\n{''.join(groups)}<h2>types</h2>\n{''.join(schemas)}{_FOOT}"


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    rows = [("request", kind, _type(part["schema"])) for kind, part in _contents(operation.get("requestBody", {}))]
    for status, response in operation["responses"].items():
        for kind, part in _contents(response) or [("", {"schema": {}})]:
            rows.append((f"{status}: {escape(response['description'])}", kind, _type(part["schema"])))
    return (
        f'<section id="{operation["operationId"]}"><h3><code>{method} {escape(path)}</code></h3>'
        f"<p>{_text(operation['description'])}</p>\n{_table(('body', 'content type', 'type'), rows)}</section>\n"
    )


def _contents(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(body.get("content", {}).items())


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
    return (
        f'<section id="type-{escape(name)}"><h3>{escape(name)}</h3><p>{_text(schema.get("description", ""))}</p>\n'
        f"{_table(('field', 'type', 'default', 'meaning'), rows)}{''.join(examples)}</section>\n"
    )


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
    """Return a table of cells in HTML."""
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>\n" if body else ""


def _text(text: str) -> str:
    """Return a text in HTML; what is between backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
