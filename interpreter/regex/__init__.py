"""Regular expressions of declarations: the finite subset of versions 1 and 2, and ECMAScript's for version 3.

The finite subset (spec/mvu.md §5.6) runs on an automaton of ours with exact step counts; general patterns run on a
bounded engine with ECMAScript's grammar and answers in UTF-16 units, behind a static check of ours.
"""

from interpreter.regex.engine import Regex, RegexMatch, RegExp, compile_regex
from interpreter.regex.errors import RegexRefused, RegexTimeout
from interpreter.regex.finite import FiniteRegex, compile_finite
from interpreter.regex.limits import LIMITS
from interpreter.regex.replacement import expand

__all__ = [
    "LIMITS",
    "FiniteRegex",
    "RegExp",
    "Regex",
    "RegexMatch",
    "RegexRefused",
    "RegexTimeout",
    "compile_finite",
    "compile_regex",
    "expand",
]
