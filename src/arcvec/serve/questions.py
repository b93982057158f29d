"""Questions in URLs: checked by their models, which also describe them in the OpenAPI page.

FastAPI would do both, and a request from the cache would take about a fifth more time.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import ValidationError

from arcvec.serve.refusal import Refusal
from arcvec.serve.schemas import Question

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_PARAMETERS = 100
"""Of a URL; to say what is wrong with thousands would take seconds."""

QuestionT = TypeVar("QuestionT", bound=Question)


def question(model: type[QuestionT], request: Request) -> QuestionT:
    """Return what a URL asks.

    Raises:
        Refusal: a value is out of its bounds, missing, unknown or given twice.
    """
    query = request.scope["query_string"].decode("latin-1")
    if query.count("&") >= MAX_PARAMETERS:
        raise Refusal(422, f"expected at most {MAX_PARAMETERS} parameters in the query, got more")
    values: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in values:
            raise Refusal(422, f"expected {reprlib.repr(name)} once, got it several times")
        values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ("query", *problem["loc"])
        raise Refusal(422, describe_problem({**problem, "loc": place})) from None


def described(model: type[Question]) -> dict[str, Any]:
    """Return the part of the OpenAPI page about the parameters of a question."""
    schema = model.model_json_schema()
    required = schema.get("required", ())
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": values.get("description", ""),
            "schema": _schema_of(values),
        }
        for name, values in schema["properties"].items()
    ]
    return {"parameters": parameters}


def _schema_of(values: dict[str, Any]) -> dict[str, Any]:
    # What may be left out is None in Python, and no value at all in a URL.
    given = next((one for one in values.get("anyOf", ()) if one.get("type") != "null"), values)
    return {name: value for name, value in given.items() if name not in ("title", "description")}


def describe_problem(problem: Any) -> str:
    """Return one line about what is wrong with a request: where, what was expected, what came."""
    place, *names = (str(part) for part in problem["loc"])
    where = ".".join(names)
    if problem["type"] == "json_invalid":
        return f"expected JSON in the body, got text that is not: {problem['ctx']['error']}"
    if problem["type"] == "extra_forbidden":
        return f"unknown parameter {where[:100]!r}; /openapi.json lists those there are"
    if problem["type"] == "missing":
        return f"expected {where or 'JSON'} in the {place}, got none"
    expected = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    subject = f"{where}: " if where else ""
    return f"{subject}expected {expected}, got {reprlib.repr(problem['input'])}"
