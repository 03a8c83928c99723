"""The schema graph: what a declaration means, as frozen values (design §6).

One class per kind of schema, one per kind of check. A node is immutable and shared: a method of a schema makes a new
node. Nodes compare by identity, because the memory of a parse and the resolution of recursive schemas need it.
Author functions stand in the graph as opaque callables (:class:`interpreter.evaluate.FunctionValue`); only the parser
calls them. The order of the checks is the order of the chain in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

NO_META: Mapping[str, Any] = MappingProxyType({})

Opaque = Any  # an author function or a regular expression: opaque here


# --- checks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Check:
    """One check of a chain. ``error`` is the author's message (text or function), ``abort`` stops later checks."""

    error: Opaque = None
    abort: bool = False
    when: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LessThan(Check):
    """``max``, ``lt``, ``lte``, ``negative``, ``nonpositive`` of numbers (and dates, bigints)."""

    value: Any
    inclusive: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GreaterThan(Check):
    """``min``, ``gt``, ``gte``, ``positive``, ``nonnegative``."""

    value: Any
    inclusive: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MultipleOf(Check):
    """``multipleOf`` and ``step``."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NumberFormat(Check):
    """``int`` (format ``safeint``), ``int32``, ``uint32``, ``float32``, ``float64``."""

    format: Literal["safeint", "int32", "uint32", "float32", "float64"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MinLength(Check):
    """``min`` and ``nonempty`` of strings and arrays, in UTF-16 units and items."""

    minimum: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MaxLength(Check):
    """``max`` of strings and arrays."""

    maximum: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExactLength(Check):
    """``length`` of strings and arrays."""

    length: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MinSize(Check):
    """``min`` and ``nonempty`` of sets and maps."""

    minimum: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MaxSize(Check):
    """``max`` of sets and maps."""

    maximum: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExactSize(Check):
    """``size`` of sets and maps."""

    size: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StringFormat(Check):
    """A named string format: ``email``, ``uuid``, ``datetime``, ``lowercase``… or an author's ``regex``.

    ``format`` is the name that the issue carries. ``pattern`` is the author's regular expression (an opaque value with
    ``test``, ``source`` and ``flags``) or None for a built-in format; ``options`` are the built-in format's options
    (``version``, ``precision``, ``offset``, ``local``, ``hostname``, ``protocol``, ``normalize``, ``delimiter``…).
    ``function`` is the author's function of ``z.stringFormat``.
    """

    format: str
    pattern: Opaque = None
    options: Mapping[str, Any] = field(default_factory=lambda: NO_META)
    function: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Includes(Check):
    """``includes(text, {position})``."""

    text: str
    position: Any = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StartsWith(Check):
    """``startsWith(text)``."""

    text: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EndsWith(Check):
    """``endsWith(text)``."""

    text: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Overwrite(Check):
    """A check that replaces the value: ``trim``, ``toLowerCase``, ``toUpperCase``, ``normalize``, ``slugify`` by
    ``name`` (``argument`` is the form of ``normalize``), or the author's ``function``."""

    name: str = ""
    argument: Any = None
    function: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Refine(Check):
    """``refine(fn, {message, path, params, abort, when})`` and the check inside ``z.custom``."""

    function: Opaque
    path: tuple[str | int, ...] = ()
    params: Any = None
    expected: str | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SuperRefine(Check):
    """``superRefine(fn)``: the function gets the value and a context with ``addIssue``."""

    function: Opaque


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CheckFunction(Check):
    """``check(fn)``: the function gets the payload ``{value, issues}`` itself."""

    function: Opaque


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PropertyCheck(Check):
    """``z.property(name, schema)`` as an argument of ``check``."""

    property: str
    schema: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Annotation(Check):
    """``z.describe(text)`` or ``z.meta(data)`` as an argument of ``check``: changes only the metadata."""

    data: Mapping[str, Any]


# --- schemas -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Node:
    """What every schema has: its checks in order, the author's ``error`` and the metadata (``description``, ``title``,
    ``id``, …). ``position`` is the offset in the source of the call that made it (for messages), or -1."""

    checks: tuple[Check, ...] = ()
    error: Opaque = None
    meta: Mapping[str, Any] = field(default_factory=lambda: NO_META)
    position: int = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StringNode(Node):
    """``z.string()``, ``z.coerce.string()`` and the formats (their :class:`StringFormat` is the first check)."""

    coerce: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NumberNode(Node):
    """``z.number()``, ``z.coerce.number()``, ``z.int()``… (:class:`NumberFormat` is then the first check)."""

    coerce: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BooleanNode(Node):
    """``z.boolean()`` and ``z.coerce.boolean()``."""

    coerce: bool = False


SimpleKind = Literal[
    "any", "unknown", "never", "null", "undefined", "void", "nan", "date", "bigint", "symbol", "file", "function"
]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SimpleNode(Node):
    """A kind without parameters. Dates, bigints, symbols and files are no JSON: such a schema refuses JSON values
    (unless coerced: ``z.coerce.date()``, ``z.coerce.bigint()``)."""

    kind: SimpleKind
    coerce: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CustomNode(Node):
    """``z.custom(fn)``, ``z.instanceof``: accepts what its checks accept."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EnumNode(Node):
    """``z.enum`` in its array and object form: name -> value, in JavaScript's key order."""

    entries: Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LiteralNode(Node):
    """``z.literal(value)`` and ``z.literal([values])``; values are scalars, None and ``UNDEFINED``."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TemplateNode(Node):
    """``z.templateLiteral([...])``: parts are scalars or schemas; ``source`` is the pattern Zod would build."""

    parts: tuple[Any, ...]
    source: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ObjectNode(Node):
    """``z.object`` and its variants.

    ``shape`` maps names to schemas in JavaScript's key order; a getter of the author's (recursive schema) stands as a
    :class:`LazyNode`. ``catchall`` is None (strip), ``never`` (strict), ``unknown`` (loose) or any schema.
    """

    shape: Mapping[str, Node]
    catchall: Node | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArrayNode(Node):
    """``z.array(element)``."""

    element: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TupleNode(Node):
    """``z.tuple([items], rest)``."""

    items: tuple[Node, ...]
    rest: Node | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordNode(Node):
    """``z.record``, ``z.partialRecord`` (``partial``: keys are not exhaustive) and ``z.looseRecord`` (``loose``)."""

    key: Node
    value: Node
    partial: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MapNode(Node):
    """``z.map(key, value)``: no JSON value is a Map."""

    key: Node
    value: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SetNode(Node):
    """``z.set(value)``: no JSON value is a Set."""

    value: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UnionNode(Node):
    """``z.union``, ``.or`` and, with ``exclusive``, ``z.xor``."""

    options: tuple[Node, ...]
    exclusive: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DiscriminatedUnionNode(Node):
    """``z.discriminatedUnion(key, options)``."""

    discriminator: str
    options: tuple[Node, ...]
    fallback: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class IntersectionNode(Node):
    """``z.intersection(left, right)`` and ``.and``."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WrapperNode(Node):
    """A schema around one inner schema."""

    inner: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OptionalNode(WrapperNode):
    """``optional`` (``exact``: ``exactOptional``, which does not accept a present ``undefined``)."""

    exact: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NullableNode(WrapperNode):
    """``nullable``."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DefaultNode(WrapperNode):
    """``default``: the value as it stands, never parsed. ``function`` is set for the function form."""

    value: Any = None
    function: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PrefaultNode(WrapperNode):
    """``prefault``: the value is parsed by the inner schema. ``function`` is set for the function form."""

    value: Any = None
    function: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NonOptionalNode(WrapperNode):
    """``nonoptional`` and what ``required`` makes."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CatchNode(WrapperNode):
    """``catch``: the value, or the function's result, whenever the inner schema fails."""

    value: Any = None
    function: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReadonlyNode(WrapperNode):
    """``readonly``: the output is frozen, which JSON does not show."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SuccessNode(WrapperNode):
    """``z.success(schema)``: whether the inner schema accepts."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TransformNode(Node):
    """``z.transform(fn)``, the right side of ``.transform`` and the left side of ``z.preprocess``."""

    function: Opaque


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PipeNode(Node):
    """``pipe``: ``.transform(fn)`` is a pipe into a :class:`TransformNode`, ``z.preprocess`` a pipe out of one."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CodecNode(Node):
    """``z.codec(left, right, {decode, encode})``."""

    left: Node
    right: Node
    decode: Opaque
    encode: Opaque = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StringBoolNode(Node):
    """``z.stringbool({truthy, falsy, case})``."""

    truthy: tuple[Any, ...]
    falsy: tuple[Any, ...]
    sensitive: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LazyNode(Node):
    """``z.lazy(fn)``, ``z.json()`` and getters in a shape. ``resolve()`` gives the inner schema, the same each time."""

    resolver: Callable[[], Node]
    cell: list[Node] = field(default_factory=list)

    def resolve(self) -> Node:
        """The inner schema; computed once, by the author's function under the build budget."""
        if not self.cell:
            self.cell.append(self.resolver())
        return self.cell[0]
