"""Author functions as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interpreter import limits
from interpreter.budget import Run
from interpreter.errors import BudgetExceeded
from interpreter.evaluate.scope import FIRST_SLOT, FrameValue
from interpreter.javascript import UNDEFINED

Evaluate = Callable[[FrameValue], Any]


@dataclass(slots=True, eq=False)
class FunctionCode:
    """What the text of a function means: how to fill a frame and what to run.

    ``cost`` is charged at every call; ``weight`` bounds the interpreter's own stack; ``mutates`` says whether the text
    can change data in place, ``calls_out`` whether it refers to variables outside.
    """

    name: str
    tree: Any
    parameters: int = 0
    simple: bool = True
    binders: list[Callable[[FrameValue, list[Any]], None]] = field(default_factory=list)
    template: list[Any] = field(default_factory=list)
    body: Evaluate | None = None
    expression: bool = False
    cost: int = 1
    weight: int = 4
    mutates: bool = False
    calls_out: bool = False
    self_slot: int = 0


class FunctionValue:
    """An author function together with the frame it was made in; opaque to the data of the declaration."""

    __slots__ = ("code", "frame")

    def __init__(self, code: FunctionCode, frame: FrameValue) -> None:
        self.code = code
        self.frame = frame

    def call(self, run: Run, arguments: list[Any]) -> Any:
        """Call the function with the arguments, under the run's budget."""
        code = self.code
        run.steps += code.cost
        if run.steps > run.limit:
            run.exhausted()
        run.depth += 1
        run.weight += code.weight
        try:
            if run.depth > limits.CALL_DEPTH.default:
                raise BudgetExceeded(limits.CALL_DEPTH.name, limits.CALL_DEPTH.default, limits.CALL_DEPTH.unit)
            if run.weight > limits.STACK_WEIGHT.default:
                raise BudgetExceeded(limits.STACK_WEIGHT.name, limits.STACK_WEIGHT.default, limits.STACK_WEIGHT.unit)
            frame = code.template.copy()
            frame[0] = self.frame
            frame[1] = run
            if code.self_slot:
                frame[code.self_slot] = self
            if code.simple:
                count = code.parameters
                if len(arguments) < count:
                    frame[FIRST_SLOT : FIRST_SLOT + len(arguments)] = arguments
                elif count:
                    frame[FIRST_SLOT : FIRST_SLOT + count] = arguments[:count]
            else:
                for bind in code.binders:
                    bind(frame, arguments)
            assert code.body is not None
            outcome = code.body(frame)
            if code.expression:
                return outcome
            return outcome[0] if type(outcome) is tuple else UNDEFINED
        finally:
            run.depth -= 1
            run.weight -= code.weight
