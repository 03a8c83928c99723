"""Mathematical expressions as values (spec/magvarupdate.md §3.4): a grammar of our own, bounded, never code.

``evaluate`` answers a rounded number or the text of a complex number or list; ``NO_VALUE`` when the text is no
expression or gives something that the upstream does not take (a boolean, a text, a function), ``EMPTY`` when nothing
but a comment stands there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import LarkError

from interpreter.javascript import js_number, round12
from runtime.mvu.commands.magvarupdate.limits import MATH_DEPTH, MATH_ITEMS, MATH_TEXT
from runtime.mvu.commands.magvarupdate.mathvalues import (
    CONSTANTS,
    FUNCTIONS,
    JS_FUNCTIONS,
    MathFault,
    arithmetic,
    bits,
    complex_text,
    elementwise,
    factorial_of,
    list_text,
    number,
    product,
)
from runtime.mvu.commands.magvarupdate.values import is_number

NO_VALUE: Final[Any] = object()
EMPTY: Final[Any] = object()

_ALPHABET = re.compile(
    r"(?:[\s0-9A-Za-z_$.,:?!~%^*/+\-=<>&|()\[\]\u00c0-\u02af\u0370-\u03ff\u2100-\u214f]"
    r"|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')*"
)
_LITERALS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_TRANSPOSED = re.compile(r"([^'\"]*[\w)\]!])'+")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_WORDS = re.compile(r"[A-Za-z_$][\w$]*(?:\s+[A-Za-z_$][\w$]*)*")


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number."""

    value: Any


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A constant, perhaps through ``Math.`` or ``math.``."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A function or operator with operands; ``depth`` is how deep it nests."""

    operator: str
    operands: tuple[Any, ...]
    depth: int


def _apply(operator: str, *operands: Any) -> Apply:
    depth = 1 + max((getattr(operand, "depth", 0) for operand in operands), default=0)
    if depth > MATH_DEPTH.default:
        raise MathFault(f"expected at most {MATH_DEPTH.default} levels of nesting")
    return Apply(operator, operands, depth)


def _literal(token: str) -> Any:
    if token[:2].lower() in ("0x", "0b", "0o"):
        return js_number(int(token, 0) if len(token) < MATH_DEPTH.default else float("inf"))
    return js_number(float(token))


@v_args(inline=True)
class _Build(Transformer[Token, Any]):
    """Grammar to nodes; runs inside the parser, without recursion."""

    def start(self, node: Any) -> Any:
        return node

    def number(self, token: Token) -> Any:
        return Number(_literal(str(token)))

    def string(self, token: Token) -> Any:
        return Text(str(token)[1:-1])

    def name(self, token: Token) -> Any:
        return Name(str(token))

    def group(self, node: Any) -> Any:
        return _apply("group", node)

    def store(self, _target: Token, node: Any) -> Any:
        return _apply("group", node)

    def array(self, *items: Any) -> Any:
        return _apply("list", *(item for item in items if item is not None))

    def call(self, name: Token, *operands: Any) -> Any:
        return _apply(f"call {name}", *(operand for operand in operands if operand is not None))

    def choose(self, test: Any, yes: Any, no: Any) -> Any:
        return _apply("choose", test, yes, no)

    def or_(self, left: Any, right: Any) -> Any:
        return _apply("or", left, right)

    def xor(self, left: Any, right: Any) -> Any:
        return _apply("xor", left, right)

    def and_(self, left: Any, right: Any) -> Any:
        return _apply("and", left, right)

    def binary(self, left: Any, operator: Token, right: Any) -> Any:
        return _apply(str(operator), left, right)

    def compare(self, *parts: Any) -> Any:
        operators = " ".join(str(part) for part in parts[1::2])
        return _apply(f"compare {operators}", *parts[::2])

    def range2(self, start: Any, end: Any) -> Any:
        return _apply("range", start, Number(1), end)

    def range3(self, start: Any, step: Any, end: Any) -> Any:
        return _apply("range", start, step, end)

    def add(self, left: Any, operator: Token, right: Any) -> Any:
        if isinstance(right, Apply) and right.operator == "percent":
            right = _apply("*", left, right)
        return _apply(str(operator), left, right)

    def multiply(self, left: Any, operator: Token, right: Any) -> Any:
        plain = isinstance(right, Apply) and right.operator == "juxtapose" and isinstance(right.operands[0], Number)
        if operator == "/" and plain and isinstance(_last_factor(left), Number):
            # "1/2 pi" is (1/2) pi: a fraction of two literals binds before the implicit product.
            return _apply("juxtapose", _apply("/", left, right.operands[0]), *right.operands[1:])
        return _apply(str(operator), left, right)

    def juxtapose(self, left: Any, right: Any) -> Any:
        first = _first_factor(right)
        if isinstance(first, Text) or (isinstance(first, Apply) and first.operator == "list"):
            raise MathFault("a text or list stands beside a value")
        operands = left.operands if isinstance(left, Apply) and left.operator == "juxtapose" else (left,)
        if isinstance(first, Number) and isinstance(operands[-1], Number):
            raise MathFault("two numbers stand side by side")
        return _apply("juxtapose", *operands, right)

    def modulo_(self, left: Any, *rest: Any) -> Any:
        return _apply("mod", left, rest[-1])

    def called_modulo(self, left: Any, right: Any) -> Any:
        return _apply("mod", left, right)

    def percent(self, node: Any, _sign: Token) -> Any:
        return _apply("percent", node)

    def unary(self, *parts: Any) -> Any:
        return _apply(f"unary {parts[0]}" if len(parts) > 1 else "not", parts[-1])

    def factorial_(self, node: Any) -> Any:
        return _apply("!", node)


def _last_factor(node: Any) -> Any:
    while isinstance(node, Apply) and node.operator in ("*", "/", ".*", "./"):
        node = node.operands[-1]
    return node


def _first_factor(node: Any) -> Any:
    while isinstance(node, Apply) and node.operator in ("mod", "percent", "^", ".^", "!"):
        node = node.operands[0]
    return node


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("mathematics.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=_Build(), maybe_placeholders=False)


def _value(node: Any) -> Any:
    if isinstance(node, Number | Text):
        return node.value
    if isinstance(node, Name):
        if node.name not in CONSTANTS:
            raise MathFault(f"the name {node.name[:40]} is not known")
        return CONSTANTS[node.name]
    return _operation(node.operator, node.operands)


def _operation(operator: str, operands: tuple[Any, ...]) -> Any:
    if operator == "choose":
        return _value(operands[1] if _truth(_value(operands[0])) else operands[2])
    values = [_value(operand) for operand in operands]
    kind, _, detail = operator.partition(" ")
    if kind == "call":
        return _call(detail, values)
    if kind == "compare":
        return _compare(detail.split(" "), values)
    if kind == "unary":
        return _unary(detail, values[0])
    if operator in _OPERATIONS:
        return _OPERATIONS[operator](values)
    raise MathFault(f"the operator {operator} is not known")


def _truth(value: Any) -> bool:
    if isinstance(value, list | str):
        raise MathFault("expected a condition")
    return bool(value)


def _unary(sign: str, value: Any) -> Any:
    if sign == "~":
        return -1 - bits("|", value, 0)
    return arithmetic("*", -1 if sign == "-" else 1, value)


def _juxtaposed(values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = product(result, value)
    return result


def _range(values: list[Any]) -> list[Any]:
    start, step, end = (number(value) for value in values)
    if not step or not (abs(start) + abs(end) + abs(step) < float("inf")):
        raise MathFault("expected a range with an end")
    count = int((end - start) / step + 1e-12) + 1 if (end - start) / step >= 0 else 0
    if count > MATH_ITEMS.default:
        raise MathFault(f"expected a range of at most {MATH_ITEMS.default} items")
    return [js_number(start + step * position) for position in range(count)]


def _list(values: list[Any]) -> list[Any]:
    shapes = {len(value) if isinstance(value, list) else -1 for value in values}
    if len(shapes) > 1:
        raise MathFault("expected rows of one length")
    return values


def _call(name: str, values: list[Any]) -> Any:
    scope, dot, own = name.rpartition(".")
    if dot and scope not in ("Math", "math"):
        raise MathFault(f"the function {name[:40]} is not known")
    function = (JS_FUNCTIONS if scope == "Math" else FUNCTIONS).get(own)
    if function is None:
        raise MathFault(f"the function {name[:40]} is not known")
    if own in ("abs", "square", "cube") and len(values) == 1 and isinstance(values[0], list):
        return [_call(name, [item]) for item in values[0]]
    try:
        return function(*values)
    except TypeError:
        raise MathFault(f"the function {name[:40]} takes other arguments") from None


def _compare(operators: list[str], values: list[Any]) -> bool:
    for operator, left, right in zip(operators, values, values[1:], strict=False):
        a, b = number(left), number(right)
        held = {"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[operator]
        if not held:
            return False
    return True


_OPERATIONS: dict[str, Any] = {
    "group": lambda values: values[0],
    "list": _list,
    "range": _range,
    "+": lambda values: arithmetic("+", *values),
    "-": lambda values: arithmetic("-", *values),
    "*": lambda values: product(*values),
    "/": lambda values: arithmetic("/", *values),
    ".*": lambda values: elementwise("*", *values),
    "./": lambda values: elementwise("/", *values),
    "^": lambda values: arithmetic("^", *values),
    ".^": lambda values: elementwise("^", *values),
    "mod": lambda values: arithmetic("mod", *values),
    "juxtapose": _juxtaposed,
    "percent": lambda values: arithmetic("/", values[0], 100),
    "!": lambda values: factorial_of(values[0]),
    "not": lambda values: not _truth(values[0]),
    "or": lambda values: _truth(values[0]) or _truth(values[1]),
    "and": lambda values: _truth(values[0]) and _truth(values[1]),
    "xor": lambda values: _truth(values[0]) != _truth(values[1]),
    **{operator: (lambda values, o=operator: bits(o, *values)) for operator in ("&", "|", "<<", ">>", ">>>")},
}


def _hopeless(text: str) -> bool:
    """Whether a text can be refused without the grammar: other characters, or words of which one is unknown."""
    if len(text) > MATH_TEXT.default or not _ALPHABET.fullmatch(text):
        return True
    if _WORDS.fullmatch(text):
        return any(word not in CONSTANTS and word not in _OPERATORS for word in _WORD.findall(text))
    return "\n" in text and not _newlines_inside_brackets(text)


_OPERATORS = frozenset({"mod", "and", "or", "xor", "not"})


def _newlines_inside_brackets(text: str) -> bool:
    depth = 0
    for mark in _LITERALS.sub("", text):
        depth += mark in "(["
        depth -= mark in ")]"
        if mark == "\n" and depth <= 0:
            return False
    return True


def _without_comment(text: str) -> str:
    if "#" not in text:
        return text
    position = 0
    for literal in _LITERALS.finditer(text):
        comment = text.find("#", position, literal.start())
        if comment >= 0:
            return text[:comment]
        position = literal.end()
    comment = text.find("#", position)
    return text if comment < 0 else text[:comment]


def evaluate(text: str) -> Any:
    """The value of an expression: a number, a text, ``NO_VALUE`` or ``EMPTY``. Never raises."""
    text = _without_comment(text).strip() if "\n" not in text else text.strip()
    if not text:
        return EMPTY
    transposed = _TRANSPOSED.fullmatch(text)
    text = transposed.group(1) if transposed else text
    if _hopeless(text):
        return NO_VALUE
    try:
        result = _value(_parser().parse(text))
    except (LarkError, MathFault):
        return NO_VALUE
    if isinstance(result, complex):
        return complex_text(result)
    if isinstance(result, list):
        return list_text(result)
    return round12(result) if is_number(result) else NO_VALUE
