"""Zod declarations: text -> syntax -> schema -> parse(value). Pure: no I/O, imports nothing of ours."""

from interpreter.arithmetic import evaluate_arithmetic
from interpreter.errors import (
    ERROR_CODES,
    BudgetExceeded,
    DeclarationError,
    ErrorCode,
    EvaluationError,
    Fault,
    InterpreterError,
    RegexTimeout,
)
from interpreter.parse.issue import Issue
from interpreter.parse.memory import Memory
from interpreter.parse.schema import CompiledSchema, ParseResult, clear_cache, compile_declaration
from interpreter.parse.status import DeclarationStatus, declaration_status

__all__ = [
    "ERROR_CODES",
    "BudgetExceeded",
    "CompiledSchema",
    "DeclarationError",
    "DeclarationStatus",
    "ErrorCode",
    "EvaluationError",
    "Fault",
    "InterpreterError",
    "Issue",
    "Memory",
    "ParseResult",
    "RegexTimeout",
    "clear_cache",
    "compile_declaration",
    "declaration_status",
    "evaluate_arithmetic",
]
