"""Compiled declarations and their cache: the public face of the interpreter (design §6)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal

from interpreter import limits
from interpreter.budget import Run
from interpreter.compile.author import clean_json
from interpreter.compile.exact import ExactCompiler, Parse
from interpreter.compile.fast import Fail, FastCompiler, FastParse
from interpreter.compile.payload import Payload
from interpreter.declare import nodes as n
from interpreter.declare.build import Declaration, build
from interpreter.declare.namespace import zod_namespace
from interpreter.errors import (
    BudgetExceeded,
    DeclarationError,
    EvaluationError,
    Fault,
    InterpreterError,
    RegexTimeout,
)
from interpreter.evaluate.builtins.globals import globals_for
from interpreter.evaluate.operators import describe
from interpreter.evaluate.values import ErrorValue, Thrown
from interpreter.parse import hooks as _hooks  # parse() and safeParse() inside author functions
from interpreter.parse.issue import Issue, make_issue
from interpreter.parse.memory import Memory
from interpreter.syntax.program import PINNED, Program, slice_program
from interpreter.syntax.restricted import restricted_program
from interpreter.syntax.source import Source, Tree, measure, read_source, refuse, walk

assert _hooks

VERSIONS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The outcome of one parse: ``value`` where ``ok``, else ``issues``; ``steps`` is what it cost."""

    ok: bool
    value: Any
    issues: tuple[Issue, ...]
    steps: int


class CompiledSchema:
    """A declaration, compiled: immutable, shared between threads and sessions."""

    def __init__(self, declaration: Declaration, warnings: tuple[str, ...]) -> None:
        self._declaration = declaration
        self.warnings = warnings
        self.version = declaration.version
        self.profile = declaration.profile
        self.source = declaration.program.source.text
        self.registered = declaration.program.registered
        self.skipped: tuple[dict[str, Any], ...] = tuple(declaration.program.skipped)
        self.steps = declaration.steps
        self._parses = 0
        self._exhausted = False
        self._fast: FastParse | None = None
        self._generator: FastCompiler | None = None
        compiler = ExactCompiler(attempts=True)
        self._applied: Parse = compiler.compile(declaration.applied)
        same = declaration.written is declaration.applied
        self._written: Parse = self._applied if same else compiler.compile(declaration.written)

    @property
    def root(self) -> n.Node:
        """The schema that is applied."""
        return self._declaration.applied

    @property
    def written(self) -> n.Node:
        """The schema as it is written, before the registration helper rebuilds a direct root object."""
        return self._declaration.written

    def descriptor(self) -> dict[str, Any]:
        """What is stored with every state (design §6)."""
        return {"mvuSchema": 1, "interpreterVersion": self.version, "source": self.source}

    def parse(
        self,
        value: Any,
        *,
        clock: int | None = None,
        memory: Memory | None = None,
        written: bool = False,
        raw: bool = False,
    ) -> ParseResult:
        """Parse a value.

        ``clock`` is what ``Date.now()`` gives (milliseconds), ``memory`` remembers fix points between parses.
        ``written`` applies the schema as written, without the rebuild of the root; ``raw`` keeps JavaScript values
        (undefined, NaN) in the output instead of making it JSON.
        """
        if not written and not raw:
            found = self._quick(value, clock, memory)
            if found is not None:
                return found
        run = self._run(clock)
        run.quick = None if written or raw else self._generator
        payload = Payload(value)
        try:
            (self._written if written else self._applied)(payload, run)
            run.charge(0)  # generated sub-parsers count without looking: the limit is compared once more at the end
            if payload.issues:
                issues = tuple(make_issue(run, issue) for issue in payload.issues[: limits.ISSUES.default])
                return ParseResult(False, None, issues, run.steps)
            return ParseResult(True, payload.value if raw else self._output(run, payload.value), (), run.steps)
        except Thrown as error:
            raise thrown(error) from None
        except BudgetExceeded:
            if run.quick is not None:
                self._give_up()
            raise
        except RecursionError:
            raise BudgetExceeded(
                limits.STACK_WEIGHT.name, limits.STACK_WEIGHT.default, limits.STACK_WEIGHT.unit
            ) from None

    def _run(self, clock: int | None) -> Run:
        run = Run(self.profile, limits.PARSE_STEPS, clock, version=self.version)
        run.frozen = self._declaration.frozen
        return run

    def _quick(self, value: Any, clock: int | None, memory: Memory | None) -> ParseResult | None:
        """The outcome by the generated parser; None where only the exact one can tell.

        Generating costs milliseconds, so the first parse without a memory goes without.
        """
        if self._exhausted:
            return None
        fast = self._fast
        if fast is None:
            self._parses += 1
            if memory is None and self._parses < 2:
                return None
            fast = self._generate()
        if memory is not None:
            memory.attach(self._generator)
        run = self._run(clock)
        try:
            output = fast(value, run, memory)
            if run.steps > run.limit:
                self._give_up()
                return None
            return ParseResult(True, self._output(run, output), (), run.steps)
        except RegexTimeout:
            raise
        except BudgetExceeded:
            self._give_up()
            return None
        except (Fail, Thrown, InterpreterError, RecursionError):
            return None

    def _give_up(self) -> None:
        """Leave a schema that outran its budget to the exact parser: what the generated one keeps of it is huge."""
        with _LOCK:
            self._exhausted = True
            self._fast = self._generator = None

    def _generate(self) -> FastParse:
        with _LOCK:
            if self._fast is None:
                names = globals_for(self.version, zod_namespace(self.version))
                own = set(self._declaration.names)
                free = {name: value for name, value in names.items() if name not in own}
                self._generator = FastCompiler(ExactCompiler(), free.get)
                self._fast = self._generator.build(self._declaration.applied)
            return self._fast

    def _output(self, run: Run, value: Any) -> Any:
        return clean_json(value) if run.unclean or not isinstance(value, (dict, list)) else value

    def json_schema(self, io: Literal["output", "input"] = "output") -> dict[str, Any]:
        """The JSON Schema (draft 2020-12) of the output or of the input."""
        from interpreter.jsonschema import json_schema

        return json_schema(self.root, io)

    def fields(self) -> Any:
        """Path, type, constraints and description of every field."""
        from interpreter.fields import schema_fields

        return schema_fields(self.root)


def thrown(error: Thrown) -> EvaluationError:
    """An exception of an author function as the parse's failure."""
    value = error.value
    message = value.text() if isinstance(value, ErrorValue) else f"threw {describe(value)}"
    place = getattr(error, "place", None)
    where = f" (line {place[0]}, column {place[1]})" if place else ""
    return EvaluationError(
        "MVU_SCHEMA_CODE", f"expected the declaration's functions to succeed, found {message}{where}"
    )


# --- compiling -----------------------------------------------------------------------------------------------------

_CACHE: OrderedDict[tuple[str, int | None, int, str], CompiledSchema] = OrderedDict()
_LOCK = threading.Lock()


def _program(source: Source, version: int, profile: str) -> Program:
    if version < 3:
        measure(source.text, source.tree, profile)
        return restricted_program(source, version)
    program = slice_program(source)
    for tree in [*program.statements, *([program.root] if program.root is not None else [])]:
        measure(source.text, tree, profile)
    return program


def _compile(source: Source, version: int, profile: str) -> CompiledSchema:
    declaration = build(_program(source, version, profile), version, profile)
    try:
        return CompiledSchema(declaration, tuple(source.warnings))
    except (Thrown, InterpreterError) as error:
        if isinstance(error, BudgetExceeded | DeclarationError):
            raise
        failure = thrown(error) if isinstance(error, Thrown) else error
        raise refuse(source.text, [Fault(1, 1, "declaration", failure.message)]) from None


def _free_issue(node: Tree) -> bool:
    """Whether a node is ``addIssue(…)`` with a form that only version 3 takes (spec/mvu.md §5.5)."""
    if node.type != "CallExpression" or getattr(getattr(node.callee, "property", None), "name", None) != "addIssue":
        return False
    issue = node.arguments[0] if len(node.arguments) == 1 else None
    if issue is None or issue.type != "ObjectExpression":
        return True
    for item in issue.properties:
        name = getattr(getattr(item, "key", None), "name", None) or getattr(getattr(item, "key", None), "value", None)
        if name not in ("code", "path", "message"):
            return True
        if name == "code" and item.value.type == "Literal" and item.value.value != "custom":
            return True
    return False


def _choose(source: Source, max_version: int, profile: str) -> CompiledSchema:
    """Version 2 where the declaration fits it, else version 3 (spec/mvu.md §0.1, §0.5)."""
    if max_version < 3:
        return _compile(source, max_version, profile)
    foreign = any(
        statement.type == "ImportDeclaration" and str(statement.source.value) != PINNED
        for statement in source.tree.body
    )
    if foreign or source.warnings or any(_free_issue(node) for node in walk(source.tree)):
        return _compile(source, 3, profile)
    try:
        return _compile(source, 2, profile)
    except (DeclarationError, BudgetExceeded):
        return _compile(source, 3, profile)


def compile_declaration(
    source: str, version: int | None = None, *, max_version: int = 3, profile: str = "default"
) -> CompiledSchema:
    """Compile a declaration; the result is cached by text, version and profile.

    Without a version, the text is compiled as version 2 if it fits, else as version 3. Raises
    :class:`~interpreter.errors.DeclarationError` or :class:`~interpreter.errors.BudgetExceeded`.
    """
    wanted = max_version if version is None else version
    if isinstance(wanted, bool) or wanted not in VERSIONS:
        fault = Fault(1, 1, "interpreterVersion", f"expected interpreter version 1, 2 or 3, found {wanted!r}")
        raise refuse(source, [fault])
    # The text itself is the key: Python remembers the hash of a text, and a digest of a long one costs more than it.
    key = (source, version, max_version, profile)
    with _LOCK:
        known = _CACHE.get(key)
        if known is not None:
            _CACHE.move_to_end(key)
            return known
    read = read_source(source)
    compiled = _compile(read, version, profile) if version is not None else _choose(read, max_version, profile)
    with _LOCK:
        _CACHE[key] = compiled
        while len(_CACHE) > limits.CACHE.default:
            _CACHE.popitem(last=False)
    return compiled


def clear_cache() -> None:
    """Forget every compiled declaration (for measurements)."""
    with _LOCK:
        _CACHE.clear()
