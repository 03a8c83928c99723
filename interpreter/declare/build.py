"""Building the schema graph: the declaration's slice is interpreted once, under the build budget (design §6)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from interpreter import limits
from interpreter.budget import Run
from interpreter.declare import nodes as n
from interpreter.declare.constructors import UNKNOWN
from interpreter.declare.methods import PARSERS
from interpreter.declare.namespace import zod_namespace
from interpreter.errors import BudgetExceeded, EvaluationError, Fault, InterpreterError
from interpreter.evaluate.builtins.globals import globals_for
from interpreter.evaluate.code import Compiler
from interpreter.evaluate.functions import FunctionValue
from interpreter.evaluate.operators import describe, is_callable
from interpreter.evaluate.scope import FIRST_SLOT, UNSET, Frame, Scope
from interpreter.evaluate.values import Chain, ErrorValue, Getter, MapValue, SetValue, Thrown
from interpreter.javascript import UNDEFINED
from interpreter.regex import RegExp
from interpreter.syntax.program import FUNCTIONS, Program, pattern_names
from interpreter.syntax.source import Tree, position, refuse, walk

assert PARSERS is not None  # importing the methods fills the method tables


@dataclass(slots=True)
class Declaration:
    """A built declaration: the schema as written, the one that is applied, and what must not change any more."""

    program: Program
    version: int
    profile: str
    written: n.Node
    applied: n.Node
    steps: int
    frozen: dict[int, Any] = field(default_factory=dict)
    any_mutation: bool = False
    names: frozenset[str] = frozenset()


class _Builder:
    def __init__(self, program: Program, version: int, profile: str) -> None:
        self.program = program
        self.version = version
        self.profile = profile
        names = globals_for(version, zod_namespace(version))
        for local, library in program.libraries.items():
            if library.startswith("_."):
                lodash = names["_"].members
                if library[2:] in lodash:
                    names[local] = lodash[library[2:]]
            else:
                names[local] = names[library]
        self.compiler = Compiler(names, version=version, profile=profile)

    def run(self) -> Declaration:
        program = self.program
        frame = Frame(None)
        scope = Scope(None, frame, is_function=True)
        statements = program.statements
        self.compiler.declare_vars(statements, scope)
        self.compiler.declare_all(statements, scope)
        steps = [(node, self._statement(node, scope)) for node in statements]
        root_tree = program.root if program.root is not None else _name(program)
        root = self.compiler.expression(root_tree, scope)
        if self.compiler.faults:
            raise refuse(program.source.text, self.compiler.faults)
        run = Run(self.profile, limits.BUILD_STEPS, None, version=self.version)
        run.steps = self.compiler.cost
        values: list[Any] = [None, run, *([UNSET] * (frame.size - FIRST_SLOT))]
        for slot in frame.var_slots:
            values[slot] = UNDEFINED
        for node, step in steps:
            self._execute(step, values, node)
        value = self._execute(root, values, root_tree)
        if is_callable(value) and self.version >= 3:
            function = value
            value = self._execute(lambda inner: function.call(run, []), values, root_tree)
        if not isinstance(value, n.Node):
            message = f"expected a schema to register, found {describe(value)}"
            raise refuse(program.source.text, [_fault(root_tree, "schema", message, "z.object({ … })")])
        applied = self._applied(value)
        self._execute(lambda inner: check_graph(applied, run, self.profile), values, root_tree)
        if applied is not value:
            self._execute(lambda inner: check_graph(value, run, self.profile), values, root_tree)
        frozen = reachable([values, value, applied])
        declaration = Declaration(program, self.version, self.profile, value, applied, run.steps, frozen)
        declaration.names = frozenset(name for tree in statements for name in declared_names(tree))
        _settle_mutation(declaration, self.compiler)
        return declaration

    def _statement(self, node: Tree, scope: Scope) -> Any:
        if node.type == "FunctionDeclaration":
            make = self.compiler.function(node, scope)
            found = scope.find(node.id.name)
            slot = found[1].slot if found else FIRST_SLOT

            def define(frame: Any) -> None:
                frame[slot] = make(frame)

            return define
        return self.compiler.statement(node, scope)

    def _execute(self, step: Any, frame: list[Any], node: Tree) -> Any:
        """Run one step of the build; what it throws becomes a located fault of the declaration."""
        text = self.program.source.text
        try:
            return step(frame)
        except Thrown as error:
            line, column = getattr(error, "place", None) or position(node)
            value = error.value
            message = value.text() if isinstance(value, ErrorValue) else f"threw {describe(value)}"
            raise refuse(
                text, [Fault(line, column, "declaration", f"expected a schema, found an error: {message}")]
            ) from None
        except BudgetExceeded:
            raise
        except EvaluationError as error:
            line, column = getattr(error, "place", None) or position(node)
            raise refuse(text, [Fault(line, column, "declaration", error.message, None, error.code)]) from None
        except InterpreterError as error:
            line, column = getattr(error, "place", None) or position(node)
            raise refuse(text, [Fault(line, column, "declaration", error.message, None, error.code)]) from None
        except RecursionError:
            raise BudgetExceeded(
                limits.STACK_WEIGHT.name, limits.STACK_WEIGHT.default, limits.STACK_WEIGHT.unit
            ) from None

    def _applied(self, value: n.Node) -> n.Node:
        """What the registration helper applies: a direct object is rebuilt as a loose one (spec/mvu.md §5.1, §0.5)."""
        program = self.program
        rebuilt = program.registered and (self.version >= 3 or (self.version == 2 and program.pinned))
        if rebuilt and isinstance(value, n.ObjectNode):
            return n.ObjectNode(shape=value.shape, catchall=UNKNOWN, meta=value.meta)
        return value


class _NameTree:
    """The name of the root, where no registration names it."""

    def __init__(self, name: str, place: Tree) -> None:
        self.type = "Identifier"
        self.name = name
        self.loc = place.loc
        self.range = place.range


def _name(program: Program) -> Tree:
    return _NameTree(str(program.root_name), program.source.tree)


def _fault(node: Tree, construct: str, message: str, nearest: str | None = None) -> Fault:
    line, column = position(node)
    return Fault(line, column, construct, message, nearest)


def node_children(node: n.Node) -> list[n.Node]:
    """The schemas directly inside a schema; lazy ones are resolved."""
    if isinstance(node, n.LazyNode):
        return [node.resolve()]
    found: list[n.Node] = []
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, n.Node):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(part for part in value if isinstance(part, n.Node))
            found.extend(part.schema for part in value if isinstance(part, n.PropertyCheck))
        elif item.name == "shape":
            found.extend(value.values())
    return found


def check_graph(root: n.Node, run: Run, profile: str) -> None:
    """Resolve every lazy schema and bound the graph's size and depth."""
    maximum, deepest = limits.SCHEMA_NODES.under(profile), limits.SCHEMA_DEPTH.under(profile)
    seen: dict[int, n.Node] = {}
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > deepest:
            raise BudgetExceeded(limits.SCHEMA_DEPTH.name, deepest, limits.SCHEMA_DEPTH.unit)
        if id(node) in seen:
            continue
        seen[id(node)] = node
        run.charge(1)
        if len(seen) > maximum:
            raise BudgetExceeded(limits.SCHEMA_NODES.name, maximum, limits.SCHEMA_NODES.unit)
        lazy = isinstance(node, n.LazyNode)
        stack.extend((child, 0 if lazy else depth + 1) for child in node_children(node))


_CHANGEABLE = (dict, list, SetValue, MapValue, RegExp)


def reachable(roots: list[Any]) -> dict[int, Any]:
    """Every container that outlives the build: author code may read it, but a parse may not change it."""
    found: dict[int, Any] = {}
    stack: list[Any] = list(roots)
    while stack:
        value = stack.pop()
        if value is None or isinstance(value, (str, int, float, Run)) or id(value) in found:
            continue
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, (list, tuple)):
            stack.extend(value)
        elif isinstance(value, FunctionValue):
            stack.append(value.frame)
        elif isinstance(value, (SetValue, MapValue)):
            stack.extend(value.items.values())
        elif isinstance(value, (Chain, Getter)):
            stack.append(value.value if isinstance(value, Chain) else value.function)
        elif isinstance(value, (n.Node, n.Check)):
            stack.extend(getattr(value, item.name) for item in fields(value))
        elif not isinstance(value, RegExp):
            if hasattr(value, "items") and not hasattr(value, "call"):
                stack.extend(value.values())
            continue
        found[id(value)] = value
    return {place: value for place, value in found.items() if isinstance(value, _CHANGEABLE)}


def _settle_mutation(declaration: Declaration, compiler: Compiler) -> None:
    """A function that refers to outside variables may call any function that changes data in place."""
    declaration.any_mutation = any(code.mutates for code in compiler.functions)
    if declaration.any_mutation:
        for code in compiler.functions:
            code.mutates = code.mutates or code.calls_out


def declared_names(tree: Tree) -> set[str]:
    """Every name that a statement declares, at any depth (also parameters)."""
    found: set[str] = set()
    for node in walk(tree):
        if node.type == "VariableDeclarator":
            found.update(pattern_names(node.id))
        elif node.type in FUNCTIONS:
            found.update(name for parameter in node.params for name in pattern_names(parameter))
            if getattr(node, "id", None) is not None:
                found.add(node.id.name)
    return found


def build(program: Program, version: int, profile: str) -> Declaration:
    """The schema graph of a program."""
    return _Builder(program, version, profile).run()
