"""String methods, in UTF-16 units (spec/zod.md §4.7, §9)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.builtins.arguments import arg, integer, relative, text
from interpreter.evaluate.operators import call_function, is_callable
from interpreter.evaluate.properties import methods
from interpreter.evaluate.regular import local, match_value
from interpreter.evaluate.values import Iterated, range_error, type_error
from interpreter.javascript import UNDEFINED
from interpreter.regex import RegexMatch, RegExp, compile_regex, expand

Method = Callable[[Run, str, list[Any]], Any]


def _plain(function: Callable[[str], str]) -> Method:
    def method(run: Run, target: str, _arguments: list[Any]) -> Any:
        run.charge(len(target) >> 5)
        return function(target)

    return method


def lower(target: str) -> str:
    """``toLowerCase`` with ECMAScript's rules (Python's agree on the final sigma and the dotted I)."""
    return target.lower()


def _slice(_run: Run, target: str, arguments: list[Any]) -> Any:
    length = js.utf16_length(target)
    start = relative(arg(arguments, 0), length, 0)
    end = relative(arg(arguments, 1), length, length)
    return js.utf16_slice(target, start, end) if start < end else ""


def _substring(_run: Run, target: str, arguments: list[Any]) -> Any:
    length = js.utf16_length(target)
    start = int(min(max(integer(arg(arguments, 0)), 0), length))
    end = int(min(max(integer(arg(arguments, 1), length), 0), length))
    return js.utf16_slice(target, min(start, end), max(start, end))


def _substr(_run: Run, target: str, arguments: list[Any]) -> Any:
    length = js.utf16_length(target)
    start = relative(arg(arguments, 0), length, 0)
    count = integer(arg(arguments, 1), length - start)
    end = int(min(start + max(count, 0), length))
    return js.utf16_slice(target, start, end) if start < end else ""


def _char_at(_run: Run, target: str, arguments: list[Any]) -> Any:
    index = integer(arg(arguments, 0))
    return js.utf16_char_at(target, int(index)) if 0 <= index < 2**31 else ""


def _char_code_at(_run: Run, target: str, arguments: list[Any]) -> Any:
    index = integer(arg(arguments, 0))
    unit = js.utf16_unit(target, int(index)) if 0 <= index < 2**31 else None
    return float("nan") if unit is None else unit


def _code_point_at(_run: Run, target: str, arguments: list[Any]) -> Any:
    index = integer(arg(arguments, 0))
    if not 0 <= index < js.utf16_length(target):
        return UNDEFINED
    pair = js.utf16_slice(target, int(index), int(index) + 2)
    return ord(pair[0])


def _at(_run: Run, target: str, arguments: list[Any]) -> Any:
    length = js.utf16_length(target)
    index = integer(arg(arguments, 0))
    index = index + length if index < 0 else index
    return js.utf16_char_at(target, int(index)) if 0 <= index < length else UNDEFINED


def _needle(value: Any) -> str:
    if isinstance(value, RegExp):
        raise type_error("First argument must not be a regular expression")
    return text(value)


def _includes(run: Run, target: str, arguments: list[Any]) -> Any:
    run.charge(len(target) >> 5)
    start = int(min(max(integer(arg(arguments, 1)), 0), js.utf16_length(target)))
    return js.utf16_find(target, _needle(arg(arguments, 0)), start) >= 0


def _starts_with(_run: Run, target: str, arguments: list[Any]) -> Any:
    needle = _needle(arg(arguments, 0))
    start = int(min(max(integer(arg(arguments, 1)), 0), js.utf16_length(target)))
    return js.utf16_slice(target, start, start + js.utf16_length(needle)) == needle


def _ends_with(_run: Run, target: str, arguments: list[Any]) -> Any:
    needle = _needle(arg(arguments, 0))
    length = js.utf16_length(target)
    end = int(min(max(integer(arg(arguments, 1), length), 0), length))
    start = end - js.utf16_length(needle)
    return start >= 0 and js.utf16_slice(target, start, end) == needle


def _index_of(run: Run, target: str, arguments: list[Any]) -> Any:
    run.charge(len(target) >> 5)
    start = int(min(max(integer(arg(arguments, 1)), 0), js.utf16_length(target)))
    return js.utf16_find(target, text(arg(arguments, 0)), start)


def _last_index_of(run: Run, target: str, arguments: list[Any]) -> Any:
    run.charge(len(target) >> 5)
    position = arg(arguments, 1)
    start = None if position is UNDEFINED else int(max(integer(position), 0))
    return js.utf16_rfind(target, text(arg(arguments, 0)), start)


def _pad(at_end: bool) -> Method:
    def method(run: Run, target: str, arguments: list[Any]) -> Any:
        length = js.utf16_length(target)
        wanted = integer(arg(arguments, 0))
        filler = " " if arg(arguments, 1) is UNDEFINED else text(arg(arguments, 1))
        if wanted <= length or not filler:
            return target
        run.check_string(int(min(wanted, 2**53)))
        missing = int(wanted) - length
        width = js.utf16_length(filler)
        padding = js.utf16_slice(filler * (missing // width + 1), 0, missing)
        return js.join_surrogates(target + padding if at_end else padding + target)

    return method


def _repeat(run: Run, target: str, arguments: list[Any]) -> Any:
    count = integer(arg(arguments, 0))
    if count < 0 or count == float("inf"):
        raise range_error(f"Invalid count value: {js.js_number_text(count)}")
    run.check_string(int(js.utf16_length(target) * count))
    return js.join_surrogates(target * int(count))


def _concat(run: Run, target: str, arguments: list[Any]) -> Any:
    joined = target + "".join(text(item) for item in arguments)
    run.check_string(len(joined))
    return js.join_surrogates(joined)


def split_text(run: Run, target: str, separator: Any, limit: Any) -> list[Any]:
    """``text.split(separator, limit)``."""
    maximum = 2**32 - 1 if limit is UNDEFINED else js.to_uint32(integer(limit))
    if isinstance(separator, RegExp):
        pieces = separator.regex.split(target, maximum, run.charge)
    elif separator is UNDEFINED:
        pieces = [target] if maximum else []
    else:
        between = text(separator)
        if between == "":
            units = js.utf16_length(target)
            pieces = list(target) if units == len(target) else [js.utf16_char_at(target, i) for i in range(units)]
        else:
            pieces = list(target.split(between))
        pieces = pieces[:maximum]
    run.charge(len(pieces) + (len(target) >> 5))
    return pieces


def _split(run: Run, target: str, arguments: list[Any]) -> Any:
    return split_text(run, target, arg(arguments, 0), arg(arguments, 1))


def _replacer(run: Run, target: str, value: Any) -> str | Callable[[RegexMatch], str]:
    if not is_callable(value):
        return text(value)

    def replace(match: RegexMatch) -> str:
        values: list[Any] = [match.text, *match.groups, match.index, target]
        if match.named is not None:
            values.append(dict(match.named))
        return text(call_function(run, value, values))

    return replace


def _replace_text(run: Run, target: str, needle: str, replacement: Any, every: bool) -> str:
    """Replace a plain text once or everywhere."""
    parts: list[str] = []
    done = start = 0
    width, length = js.utf16_length(needle), js.utf16_length(target)
    while start <= length:
        found = js.utf16_find(target, needle, start)
        if found < 0:
            break
        run.charge(1 + (found - start >> 5))
        match = RegexMatch(found, found + width, needle, (), None)
        new = replacement(match) if callable(replacement) else expand(replacement, match, target)
        parts += (js.utf16_slice(target, done, found), new)
        done = found + width
        start = done if width else done + 1
        if not every:
            break
    return js.join_surrogates("".join([*parts, js.utf16_slice(target, min(done, length))]))


def _replace(every: bool) -> Method:
    def method(run: Run, target: str, arguments: list[Any]) -> Any:
        pattern, replacement = arg(arguments, 0), _replacer(run, target, arg(arguments, 1))
        if isinstance(pattern, RegExp):
            if every and not pattern.regex.is_global:
                raise type_error("replaceAll must be called with a global RegExp")
            replaced = local(run, pattern).replace(target, replacement, run.charge)
        else:
            replaced = _replace_text(run, target, text(pattern), replacement, every)
        run.check_string(len(replaced))
        return replaced

    return method


def _as_regex(value: Any, flags: str = "") -> RegExp:
    if isinstance(value, RegExp):
        return value
    return RegExp(compile_regex("(?:)" if value is UNDEFINED else text(value), flags))


def _match(run: Run, target: str, arguments: list[Any]) -> Any:
    found = local(run, _as_regex(arg(arguments, 0))).match(target, run.charge)
    return found if found is None or isinstance(found, list) else match_value(found, target)


def _match_all(run: Run, target: str, arguments: list[Any]) -> Any:
    regex = _as_regex(arg(arguments, 0), "g")
    if not regex.regex.is_global:
        raise type_error("matchAll must be called with a global RegExp")
    return Iterated([match_value(match, target) for match in regex.regex.matches(target, run.charge)])


def _search(run: Run, target: str, arguments: list[Any]) -> Any:
    return _as_regex(arg(arguments, 0)).search(target, run.charge)


def _locale_compare(run: Run, target: str, arguments: list[Any]) -> Any:
    run.charge(1 + (len(target) >> 4))
    return js.locale_compare(target, text(arg(arguments, 0)))


def _normalize(run: Run, target: str, arguments: list[Any]) -> Any:
    form = "NFC" if arg(arguments, 0) is UNDEFINED else text(arg(arguments, 0))
    if form not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise range_error(f"The normalization form should be one of NFC, NFD, NFKC, NFKD, found {form}")
    run.charge(len(target) >> 3)
    return unicodedata.normalize(form, target)  # type: ignore[arg-type]


def _itself(_run: Run, target: str, _arguments: list[Any]) -> Any:
    return target


methods(str).update(
    {
        "trim": _plain(js.js_trim),
        "trimStart": _plain(js.js_trim_start),
        "trimLeft": _plain(js.js_trim_start),
        "trimEnd": _plain(js.js_trim_end),
        "trimRight": _plain(js.js_trim_end),
        "toLowerCase": _plain(lower),
        "toUpperCase": _plain(str.upper),
        "toLocaleLowerCase": _plain(lower),
        "toLocaleUpperCase": _plain(str.upper),
        "slice": _slice,
        "substring": _substring,
        "substr": _substr,
        "charAt": _char_at,
        "charCodeAt": _char_code_at,
        "codePointAt": _code_point_at,
        "at": _at,
        "includes": _includes,
        "startsWith": _starts_with,
        "endsWith": _ends_with,
        "indexOf": _index_of,
        "lastIndexOf": _last_index_of,
        "padStart": _pad(at_end=False),
        "padEnd": _pad(at_end=True),
        "repeat": _repeat,
        "concat": _concat,
        "split": _split,
        "replace": _replace(every=False),
        "replaceAll": _replace(every=True),
        "match": _match,
        "matchAll": _match_all,
        "search": _search,
        "localeCompare": _locale_compare,
        "normalize": _normalize,
        "toString": _itself,
        "valueOf": _itself,
    }
)
