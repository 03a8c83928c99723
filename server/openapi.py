"""The OpenAPI document, made from the same rows that the server dispatches by (design §9)."""

from __future__ import annotations

import re
from typing import Any

from server.errors import ERRORS
from server.routing import Endpoint

_PARAMETER = re.compile(r"\{(\w+)\}")
_ERROR = {
    "type": "object",
    "properties": {
        "ok": {"const": False},
        "code": {"type": "string"},
        "error": {"type": "string"},
        "details": {"type": "object"},
    },
    "required": ["ok", "code", "error"],
}
_STATUSES = (400, 401, 403, 404, 405, 409, 413, 415, 500, 503)
_SECURITY: dict[str, list[dict[str, list[str]]]] = {
    "open": [],
    "host": [{"hostToken": []}],
    "pages": [{"hostToken": []}, {"pagesCookie": []}],
    "inspector": [{"hostToken": []}, {"pagesCookie": []}],
    "renderer": [{}, {"rendererToken": []}, {"hostToken": []}],
}


def _operation(path: str, endpoint: Endpoint) -> dict[str, Any]:
    name = re.sub(r"\W+", "_", f"{endpoint.method} {path}").strip("_").lower()
    parameters: list[dict[str, Any]] = [
        {"name": found, "in": "path", "required": True, "schema": {"type": "string"}}
        for found in _PARAMETER.findall(path)
    ]
    parameters += [{"name": key, "in": "query", "schema": dict(schema)} for key, schema in endpoint.query.items()]
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": endpoint.summary,
        "security": _SECURITY[endpoint.access],
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": dict(endpoint.answer) or {}}}},
            **{str(status): {"$ref": f"#/components/responses/E{status}"} for status in _STATUSES},
        },
    }
    if endpoint.path == "/metrics":
        operation["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    if endpoint.path == "/mvu/snapshot":
        operation["responses"]["304"] = {"description": "The caller's copy is still the current one."}
    if parameters:
        operation["parameters"] = parameters
    if endpoint.raw:
        media: dict[str, Any] = {
            "image/png": {"schema": {}},
            "application/json": {"schema": {}},
            "application/octet-stream": {"schema": {}},
        }
        operation["requestBody"] = {"required": True, "content": media}
    elif endpoint.body:
        schema = dict(endpoint.body)
        if not endpoint.seed:
            schema["additionalProperties"] = False
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def openapi_document(endpoints: list[tuple[str, Endpoint]]) -> dict[str, Any]:
    """The whole document (OpenAPI 3.1)."""
    paths: dict[str, dict[str, Any]] = {}
    for path, endpoint in endpoints:
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(path, endpoint)
    by_status: dict[int, list[str]] = {}
    for row in ERRORS.values():
        by_status.setdefault(row.status, []).append(row.code)
    responses = {
        f"E{status}": {
            "description": ", ".join(sorted(by_status.get(status, []))) or "Refused.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status in _STATUSES
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Innkeeper", "version": "1", "description": "Keeps the state of role-play worlds honest."},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "responses": responses,
            "securitySchemes": {
                "hostToken": {"type": "http", "scheme": "bearer"},
                "rendererToken": {"type": "http", "scheme": "bearer"},
                "pagesCookie": {"type": "apiKey", "in": "cookie", "name": "innkeeper_session"},
            },
        },
    }
