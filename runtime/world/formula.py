"""The formula of a check: text to statements at load, statements to a probability in a turn (§3.3).

Everything that the original ignored in silence is an error here, found when the pack is loaded: comparisons, unknown
names and functions, double signs. Trailing comments, calls inside larger expressions and ``1e-1`` are understood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

from runtime.world.limits import FORMULA_CHARS, FORMULA_DEPTH
from runtime.world.pointers import is_number, tidy

DEFAULT_P = 0.5


class FormulaError(Exception):
    """A formula that cannot be used; ``line`` and ``column`` are one-based inside the formula's text."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A variable: an input or an assigned name; ``column`` is for messages."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Signed:
    """One leading sign."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of one precedence, applied from the left."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of ``FUNCTIONS``."""

    function: str
    arguments: tuple[Node, ...]
    column: int


Node = Number | Name | Signed | Chain | Call


@dataclass(frozen=True, slots=True)
class Statement:
    """``target = value``, run only when ``condition`` (a name) is true, if there is one."""

    condition: str | None
    target: str
    value: Node
    line: int


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula; ``missing_conditions`` are the names behind ``if`` that nothing defines (a load warning)."""

    source: str
    statements: tuple[Statement, ...]
    missing_conditions: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class Evaluation:
    """What a formula answered: ``p`` and the ``notes`` about names that had no number."""

    p: float | int = DEFAULT_P
    notes: list[str] = field(default_factory=list)


def _sigmoid(x: float) -> float:
    return 0.0 if x < -700 else 1.0 / (1.0 + math.exp(-x))


def _clamp(x: float, low: float = 0.0, high: float = 1.0) -> float:
    return min(high, max(low, x))


def _whole(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language and how many arguments it takes (``most`` None: any number)."""

    call: Callable[..., float]
    least: int
    most: int | None


FUNCTIONS: Mapping[str, Function] = {
    "sigmoid": Function(_sigmoid, 1, 1),
    "clamp": Function(_clamp, 1, 3),
    "min": Function(lambda *values: min(values), 1, None),
    "max": Function(lambda *values: max(values), 1, None),
    "abs": Function(abs, 1, 1),
    "floor": Function(_whole, 1, 1),
    "round": Function(lambda x: _whole(x + 0.5), 1, 1),
}


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
    """Builds the nodes while the text is parsed, so that no tree has to be walked afterwards."""

    def number(self, token: Token) -> Node:
        return Number(float(token))

    def name(self, token: Token) -> Node:
        return Name(str(token), token.column or 1)

    def signed(self, sign: Token, operand: Node) -> Node:
        return Signed(str(sign), operand)

    def chain(self, first: Node, *rest: Any) -> Node:
        return Chain(first, tuple((str(rest[i]), rest[i + 1]) for i in range(0, len(rest), 2)))

    def call(self, token: Token, *arguments: Node) -> Node:
        return Call(str(token), arguments, token.column or 1)

    def assignment(self, target: Token, value: Node) -> tuple[str, Node]:
        return str(target).strip(), value

    def conditional(self, name: Token, assigned: tuple[str, Node]) -> tuple[str | None, str, Node]:
        return str(name), *assigned

    def always(self, assigned: tuple[str, Node]) -> tuple[str | None, str, Node]:
        return None, *assigned


@cache
def _parser() -> Lark:
    """The grammar, built once per process."""
    grammar = Path(__file__).with_name("formula.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False, transformer=_Builder())


@lru_cache(maxsize=4096)
def parse_formula(source: str, names: tuple[str, ...] = ()) -> Formula:
    """Read a formula whose inputs are called ``names``; raises ``FormulaError`` at the first fault."""
    if len(source) > FORMULA_CHARS.default:
        raise FormulaError(
            f"expected a formula of at most {FORMULA_CHARS.default} characters, found {len(source)}", 1, 1
        )
    known = set(names)
    statements: list[Statement] = []
    missing: list[tuple[str, int]] = []
    for number, raw in enumerate(source.split("\n"), 1):
        text = raw.split("#", 1)[0].rstrip()
        if not text.strip():
            continue
        condition, target, value = _statement(text, number)
        if condition is not None and condition not in known:
            missing.append((condition, number))
        _check_names(value, known, number)
        known.add(target)
        statements.append(Statement(condition, target, value, number))
    return Formula(source, tuple(statements), tuple(missing))


def _statement(text: str, line: int) -> tuple[str | None, str, Node]:
    """Parse one line; a syntax fault becomes a sentence with its place."""
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    if deepest > FORMULA_DEPTH.default:
        raise FormulaError(f"expected at most {FORMULA_DEPTH.default} nested brackets, found {deepest}", line, 1)
    try:
        parsed: tuple[str | None, str, Node] = _parser().parse(text)  # type: ignore[assignment]
    except UnexpectedInput as error:
        column = error.column if isinstance(error.column, int) and error.column > 0 else len(text) + 1
        raise FormulaError(_explain(text, column), line, column) from None
    return parsed


def _explain(text: str, column: int) -> str:
    """Say what is wrong with a line that does not parse, in the words of its likely author."""
    rest = text[column - 1 :].strip()
    found = f"found {rest[:20]!r}" if rest else "found the end of the line"
    stripped = text.strip()
    if stripped.startswith("if ") and any(sign in stripped.split(":")[0] for sign in "<>=!"):
        return f"expected one name after 'if' (no comparison; compute a difference first), {found}"
    if "=" not in stripped:
        return f"expected an assignment such as 'p = …', {found}"
    if any(sign in rest[:2] for sign in "<>!%^") or "**" in rest[:3]:
        return f"expected + - * / or one of {', '.join(FUNCTIONS)}; there are no other operators, {found}"
    return f"expected a number, a name, a call or a bracket, with single signs, {found}"


def _check_names(node: Node, known: set[str], line: int) -> None:
    """Refuse unknown names and functions, and wrong numbers of arguments (§3.3: load errors)."""
    stack: list[Node] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, Name) and part.name not in known:
            have = ", ".join(sorted(known)) or "none"
            raise FormulaError(
                f"expected an input or an assigned name (there are: {have}), found {part.name!r}", line, part.column
            )
        if isinstance(part, Signed):
            stack.append(part.operand)
        elif isinstance(part, Chain):
            stack.append(part.first)
            stack.extend(operand for _, operand in part.rest)
        elif isinstance(part, Call):
            _check_call(part, line)
            stack.extend(part.arguments)


def _check_call(call: Call, line: int) -> None:
    function = FUNCTIONS.get(call.function)
    if function is None:
        raise FormulaError(
            f"expected a function out of {', '.join(FUNCTIONS)}, found {call.function!r}", line, call.column
        )
    count = len(call.arguments)
    if count < function.least or (function.most is not None and count > function.most):
        most = "any number of" if function.most is None else str(function.most)
        raise FormulaError(
            f"expected {function.least} to {most} arguments of {call.function}, found {count}", line, call.column
        )


def evaluate_formula(formula: Formula, inputs: Mapping[str, Any]) -> Evaluation:
    """Run a formula over resolved inputs; only numbers and booleans are variables (§3.2)."""
    result = Evaluation()
    values: dict[str, float | bool] = {}
    for name, value in inputs.items():
        if isinstance(value, bool):
            values[name] = value
        elif is_number(value):
            values[name] = _as_float(value)
    for statement in formula.statements:
        if statement.condition is not None and not values.get(statement.condition, False):
            continue
        values[statement.target] = _value(statement.value, values, result)
    p = values.get("p")
    if p is None or isinstance(p, bool):
        return result
    if math.isnan(p):
        result.notes.append("the formula's p is not a number; the check counts as even")
        return result
    result.p = tidy(_clamp(p))
    return result


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _value(node: Node, values: Mapping[str, float | bool], result: Evaluation) -> float:
    """The number of a node. Depth is bounded at load (``world.formula.depth``)."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        if node.name not in values:
            result.notes.append(f"{node.name} has no number and counts as 0")
            return 0.0
        return float(values[node.name])
    if isinstance(node, Signed):
        operand = _value(node.operand, values, result)
        return -operand if node.sign == "-" else operand
    if isinstance(node, Call):
        return FUNCTIONS[node.function].call(*[_value(part, values, result) for part in node.arguments])
    total = _value(node.first, values, result)
    for operator, part in node.rest:
        total = _applied(total, operator, _value(part, values, result))
    return total


def _applied(left: float, operator: str, right: float) -> float:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    return left if right == 0 else left / right


def names_used(formula: Formula) -> Iterable[str]:
    """Every name that the formula reads (for notices about unused inputs)."""
    for statement in formula.statements:
        if statement.condition is not None:
            yield statement.condition
        stack: list[Node] = [statement.value]
        while stack:
            part = stack.pop()
            if isinstance(part, Name):
                yield part.name
            elif isinstance(part, Signed):
                stack.append(part.operand)
            elif isinstance(part, Chain):
                stack.append(part.first)
                stack.extend(operand for _, operand in part.rest)
            elif isinstance(part, Call):
                stack.extend(part.arguments)
