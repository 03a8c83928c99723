"""What a declaration registers, and the slice of it that has to be interpreted (spec/zod.md §5, spec/mvu.md §0.4).

Version 3 interprets only the top-level statements that the registered schema reaches; everything else (event handlers,
``console``, host calls) is skipped and listed. All registration forms of spec/zod.md §5 are found by shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interpreter.errors import Fault
from interpreter.syntax.source import Source, Tree, children, fault_at, position, refuse, walk

REGISTER = "registerMvuSchema"
PINNED = "https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js"
FUNCTIONS = frozenset({"ArrowFunctionExpression", "FunctionExpression", "FunctionDeclaration"})
MUTATORS = frozenset(
    [
        "push",
        "pop",
        "shift",
        "unshift",
        "splice",
        "sort",
        "reverse",
        "fill",
        "copyWithin",
        "set",
        "add",
        "delete",
        "clear",
        "assign",
        "merge",
        "defaults",
        "defaultsDeep",
        "extend",
        "assignIn",
        "mergeWith",
        "unset",
        "update",
        "pull",
        "pullAll",
        "pullAt",
        "remove",
        "defineProperty",
        "setWith",
        "assignWith",
    ]
)


@dataclass(slots=True)
class Program:
    """The part of a declaration to interpret: ``statements`` in order, then ``root`` (or the name ``root_name``)."""

    source: Source
    statements: list[Tree] = field(default_factory=list)
    root: Tree = None
    root_name: str | None = None
    registered: bool = False
    pinned: bool = False
    skipped: list[dict[str, Any]] = field(default_factory=list)
    libraries: dict[str, str] = field(default_factory=dict)


def pattern_names(pattern: Tree) -> list[str]:
    """The names that a binding pattern declares."""
    if pattern is None:
        return []
    kind = pattern.type
    if kind == "Identifier":
        return [pattern.name]
    if kind == "AssignmentPattern":
        return pattern_names(pattern.left)
    if kind == "RestElement":
        return pattern_names(pattern.argument)
    if kind == "ArrayPattern":
        return [name for element in pattern.elements for name in pattern_names(element)]
    if kind == "ObjectPattern":
        found = []
        for item in pattern.properties:
            found.extend(pattern_names(item.argument if item.type == "RestElement" else item.value))
        return found
    return []


def used_names(node: Tree) -> set[str]:
    """Every identifier below a node that stands for a variable (not a property name)."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        kind = current.type
        if kind == "Identifier":
            found.add(current.name)
        elif kind == "MemberExpression" and not current.computed:
            stack.append(current.object)
        elif kind == "Property" and not current.computed:
            stack.append(current.value)
        else:
            stack.extend(children(current))
    return found


def root_name(node: Tree) -> str | None:
    """The variable at the root of a member chain, through calls (``a.b.push(1)`` -> ``a``)."""
    while node is not None:
        if node.type == "Identifier":
            return str(node.name)
        if node.type == "MemberExpression":
            node = node.object
        elif node.type == "CallExpression":
            node = node.callee
        elif node.type == "ChainExpression":
            node = node.expression
        else:
            return None
    return None


def written_names(node: Tree) -> set[str]:
    """The variables that a statement assigns to or changes in place (an over-approximation)."""
    found: set[str] = set()
    for part in walk(node):
        if part.type == "AssignmentExpression":
            found.update(pattern_names(part.left) or filter(None, [root_name(part.left)]))
        elif part.type == "UpdateExpression" or (part.type == "UnaryExpression" and part.operator == "delete"):
            found.update(filter(None, [root_name(part.argument)]))
        elif part.type == "CallExpression" and part.callee.type == "MemberExpression":
            name = getattr(part.callee.property, "name", None)
            if part.callee.computed or name in MUTATORS:
                found.update(filter(None, [root_name(part.callee.object)]))
                if part.arguments:
                    found.update(filter(None, [root_name(part.arguments[0])]))
            elif name in ("forEach", "each"):
                found.update(filter(None, [root_name(part.callee.object)]))
    return found


@dataclass(slots=True)
class _Item:
    """One candidate statement: the tree to run, the names it declares, where it stands."""

    tree: Tree
    names: list[str]
    outer: Tree


class Slicer:
    """Finds the registration and the statements that it reaches."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.program = Program(source)
        self.register = {REGISTER}
        self.faults: list[Fault] = []
        self.items: list[_Item] = []
        self.host_names: set[str] = set()

    def run(self) -> Program:
        """The program to interpret; raises a DeclarationError where there is none."""
        body = self.source.tree.body
        for statement in body:
            self._imports(statement)
        calls = self._calls(body)
        for statement in body:
            self._collect(statement, statement)
        if calls:
            self._root_from_calls(calls)
        else:
            self._root_from_names(body)
        if self.faults:
            raise refuse(self.source.text, self.faults)
        self._slice(calls)
        return self.program

    # --- imports and registration ----------------------------------------------------------------------------------

    def _imports(self, statement: Tree) -> None:
        if statement.type == "ImportDeclaration":
            address = str(statement.source.value)
            for specifier in statement.specifiers:
                local = specifier.local.name
                imported = getattr(getattr(specifier, "imported", None), "name", None)
                if imported == REGISTER:
                    self.register.add(local)
                    self.program.pinned = self.program.pinned or (address == PINNED and local == REGISTER)
                elif address == "zod" or address.startswith("zod/") or imported == "z" or "/zod@" in address:
                    self.program.libraries[local] = "z"
                elif address in ("lodash", "lodash-es") or "/lodash" in address:
                    named = specifier.type == "ImportSpecifier"
                    self.program.libraries[local] = f"_.{imported}" if named else "_"
                else:
                    self.host_names.add(local)
        for node in walk(statement):
            if node.type == "AssignmentExpression" and node.left.type == "ObjectPattern":
                self._alias(node.left)
            elif node.type == "VariableDeclarator" and node.id.type == "ObjectPattern":
                self._alias(node.id)
            elif node.type in ("AssignmentExpression", "VariableDeclarator"):
                target, value = (node.left, node.right) if node.type == "AssignmentExpression" else (node.id, node.init)
                member = value.type == "MemberExpression" if value is not None else False
                if member and getattr(value.property, "name", None) == REGISTER and target.type == "Identifier":
                    self.register.add(target.name)

    def _alias(self, pattern: Tree) -> None:
        for item in pattern.properties:
            if item.type == "Property" and getattr(item.key, "name", None) == REGISTER:
                self.register.update(pattern_names(item.value))

    def _calls(self, body: list[Tree]) -> list[tuple[Tree, Tree, list[Tree]]]:
        """Every call of the registration: the call, its top-level statement and the enclosing nodes."""
        found = []
        for statement in body:
            stack: list[tuple[Tree, list[Tree]]] = [(statement, [])]
            while stack:
                node, above = stack.pop()
                if node.type == "CallExpression" and self._is_register(node.callee):
                    found.append((node, statement, above))
                stack.extend((child, [*above, node]) for child in reversed(children(node)))
        return found

    def _is_register(self, callee: Tree) -> bool:
        if callee.type == "Identifier":
            return callee.name in self.register
        return callee.type == "MemberExpression" and getattr(callee.property, "name", None) == REGISTER

    def _root_from_calls(self, calls: list[tuple[Tree, Tree, list[Tree]]]) -> None:
        texts = set()
        for call, _statement, _above in calls:
            if len(call.arguments) != 1 or call.arguments[0].type == "SpreadElement":
                message = f"expected {REGISTER} with one argument, found {len(call.arguments)}"
                self.faults.append(fault_at(call, "registration", message, f"{REGISTER}(Schema)"))
                return
            texts.add(self._text(call.arguments[0]))
        if len(texts) > 1:
            call = calls[1][0]
            message = f"expected one registration, found {len(texts)} different ones"
            self.faults.append(fault_at(call, "registration", message, f"one {REGISTER}(Schema)"))
            return
        call, _statement, above = calls[0]
        self.program.registered = True
        self.program.root = call.arguments[0]
        for node in above:
            if node.type == "BlockStatement":
                for inner in node.body:
                    self._collect(inner, inner)

    def _root_from_names(self, body: list[Tree]) -> None:
        names = {name for item in self.items for name in item.names}
        for name in ("Schema", "schema"):
            if name in names:
                self.program.root_name = name
                return
        for statement in body:
            if statement.type == "ExportDefaultDeclaration":
                self.program.root = statement.declaration
                return
        where = body[0] if body else None
        message = f"expected {REGISTER}(…) or a constant named Schema, found neither"
        nearest = "export const Schema = z.object({ … }); $(() => { registerMvuSchema(Schema); });"
        if where is None:
            self.faults.append(Fault(1, 1, "registration", message, nearest))
        else:
            line, column = position(where)
            self.faults.append(Fault(line, column, "registration", message, nearest))

    # --- slicing ---------------------------------------------------------------------------------------------------

    def _collect(self, statement: Tree, outer: Tree) -> None:
        kind = statement.type
        if kind in ("ExportNamedDeclaration", "ExportDefaultDeclaration"):
            if getattr(statement, "declaration", None) is not None:
                self._collect(statement.declaration, outer)
        elif kind == "VariableDeclaration":
            for declarator in statement.declarations:
                self.items.append(_Item(_single(statement, declarator), pattern_names(declarator.id), outer))
        elif kind in ("FunctionDeclaration", "ClassDeclaration"):
            name = statement.id.name if statement.id is not None else "default"
            self.items.append(_Item(statement, [name], outer))
        elif kind not in ("ImportDeclaration", "EmptyStatement", "ExportAllDeclaration"):
            self.items.append(_Item(statement, [], outer))

    def _slice(self, calls: list[tuple[Tree, Tree, list[Tree]]]) -> None:
        program = self.program
        registrations = {id(statement) for _call, statement, _above in calls}
        inside = {id(node) for _call, _statement, above in calls for node in above}
        wanted = used_names(program.root) if program.root is not None else {str(program.root_name)}
        wanted -= self.register
        chosen: set[int] = set()
        changed = True
        writes = [
            set()
            if item.names or id(item.outer) in inside or id(item.tree) in registrations
            else written_names(item.tree)
            for item in self.items
        ]
        while changed:
            changed = False
            for index, item in enumerate(self.items):
                if index not in chosen and (wanted.intersection(item.names) or wanted & writes[index]):
                    chosen.add(index)
                    wanted |= used_names(item.tree) | set(item.names)
                    changed = True
        program.statements = [self.items[index].tree for index in sorted(chosen)]
        program.statements.sort(key=lambda tree: tree.type != "FunctionDeclaration")
        for index, item in enumerate(self.items):
            if index not in chosen and id(item.outer) not in inside and id(item.tree) not in registrations:
                self._skip(item)

    def _skip(self, item: _Item) -> None:
        line, _column = position(item.outer)
        text = " ".join(self._text(item.tree).split())
        if any(REGISTER in name for name in item.names):
            return
        self.program.skipped.append({"line": line, "text": text[:120]})

    def _text(self, node: Tree) -> str:
        units = self.source.code.encode("utf-16-le", "surrogatepass")
        return units[2 * node.range[0] : 2 * node.range[1]].decode("utf-16-le", "surrogatepass")


class _Single:
    """A declaration with one of the declarators of a longer one."""

    def __init__(self, statement: Tree, declarator: Tree) -> None:
        self.type = "VariableDeclaration"
        self.kind = statement.kind
        self.declarations = [declarator]
        self.loc = declarator.loc
        self.range = declarator.range


def _single(statement: Tree, declarator: Tree) -> Tree:
    return _Single(statement, declarator)


def slice_program(source: Source) -> Program:
    """The program of interpreter version 3."""
    return Slicer(source).run()
