"""Why a regular expression is refused."""

from interpreter.errors import InterpreterError, RegexTimeout

__all__ = ["RegexRefused", "RegexTimeout"]


class RegexRefused(InterpreterError):
    """A pattern outside the language or over a limit.

    ``index`` is the place in the pattern, in UTF-16 units; ``construct`` names what stands there; ``nearest`` is what
    to write instead, where there is something.
    """

    def __init__(
        self, code: str, message: str, index: int = 0, construct: str = "", nearest: str | None = None
    ) -> None:
        super().__init__(code, message, {"index": index, "construct": construct, "nearest": nearest})
        self.index = index
        self.construct = construct
        self.nearest = nearest
