"""The limits of the interpreter (spec/mvu.md §1.7, §0.3): one row each, with a profile ``reference``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: ``name`` (dotted), ``default`` in ``unit``, what it ``protects``, the ``error`` code it raises;
    ``reference`` is the value under the profile ``reference``."""

    name: str
    default: int
    unit: str
    protects: str
    error: str
    reference: int | None = None

    def under(self, profile: str) -> int:
        """The value of the limit under a profile."""
        return self.reference if profile == "reference" and self.reference is not None else self.default


LIMIT = "MVU_LIMIT"
CODE = "MVU_SCHEMA_CODE"

SOURCE = Limit("interpreter.source", 131_072, "UTF-16 units", "parsing a declaration", LIMIT)
SYNTAX_NODES = Limit("interpreter.syntax.nodes", 60_000, "nodes", "the size of a syntax tree", LIMIT, 10_000)
SYNTAX_DEPTH = Limit("interpreter.syntax.depth", 90, "levels", "the depth of a syntax tree", LIMIT, 64)
FAULTS = Limit("interpreter.faults", 20, "faults", "the length of one refusal", CODE)
BUILD_STEPS = Limit("interpreter.steps.build", 200_000, "steps", "building a schema", LIMIT, 10_000)
PARSE_STEPS = Limit("interpreter.steps.parse", 400_000, "steps", "one parse of a value", LIMIT, 10_000)
CALL_DEPTH = Limit("interpreter.depth.calls", 64, "calls", "nested calls of author functions", LIMIT, 64)
STACK_WEIGHT = Limit("interpreter.depth.stack", 420, "frames", "the stack of nested author functions", LIMIT)
SCHEMA_DEPTH = Limit("interpreter.depth.schema", 64, "levels", "the depth of a schema graph", LIMIT, 64)
SCHEMA_NODES = Limit("interpreter.schema.nodes", 20_000, "nodes", "the size of a schema graph", LIMIT, 10_000)
VALUE_DEPTH = Limit("interpreter.depth.value", 64, "levels", "the depth of a value", LIMIT)
VALUE_NODES = Limit("interpreter.value.nodes", 100_000, "nodes", "the size of a value", LIMIT)
VALUE_SIZE = Limit("interpreter.value.size", 2_097_152, "charged bytes", "the size of a value", LIMIT)
STRING = Limit("interpreter.string", 1_048_576, "UTF-16 units", "the length of a built string", LIMIT, 131_072)
LOOP_ITEMS = Limit("interpreter.loop.items", 100_000, "items", "one for…of loop", LIMIT, 1_000)
MATH_ARGUMENTS = Limit("interpreter.math.arguments", 1_000, "arguments", "one call of a Math function", CODE)
ISSUE_PATH = Limit("interpreter.issue.path", 64, "parts", "the path of an author's issue", CODE)
ISSUE_MESSAGE = Limit("interpreter.issue.message", 1_024, "UTF-16 units", "the message of an author's issue", CODE)
ISSUES = Limit("interpreter.issues", 1_000, "issues", "the number of issues of one parse", LIMIT)
ARITHMETIC = Limit("interpreter.arithmetic", 8_192, "UTF-16 units", "one arithmetic argument", LIMIT)
MEMORY = Limit("interpreter.memory", 200_000, "containers", "remembered results of one state", LIMIT)
CACHE = Limit("interpreter.cache", 256, "declarations", "compiled declarations kept in memory", LIMIT)

LIMITS: tuple[Limit, ...] = (
    SOURCE,
    SYNTAX_NODES,
    SYNTAX_DEPTH,
    FAULTS,
    BUILD_STEPS,
    PARSE_STEPS,
    CALL_DEPTH,
    STACK_WEIGHT,
    SCHEMA_DEPTH,
    SCHEMA_NODES,
    VALUE_DEPTH,
    VALUE_NODES,
    VALUE_SIZE,
    STRING,
    LOOP_ITEMS,
    MATH_ARGUMENTS,
    ISSUE_PATH,
    ISSUE_MESSAGE,
    ISSUES,
    ARITHMETIC,
    MEMORY,
    CACHE,
)
