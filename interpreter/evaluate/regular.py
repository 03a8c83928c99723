"""Regular expressions inside author code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter.budget import Run
from interpreter.errors import Fault
from interpreter.evaluate.code import Compiler
from interpreter.evaluate.operators import register_text, to_text
from interpreter.evaluate.properties import METHODS, methods, register_reader
from interpreter.evaluate.values import ErrorValue, Thrown
from interpreter.javascript import UNDEFINED
from interpreter.regex import FiniteRegex, RegexMatch, RegExp, RegexRefused, compile_finite, compile_regex
from interpreter.syntax.source import Tree, position


class FinitePattern:
    """A regular expression literal of versions 1 and 2: only ``.regex()`` takes it, and charges its states then."""

    __slots__ = ("source",)

    def __init__(self, source: str) -> None:
        self.source = source

    def build(self, run: Run) -> FiniteRegex:
        """The automaton; one step for each state."""
        return compile_finite(self.source, "", run.charge)


def literal(compiler: Compiler, node: Tree, pattern: str, flags: str) -> Callable[[], Any] | None:
    """How to make the value of a literal, or None after a located fault."""
    try:
        if compiler.restricted:
            compile_finite(pattern, flags)
            return lambda: FinitePattern(pattern)
        regex = compile_regex(pattern, flags)
    except RegexRefused as error:
        line, column = position(node)
        fault = Fault(line, column + 1 + error.index, "regular expression", error.message, error.nearest, error.code)
        compiler.faults.append(fault)
        return None
    return lambda: RegExp(regex)


def match_value(match: RegexMatch | None, text: str) -> Any:
    """The array that ``exec`` and ``match`` answer."""
    if match is None:
        return None
    found = MatchArray([match.text, *match.groups])
    groups: Any = UNDEFINED if match.named is None else dict(match.named)
    found.extra = {"index": match.index, "input": text, "groups": groups}
    return found


class MatchArray(list[Any]):
    """A match: an array with ``index``, ``input`` and ``groups``."""

    extra: dict[str, Any]


def local(run: Run, value: RegExp) -> RegExp:
    """The regular expression with this run's ``lastIndex``: a constant keeps none between runs."""
    if id(value) not in run.frozen:
        return value
    known = run.regexes.get(id(value))
    if known is None:
        known = run.regexes[id(value)] = RegExp(value.regex)
    return known


def _test(run: Run, target: RegExp, arguments: list[Any]) -> Any:
    return local(run, target).test(to_text(arguments[0] if arguments else UNDEFINED), run.charge)


def _exec(run: Run, target: RegExp, arguments: list[Any]) -> Any:
    text = to_text(arguments[0] if arguments else UNDEFINED)
    return match_value(local(run, target).exec(text, run.charge), text)


def _read(run: Run, target: RegExp, name: str) -> Any:
    regex = target.regex
    members: dict[str, Any] = {
        "source": regex.source,
        "flags": regex.flags,
        "lastIndex": local(run, target).last_index,
        "global": regex.is_global,
        "ignoreCase": "i" in regex.flags,
        "multiline": "m" in regex.flags,
        "sticky": regex.sticky,
        "unicode": regex.unicode,
    }
    return members.get(name, UNDEFINED)


def regex_text(value: Any) -> str:
    """``/source/flags``."""
    regex = getattr(value, "regex", value)
    source = getattr(regex, "source", None) or getattr(regex, "pattern", "")
    return f"/{source}/{getattr(regex, 'flags', '')}"


def new_regex(_run: Run, arguments: list[Any]) -> Any:
    """``new RegExp(source, flags)``."""
    source = arguments[0] if arguments else UNDEFINED
    flags = to_text(arguments[1]) if len(arguments) > 1 and arguments[1] is not UNDEFINED else ""
    if isinstance(source, RegExp):
        text, flags = source.regex.source, flags or source.regex.flags
    else:
        text = "(?:)" if source is UNDEFINED else to_text(source)
    try:
        return RegExp(compile_regex(text, flags))
    except RegexRefused as error:
        if error.code == "MVU_LIMIT":
            raise
        raise Thrown(ErrorValue("SyntaxError", error.message)) from None


METHODS[MatchArray] = methods(list)
methods(RegExp).update({"test": _test, "exec": _exec, "toString": lambda run, target, arguments: regex_text(target)})
register_reader(RegExp, _read)
register_text(RegExp, regex_text)
