"""The program shape and the node whitelist of interpreter versions 1 and 2 (spec/mvu.md §5.1, §5.2).

The whole text is checked, dead code too. What needs scopes (free names, assignment targets) is checked when the code
is compiled.
"""

from __future__ import annotations

from interpreter.errors import Fault
from interpreter.syntax.program import PINNED, REGISTER, Program
from interpreter.syntax.source import Source, Tree, fault_at, refuse, walk

NODES = frozenset(
    [
        "Program",
        "ImportDeclaration",
        "ImportSpecifier",
        "ExportNamedDeclaration",
        "VariableDeclaration",
        "VariableDeclarator",
        "Identifier",
        "Literal",
        "ArrayExpression",
        "ObjectExpression",
        "Property",
        "SpreadElement",
        "MemberExpression",
        "ChainExpression",
        "ArrowFunctionExpression",
        "FunctionExpression",
        "AssignmentPattern",
        "ForOfStatement",
        "CallExpression",
        "BinaryExpression",
        "LogicalExpression",
        "ConditionalExpression",
        "UnaryExpression",
        "AssignmentExpression",
        "BlockStatement",
        "ReturnStatement",
        "IfStatement",
        "ExpressionStatement",
    ]
)
MATH = frozenset(
    ["abs", "ceil", "floor", "round", "sqrt", "pow", "min", "max", "trunc", "log", "exp", "sin", "cos", "tan"]
)
METHODS = frozenset(
    [
        "number",
        "string",
        "boolean",
        "any",
        "unknown",
        "object",
        "array",
        "record",
        "enum",
        "literal",
        "union",
        "describe",
        "prefault",
        "default",
        "optional",
        "nullable",
        "passthrough",
        "strict",
        "strip",
        "min",
        "max",
        "int",
        "or",
        "transform",
        "superRefine",
        "regex",
        "addIssue",
        "clamp",
    ]
)
UNSAFE_KEYS = frozenset({"__proto__", "prototype", "constructor"})
_UNARY = frozenset({"!", "+", "-"})
_BINARY = frozenset(["+", "-", "*", "/", "%", "**", "<", ">", "<=", ">=", "===", "!==", "==", "!="])
_ASSIGN = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "**="])
_NEAREST = {
    "TemplateLiteral": "'text' + value",
    "UpdateExpression": "n = n + 1",
    "ForStatement": "for (const item of array) { … }",
    "WhileStatement": "for (const item of array) { … }",
    "ForInStatement": "for (const item of array) { … }",
    "ObjectPattern": "a parameter and reading its fields",
    "ArrayPattern": "a parameter and reading its items",
    "FunctionDeclaration": "const name = (value) => …",
    "NewExpression": "plain data",
    "EmptyStatement": "one semicolon",
}


class Restricted:
    """Checks one text against the subset; collects every fault."""

    def __init__(self, source: Source, version: int) -> None:
        self.source = source
        self.version = version
        self.program = Program(source)
        self.faults: list[Fault] = []
        self.registrations: list[Tree] = []

    def run(self) -> Program:
        """The program; raises a DeclarationError with all faults."""
        for node in walk(self.source.tree):
            self._node(node)
        for statement in self.source.tree.body:
            self._statement(statement)
        if len(self.registrations) > 1:
            message = f"expected one registration, found {len(self.registrations)}"
            self.faults.append(fault_at(self.registrations[1], "registration", message, "one registration"))
        names = {
            declarator.id.name
            for statement in self.program.statements
            for declarator in statement.declarations
            if declarator.id.type == "Identifier"
        }
        if self.registrations:
            self.program.registered = True
            self.program.root = self.registrations[0].arguments[0]
        else:
            self.program.root_name = next((name for name in ("Schema", "schema") if name in names), None)
            if self.program.root_name is None and not self.faults:
                message = "expected a registered schema or a constant named Schema, found neither"
                self.faults.append(Fault(1, 1, "registration", message, "export const Schema = z.object({ … });"))
        if self.faults:
            raise refuse(self.source.text, self.faults)
        return self.program

    def _fault(self, node: Tree, construct: str, message: str, nearest: str | None = None) -> None:
        self.faults.append(fault_at(node, construct, message, nearest))

    # --- statements of the top level -------------------------------------------------------------------------------

    def _statement(self, statement: Tree) -> None:
        kind = statement.type
        if kind == "ImportDeclaration":
            self._import(statement)
            return
        if kind == "ExportNamedDeclaration":
            if statement.declaration is None:
                self._fault(statement, kind, "expected an exported constant, found an export list", "export const …")
                return
            statement = statement.declaration
            kind = statement.type
        if kind == "VariableDeclaration":
            if statement.kind != "const":
                self._fault(statement, statement.kind, f"expected const, found {statement.kind}", "const")
            self.program.statements.append(statement)
        elif kind == "ExpressionStatement" and self._registration(statement.expression):
            pass
        elif kind in NODES:
            message = "expected an import, a constant or the registration at the top level"
            self._fault(statement, kind, message, "$(() => { registerMvuSchema(Schema); });")

    def _import(self, statement: Tree) -> None:
        address = str(statement.source.value)
        good = (
            address.startswith("https://") and address.endswith("/mvu_zod.js") and not any(c.isspace() for c in address)
        )
        specifiers = statement.specifiers
        named = len(specifiers) == 1 and specifiers[0].type == "ImportSpecifier"
        exact = named and specifiers[0].imported.name == REGISTER and specifiers[0].local.name == REGISTER
        if not good or not exact or "?" in address:
            nearest = f"import {{ {REGISTER} }} from '{PINNED}'"
            self._fault(statement, "import", f"expected the import of {REGISTER}, found another import", nearest)
        elif address == PINNED:
            self.program.pinned = True

    def _registration(self, node: Tree) -> bool:
        if node.type != "CallExpression" or node.callee.type != "Identifier" or node.callee.name != "$":
            return False
        function = node.arguments[0] if len(node.arguments) == 1 else None
        if function is None or function.type not in ("ArrowFunctionExpression", "FunctionExpression"):
            return False
        if function.params:
            return False
        body = function.body
        if body.type == "BlockStatement":
            if len(body.body) != 1 or body.body[0].type != "ExpressionStatement":
                return False
            body = body.body[0].expression
        good = body.type == "CallExpression" and body.callee.type == "Identifier" and body.callee.name == REGISTER
        if not good or len(body.arguments) != 1:
            return False
        self.registrations.append(body)
        return True

    # --- every node ------------------------------------------------------------------------------------------------

    def _node(self, node: Tree) -> None:
        kind = node.type
        if kind not in NODES:
            self._fault(node, kind, f"expected the declaration subset, found {kind}", _NEAREST.get(kind))
            return
        check = _CHECKS.get(kind)
        if check is not None:
            check(self, node)

    def _function(self, node: Tree) -> None:
        if node.isAsync or node.generator:
            self._fault(node, "function", "expected a plain function, found an async or generator function", "() => …")
        for parameter in node.params:
            target = parameter.left if parameter.type == "AssignmentPattern" else parameter
            if target.type != "Identifier":
                self._fault(parameter, parameter.type, "expected a named parameter, found a pattern", "(value) => …")

    def _declaration(self, node: Tree) -> None:
        for declarator in node.declarations:
            if declarator.id.type != "Identifier":
                self._fault(declarator, declarator.id.type, "expected one name, found a pattern", "const name = …")
        if node.kind != "const":
            self._fault(node, node.kind, f"expected const, found {node.kind}", "const name = …")

    def _for_of(self, node: Tree) -> None:
        if node.left.type != "VariableDeclaration" or node.left.kind != "const" or getattr(node, "isAwait", False):
            self._fault(node, "ForOfStatement", "expected for (const item of array)", "for (const item of array) { … }")

    def _property(self, node: Tree) -> None:
        if node.kind != "init" or node.method or node.computed:
            self._fault(
                node, "property", "expected name: value, found a method, accessor or computed key", "name: value"
            )
            return
        name = str(getattr(node.key, "name", None) or getattr(node.key, "value", ""))
        if name in UNSAFE_KEYS:
            self._fault(node, "property", f"expected a safe key, found {name}")

    def _call(self, node: Tree) -> None:
        if getattr(node, "optional", False) or any(argument.type == "SpreadElement" for argument in node.arguments):
            self._fault(node, "call", "expected a plain call, found an optional call or spread arguments", "f(a, b)")
        callee = node.callee
        if callee.type != "MemberExpression":
            if callee.type not in ("Identifier", "ArrowFunctionExpression", "FunctionExpression"):
                self._fault(node, "call", "expected a call by name, found a computed call", "name(…)")
            return
        if callee.computed:
            self._fault(node, "call", "expected a method by name, found a computed one", "object.method(…)")
            return
        name = callee.property.name
        allowed = name in METHODS or name in MATH or (self.version >= 2 and name in ("looseObject", "strictObject"))
        if not allowed and not is_own_property_test(callee):
            self._fault(node, f".{name}()", f"expected a method of the subset, found .{name}()")

    def _member(self, node: Tree) -> None:
        if not node.computed and node.property.name in UNSAFE_KEYS and not is_object_prototype(node):
            self._fault(node, "member", f"expected a safe key, found {node.property.name}")

    def _literal(self, node: Tree) -> None:
        if getattr(node, "bigint", None) is not None:
            self._fault(node, "bigint", "expected a number, found a bigint", "a plain number")

    def _operator(self, node: Tree) -> None:
        allowed = {"UnaryExpression": _UNARY, "BinaryExpression": _BINARY, "AssignmentExpression": _ASSIGN}[node.type]
        if node.operator not in allowed:
            self._fault(node, node.operator, f"expected an operator of the subset, found {node.operator}")


def is_object_prototype(node: Tree) -> bool:
    """Whether a node is exactly ``Object.prototype``."""
    return bool(
        node.type == "MemberExpression"
        and not node.computed
        and node.property.name == "prototype"
        and node.object.type == "Identifier"
        and node.object.name == "Object"
    )


def is_own_property_test(callee: Tree) -> bool:
    """Whether a callee is exactly ``Object.prototype.hasOwnProperty.call``."""
    return bool(
        callee.type == "MemberExpression"
        and not callee.computed
        and callee.property.name == "call"
        and callee.object.type == "MemberExpression"
        and not callee.object.computed
        and callee.object.property.name == "hasOwnProperty"
        and is_object_prototype(callee.object.object)
    )


_CHECKS = {
    "ArrowFunctionExpression": Restricted._function,
    "FunctionExpression": Restricted._function,
    "VariableDeclaration": Restricted._declaration,
    "ForOfStatement": Restricted._for_of,
    "Property": Restricted._property,
    "CallExpression": Restricted._call,
    "MemberExpression": Restricted._member,
    "Literal": Restricted._literal,
    "UnaryExpression": Restricted._operator,
    "BinaryExpression": Restricted._operator,
    "AssignmentExpression": Restricted._operator,
}


def restricted_program(source: Source, version: int) -> Program:
    """The program of interpreter versions 1 and 2."""
    return Restricted(source, version).run()
