"""Author functions of one number as Python expressions: clamps, rounding, arithmetic with literals.

The text of such a function is not copied: an expression is built from the syntax tree out of fixed pieces and bound
constants, and only where the result is the same for every finite number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.evaluate.builtins.lodash import LODASH
from interpreter.evaluate.builtins.numbers import MATH_FUNCTIONS, ONE_NUMBER
from interpreter.evaluate.functions import FunctionValue
from interpreter.syntax.source import Tree

Bind = Callable[[Any, str], str]
_ARITHMETIC = {"+": js.add_numbers, "-": js.subtract, "*": js.multiply, "/": js.divide}
_ROUNDING = ("floor", "ceil", "round", "trunc", "abs")


class _Refuse(Exception):
    """The function is not of this simple kind."""


def _literal(node: Tree) -> Any:
    """The number that a literal or its negation stands for."""
    if node.type == "UnaryExpression" and node.operator == "-":
        return js.negate(_literal(node.argument))
    if node.type == "Literal" and type(node.value) in (int, float):
        return js.js_number(node.value)
    raise _Refuse


class _Inliner:
    def __init__(self, parameter: str, argument: str, bind: Bind, free: Callable[[str], Any]) -> None:
        self.parameter = parameter
        self.argument = argument
        self.bind = bind
        self.free = free
        self.always_finite = True
        self.cost = 0

    def expression(self, node: Tree) -> str:
        """A Python expression, parenthesised, that has the value of the node."""
        kind = node.type
        if kind == "Identifier" and node.name == self.parameter:
            return self.argument
        if kind in ("Literal", "UnaryExpression"):
            return self.bind(_literal(node), "c")
        if kind == "BinaryExpression" and node.operator in _ARITHMETIC:
            self.always_finite = False
            function = self.bind(_ARITHMETIC[node.operator], "f")
            return f"{function}({self.expression(node.left)}, {self.expression(node.right)})"
        if kind == "CallExpression" and node.callee.type == "MemberExpression" and not node.callee.computed:
            return self._call(node)
        raise _Refuse

    def _call(self, node: Tree) -> str:
        owner = node.callee.object
        if owner.type != "Identifier" or self.free(owner.name) is None:
            raise _Refuse
        value, name = self.free(owner.name), node.callee.property.name
        function = value.members.get(name)
        if any(argument.type == "SpreadElement" for argument in node.arguments):
            raise _Refuse
        if function is LODASH.members["clamp"] and len(node.arguments) == 3:
            low, high = _literal(node.arguments[1]), _literal(node.arguments[2])
            if not low <= high:
                raise _Refuse
            inner, bottom, top = self.expression(node.arguments[0]), self.bind(low, "c"), self.bind(high, "c")
            # Clamped from above first, then from below, as lodash does; equal values stay (also -0).
            return f"K({inner}, {bottom}, {top})" if inner != self.argument else _between(inner, bottom, top)
        if name in _ROUNDING and function is MATH_FUNCTIONS[name] and len(node.arguments) == 1:
            rounded = self.bind(ONE_NUMBER[name], "f")
            inner = self.expression(node.arguments[0])
            if inner == self.argument and name != "abs":
                return f"({inner} if {inner}.__class__ is int else {rounded}({inner}))"
            return f"{rounded}({inner})"
        if name == "max" and function is MATH_FUNCTIONS["max"] and len(node.arguments) == 2:
            return self._largest(node.arguments)
        raise _Refuse

    def _largest(self, arguments: list[Tree]) -> str:
        low, other = _literal(arguments[0]), self.expression(arguments[1])
        if not low >= 0 or (isinstance(low, float) and low == 0):
            raise _Refuse
        bound = self.bind(low, "c")
        self.cost += len(arguments)  # what the built-in charges
        return f"G({other}, {bound})" if other != self.argument else f"({other} if {other} > {bound} else {bound})"


def _between(value: str, low: str, high: str) -> str:
    return f"({low} if {value} < {low} else {high} if {value} > {high} else {value})"


def clamp(value: Any, low: Any, high: Any) -> Any:
    """``_.clamp`` of a number between ordered bounds."""
    return low if value < low else high if value > high else value


def larger(value: Any, low: Any) -> Any:
    """``Math.max`` of a number and a bound that is not negative."""
    return value if value > low else low


def inline(function: Any, argument: str, bind: Bind, free: Callable[[str], Any]) -> tuple[str, bool, int] | None:
    """The expression of a function of one number, whether it is finite for every finite number, and the steps of a
    call; None if it is not simple. ``free`` gives the built-in that a free name stands for."""
    if not isinstance(function, FunctionValue):
        return None
    tree = function.code.tree
    if len(tree.params) != 1 or tree.params[0].type != "Identifier":
        return None
    body = tree.body
    if body.type == "BlockStatement":
        if len(body.body) != 1 or body.body[0].type != "ReturnStatement" or body.body[0].argument is None:
            return None
        body = body.body[0].argument
    parameter = tree.params[0].name
    maker = _Inliner(parameter, argument, bind, lambda name: None if name == parameter else free(name))
    try:
        text = maker.expression(body)
    except _Refuse:
        return None
    return text, maker.always_finite, function.code.cost + maker.cost
