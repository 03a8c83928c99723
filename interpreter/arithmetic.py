"""Arithmetic in command arguments: the restricted expression of spec/mvu.md §4.2.3."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, VisitError

from interpreter import javascript as js
from interpreter import limits
from interpreter.budget import Run
from interpreter.errors import BudgetExceeded, EvaluationError, InterpreterError
from interpreter.evaluate.builtins.numbers import MATH_FUNCTIONS
from interpreter.syntax.restricted import MATH

_CONSTANTS = {"PI": math.pi, "pi": math.pi, "E": math.e, "e": math.e}
_PREFIX = re.compile(r"[Mm]ath\s*\.\s*")


class _Evaluator(Transformer[Token, Any]):
    """Evaluates while the text is parsed, so that no depth of brackets costs stack."""

    def number(self, children: list[Token]) -> Any:
        return js.text_to_number(str(children[0]))

    def constant(self, children: list[Token]) -> Any:
        name = str(children[0])
        bare = _PREFIX.sub("", name, count=1)
        if bare == name or bare not in _CONSTANTS:
            raise _refused(name)
        return _CONSTANTS[bare]

    def call(self, children: list[Any]) -> Any:
        name = _PREFIX.sub("", str(children[0]), count=1)
        if name not in MATH:
            raise _refused(str(children[0]))
        run = Run("default", limits.PARSE_STEPS, None, version=2)
        return _finite(MATH_FUNCTIONS[name].call(run, [value for value in children[1:] if value is not None]))

    def add(self, children: list[Any]) -> Any:
        return _finite(js.add_numbers(*children))

    def subtract(self, children: list[Any]) -> Any:
        return _finite(js.subtract(*children))

    def multiply(self, children: list[Any]) -> Any:
        return _finite(js.multiply(*children))

    def divide(self, children: list[Any]) -> Any:
        return _finite(js.divide(*children))

    def remainder(self, children: list[Any]) -> Any:
        return _finite(js.remainder(*children))

    def power(self, children: list[Any]) -> Any:
        return _finite(js.power(*children))

    def negative(self, children: list[Any]) -> Any:
        return js.negate(children[0])

    def positive(self, children: list[Any]) -> Any:
        return children[0]


def _refused(name: str) -> EvaluationError:
    known = ", ".join(sorted(MATH))
    return EvaluationError("MVU_SCHEMA_CODE", f"expected a number or one of {known}, found {name}")


def _finite(value: Any) -> Any:
    if not math.isfinite(value):
        raise BudgetExceeded("interpreter.number", 0, "non-finite numbers", js.js_number_text(value))
    return value


@functools.cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("arithmetic.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Evaluator(), maybe_placeholders=False)


def evaluate_arithmetic(text: str) -> int | float:
    """The value of an arithmetic text, rounded to 12 significant digits; always a finite number.

    Raises ``MVU_LIMIT`` for a text that is too long or a result that is not finite, ``MVU_SCHEMA_CODE`` for anything
    that is no arithmetic.
    """
    length = js.utf16_length(text)
    if length > limits.ARITHMETIC.default:
        raise BudgetExceeded(limits.ARITHMETIC.name, limits.ARITHMETIC.default, limits.ARITHMETIC.unit, str(length))
    try:
        value: Any = _parser().parse(text)
    except VisitError as error:
        if isinstance(error.orig_exc, InterpreterError):
            raise error.orig_exc from None
        raise
    except UnexpectedInput as error:
        column = getattr(error, "column", 1)
        line = getattr(error, "line", 1)
        message = f"expected arithmetic, found something else at line {line}, column {column}"
        raise EvaluationError("MVU_SCHEMA_CODE", message, {"line": line, "column": column}) from None
    result: int | float = js.round12(_finite(value))
    return result
