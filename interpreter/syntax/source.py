"""Reading a declaration's text with a real JavaScript parser, with located errors (design §6, spec/zod.md §1 caveats).

The text is never executed. Code fences and prose around them are blanked out, position by position, so that lines and
columns keep referring to the untouched text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import esprima
from esprima.nodes import Node as _Node

from interpreter import limits
from interpreter.errors import BudgetExceeded, DeclarationError, Fault
from interpreter.javascript import utf16_length

Tree = Any  # an ESTree node of the parser

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*$", re.MULTILINE)
_NOT_NEWLINE = re.compile(r"[^\n\r\u2028\u2029]")
_TYPE_HINT = re.compile(
    r"^\s*(?:type|interface|enum|declare|namespace)\s+[\w$]+"
    r"|[)\w$\]]\s*\??\s*:\s*(?:string|number|boolean|any|unknown|never|void|object|Record<|Array<|z\.infer|[A-Z][\w$.]*[<\[]?)"
    r"|\bas\s+(?:const|any|unknown|string|number|[A-Z]\w*)\b|<[A-Za-z]\w*(?:\[\])?>\s*\(|\w!\s*[.;)]|\bsatisfies\s",
    re.MULTILINE,
)
_PLACEHOLDER = re.compile(r"<(?:user|char|bot)>|\{\{\w+\}\}", re.IGNORECASE)
_HYPHEN_KEY = re.compile(r"[{,]\s*[\w$\u0080-\uffff]+-[\w$\u0080-\uffff-]*\s*:")


@dataclass(slots=True)
class Source:
    """A declaration's text: ``text`` is untouched, ``code`` what the parser read, ``warnings`` what was left out."""

    text: str
    code: str
    tree: Tree
    warnings: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def excerpt(self, line: int, column: int) -> str:
        """The line with a caret below the column (both counted from 1, columns in UTF-16 units)."""
        return excerpt(self.text, line, column)


def excerpt(text: str, line: int, column: int) -> str:
    """The named line of the text, cut around the column, with a caret below it."""
    lines = re.split(r"\r\n|[\n\r\u2028\u2029]", text)
    if not 1 <= line <= len(lines):
        return ""
    content = lines[line - 1].replace("\t", " ")
    start = max(0, column - 61)
    shown = content[start : start + 120]
    width = sum(2 if "\u2e80" <= character <= "\uffef" else 1 for character in content[start : column - 1])
    return f"{shown}\n{' ' * width}^"


def refuse(text: str, faults: list[Fault]) -> DeclarationError:
    """The error that carries the faults, sorted, without repeats, capped with a count."""
    unique = sorted(set(faults), key=lambda fault: (fault.line, fault.column, fault.message))
    first = unique[0]
    maximum = limits.FAULTS.default
    return DeclarationError(
        tuple(unique[:maximum]), excerpt(text, first.line, first.column), max(0, len(unique) - maximum)
    )


def strip_fences(text: str) -> tuple[str, list[str]]:
    """Blank out code fences and the prose around them; positions stay."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text, []
    opening = fences[0]
    marker = opening.group(1)
    closing = next((found for found in fences[1:] if found.group(1).startswith(marker[:3])), None)
    end = closing.start() if closing else len(text)
    if text[: opening.start()].count("`") % 2:
        return text, []
    before, inner = text[: opening.end()], text[opening.end() : end]
    after = text[end:]
    lead, tail = text[: opening.start()].strip(), (text[closing.end() :].strip() if closing else "")
    if "registerMvuSchema" not in inner and "z." not in inner:
        return text, []
    warnings = ["code fences (```) around the declaration were left out"]
    if lead or tail:
        warnings.append("text outside the code fences was left out")
    return _NOT_NEWLINE.sub(" ", before) + inner + _NOT_NEWLINE.sub(" ", after), warnings


def _syntax_fault(text: str, error: Exception) -> Fault:
    """A located fault for a syntax error, with the usual causes named (spec/zod.md §1, caveat d)."""
    line = int(getattr(error, "lineNumber", 1) or 1)
    column = int(getattr(error, "column", 1) or 1)
    detail = re.sub(r"^Line \d+: ", "", str(error))
    lines = re.split(r"\r\n|[\n\r\u2028\u2029]", text)
    content = lines[line - 1] if line <= len(lines) else ""
    if "nesting exceeds" in detail or "resource limit" in detail:
        return Fault(line, column, "nesting", f"expected less nesting, found too much ({detail})", None, limits.LIMIT)
    if _PLACEHOLDER.search(content):
        return Fault(
            line,
            column,
            "placeholder",
            "expected JavaScript, found a placeholder such as <user> in the code",
            "the value that stood there before a macro replaced it (often null), or put the placeholder in quotes",
        )
    if _TYPE_HINT.search(content):
        return Fault(
            line,
            column,
            "type annotation",
            "expected JavaScript, found what looks like a TypeScript annotation",
            "plain JavaScript: remove `: Type`, `as Type`, `<Type>`, `interface` and `type` lines",
        )
    if _HYPHEN_KEY.search(content):
        return Fault(line, column, "key", "expected a name, found an unquoted key with a hyphen", "'quoted-key': …")
    if line >= len(lines) - 1 and "Unexpected end" in detail:
        return Fault(
            line, column, "end of text", "expected a closing bracket, found the end of the text", "`)`, `]` or `}`"
        )
    return Fault(line, column, "syntax", f"expected JavaScript, found a syntax error: {detail}")


def read_source(text: str) -> Source:
    """Parse the text; :class:`DeclarationError` with line and column where it is no JavaScript."""
    length = utf16_length(text)
    if length > limits.SOURCE.default:
        raise BudgetExceeded(limits.SOURCE.name, limits.SOURCE.default, limits.SOURCE.unit, str(length))
    code, warnings = strip_fences(text)
    try:
        tree = esprima.parseModule(code, {"range": True, "loc": True})
    except RecursionError:
        fault = Fault(1, 1, "nesting", "expected less nesting, found too much", None, limits.LIMIT)
        raise refuse(text, [fault]) from None
    except Exception as error:  # the parser's own class is private and differs between releases
        raise refuse(text, [_syntax_fault(text, error)]) from None
    return Source(text, code, tree, warnings)


def position(node: Tree) -> tuple[int, int]:
    """Line and column of a node, both counted from 1."""
    start = node.loc.start
    return int(start.line), int(start.column) + 1


def fault_at(node: Tree, construct: str, message: str, nearest: str | None = None, code: str = limits.CODE) -> Fault:
    """A fault at a node's place."""
    line, column = position(node)
    return Fault(line, column, construct, message, nearest, code)


def children(node: Tree) -> list[Tree]:
    """The child nodes in source order."""
    found: list[Tree] = []
    shorthand = getattr(node, "shorthand", False)
    for name, value in vars(node).items():
        if isinstance(value, list):
            found.extend(item for item in value if isinstance(item, _Node))
        elif isinstance(value, _Node) and not (shorthand and name == "key"):
            found.append(value)
    return found


def measure(text: str, tree: Tree, profile: str) -> int:
    """Count the nodes; refuse a tree that is too large or too deep. Returns the count."""
    maximum, deepest = limits.SYNTAX_NODES.under(profile), limits.SYNTAX_DEPTH.under(profile)
    count = 0
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        count += 1
        if count > maximum:
            raise BudgetExceeded(limits.SYNTAX_NODES.name, maximum, limits.SYNTAX_NODES.unit)
        if depth > deepest:
            message = f"expected at most {deepest} levels of nesting, found more"
            raise refuse(text, [fault_at(node, "nesting", message, None, limits.LIMIT)])
        stack.extend((child, depth + 1) for child in children(node))
    return count


def walk(node: Tree) -> list[Tree]:
    """Every node below and including ``node``, in source order."""
    found = []
    stack = [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(reversed(children(current)))
    return found
