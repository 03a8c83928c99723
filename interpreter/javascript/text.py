"""JavaScript strings: UTF-16 lengths, slices and order on Python text, white space, locale order (design §5)."""

import functools
import unicodedata

# WhiteSpace and LineTerminator of ECMA-262; what trim() removes and Number() ignores.
JS_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def js_trim(text: str) -> str:
    """``String.prototype.trim``."""
    return text.strip(JS_WHITE_SPACE)


def js_trim_start(text: str) -> str:
    """``String.prototype.trimStart``."""
    return text.lstrip(JS_WHITE_SPACE)


def js_trim_end(text: str) -> str:
    """``String.prototype.trimEnd``."""
    return text.rstrip(JS_WHITE_SPACE)


def to_units(text: str) -> bytes:
    """The UTF-16 code units, two bytes each, little endian; lone surrogates kept."""
    return text.encode("utf-16-le", "surrogatepass")


def from_units(units: bytes) -> str:
    """The text of UTF-16 code units; surrogate halves that meet become one character."""
    return units.decode("utf-16-le", "surrogatepass")


def _narrow(text: str) -> bool:
    """Whether every character is one unit (so Python indices are UTF-16 indices)."""
    return text.isascii() or max(text) < "\U00010000"


def join_surrogates(text: str) -> str:
    """Join surrogate halves that a concatenation brought together, so that equal JavaScript strings are equal."""
    if text.isascii() or not any("\ud800" <= character <= "\udbff" for character in text):
        return text
    return from_units(to_units(text))


def utf16_length(text: str) -> int:
    """``text.length``."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_slice(text: str, start: int, end: int | None = None) -> str:
    """The units from ``start`` to ``end`` (both already inside 0..length, as after JavaScript's clamping)."""
    if _narrow(text):
        return text[start:end]
    units = to_units(text)
    return from_units(units[2 * start : None if end is None else 2 * end])


def utf16_char_at(text: str, index: int) -> str:
    """``text.charAt(index)``: one unit as text, possibly a lone surrogate, or empty."""
    return utf16_slice(text, index, index + 1) if index >= 0 else ""


def utf16_unit(text: str, index: int) -> int | None:
    """``text.charCodeAt(index)``, None outside."""
    character = utf16_char_at(text, index)
    return ord(character) if character else None


def _to_unit_index(text: str, index: int) -> int:
    return index if index < 0 else utf16_length(text[:index])


def utf16_find(text: str, needle: str, start: int = 0) -> int:
    """``text.indexOf(needle, start)`` in units (``start`` inside 0..length)."""
    if _narrow(text) and _narrow(needle):
        return text.find(needle, start)
    units, wanted = to_units(text), to_units(needle)
    found = units.find(wanted, 2 * start)
    while found >= 0 and found % 2:
        found = units.find(wanted, found + 1)
    return found // 2 if found >= 0 else -1


def utf16_rfind(text: str, needle: str, start: int | None = None) -> int:
    """``text.lastIndexOf(needle, start)`` in units."""
    units, wanted = to_units(text), to_units(needle)
    stop = len(units) if start is None else min(len(units), 2 * start + len(wanted))
    found = units.rfind(wanted, 0, stop)
    while found >= 0 and found % 2:
        found = units.rfind(wanted, 0, found + len(wanted) - 1)
    return found // 2 if found >= 0 else -1


def utf16_key(text: str) -> str | bytes:
    """A sort key in UTF-16 unit order; keys of one sort must all come from this function."""
    return text.encode("utf-16-be", "surrogatepass")


def utf16_less(a: str, b: str) -> bool:
    """``a < b`` on strings: order of UTF-16 units, which differs from code points above U+D7FF."""
    if (a.isascii() and b.isascii()) or max(a + b, default="") < "\ud800":
        return a < b
    return utf16_key(a) < utf16_key(b)  # type: ignore[operator]


# --- locale order ------------------------------------------------------------------------------------------------

# Order of the Unicode root collation: white space, punctuation, symbols, currency, digits, letters. Only the order
# inside ASCII is tabled; other punctuation and symbols follow by code point, other letters by their base letter.
_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_RANK = {character: rank for rank, character in enumerate("\t\n\v\f\r " + _PUNCTUATION)}


_KANA_SHIFT = ord("ア") - ord("あ")


def _primary(character: str) -> tuple[int, int | str]:
    rank = _RANK.get(character)
    if rank is not None:
        return (0, rank)
    category = unicodedata.category(character)
    if category[0] in "ZPS":
        return (1, ord(character))
    if category == "Nd":
        return (2, unicodedata.digit(character))
    if "\u3400" <= character <= "\u9fff" or character >= "\U00020000":
        return (4, ord(character))
    if "ァ" <= character <= "ヶ":
        return (3, chr(ord(character) - _KANA_SHIFT))
    return (3, character.casefold())


@functools.lru_cache(maxsize=4096)
def _collation_key(text: str) -> tuple[tuple[object, ...], tuple[str, ...], tuple[int, ...]]:
    # Three levels: base letters, then accents, then lower case before upper case (and hiragana before katakana,
    # a plain letter before its wide form). Controls have no weight.
    base: list[object] = []
    accents: list[str] = []
    variant: list[int] = []
    for written in unicodedata.normalize("NFD", text):
        for character in unicodedata.normalize("NFKD", written):
            category = unicodedata.category(character)
            if category == "Mn":
                if accents:
                    accents[-1] += character
            elif category not in ("Cc", "Cf") or character in "\t\n\v\f\r":
                base.append(_primary(character))
                accents.append("")
                large = character.isupper() or "ァ" <= character <= "ヶ"
                variant.append(2 * large + (character != written))
    return tuple(base), tuple(accents), tuple(variant)


def locale_compare(a: str, b: str) -> int:
    """``a.localeCompare(b)`` in one fixed locale, the root order, the same on every machine: -1, 0 or 1."""
    left, right = _collation_key(a), _collation_key(b)
    return (left > right) - (left < right)
