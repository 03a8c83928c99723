"""Zod 4.4.3's string formats: which texts each of them accepts (design §6).

One predicate for each format, written from what the format accepts. Texts are read as JavaScript reads them: digits are
ASCII, nothing matches before a final line break. URLs (and what Zod decides by way of a URL: IPv6 addresses and ranges)
are read by the WHATWG parser that Node.js uses.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from interpreter.javascript import (
    is_number,
    js_number_text,
    js_trim,
    parse_json,
    strict_equal,
    text_to_number,
    truthy,
)
from interpreter.regex import compile_regex

Predicate = Callable[[str], bool]
Options = Mapping[str, Any]

# Formats that are a run of characters: their own pattern, in the part of the syntax that Python and JavaScript share.
PATTERNS: Mapping[str, str] = {
    "cuid": "[Cc][a-z0-9]{6,}",
    "cuid2": "[a-z0-9]+",
    "ulid": "[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}",
    "xid": "[0-9A-Va-v]{20}",
    "ksuid": "[0-9A-Za-z]{27}",
    "nanoid": "[\\w-]{21}",
    "guid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "e164": "[+][1-9][0-9]{6,14}",
    "hex": "[0-9A-Fa-f]*",
    "lowercase": "[^A-Z]*",
    "uppercase": "[^a-z]*",
}

_NIL_UUIDS = ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-([1-8])[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}")
_EMAIL_NAME = re.compile(r"[\w'+.-]*[\w+-]", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MAIL_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_TOP_LABEL = re.compile(r"[A-Za-z]{2,}")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_SECONDS = re.compile(r":[0-5][0-9]")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_WEEKS = re.compile(r"P[0-9]+W")
_DURATION = re.compile(
    r"P(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:[.,][0-9]+)?S)?)?"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_BASE64URL = re.compile(r"[\w-]*", re.ASCII)
_ASCII_SPACE = re.compile(r"[\t\n\f\r ]")
_LONE = re.compile("[\ud800-\udfff]")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_HASH_BYTES = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}


# --- names and numbers -------------------------------------------------------------------------------------------


def is_email(text: str) -> bool:
    """``email``: a practical address of ASCII letters, without dots side by side or at either end of the name."""
    name, sign, domain = text.partition("@")
    if not sign or ".." in text or name.startswith(".") or not _EMAIL_NAME.fullmatch(name):
        return False
    *labels, top = domain.split(".")
    return bool(labels) and all(map(_MAIL_LABEL.fullmatch, labels)) and _TOP_LABEL.fullmatch(top) is not None


def is_uuid(text: str, version: int | None = None) -> bool:
    """``uuid``: of one version, or of any of 1 to 8 and the two constant ones."""
    match = _UUID.fullmatch(text)
    if match is None:
        return version is None and text in _NIL_UUIDS
    return version is None or int(match.group(1)) == version


def is_hostname(text: str) -> bool:
    """``hostname``: labels of up to 63 letters, digits and inner hyphens, 253 in all, a final dot allowed."""
    name = text.removesuffix(".")
    return 0 < len(name) <= 253 and all(map(_LABEL.fullmatch, name.split(".")))


def is_ipv4(text: str) -> bool:
    """``ipv4``: four numbers up to 255 without leading zeros."""
    parts = text.split(".")
    return len(parts) == 4 and all(_small_number(part, 255) for part in parts)


def _small_number(text: str, most: int) -> bool:
    digits = text.isascii() and text.isdecimal() and len(text) <= 3
    return digits and (text == "0" or text[0] != "0") and int(text) <= most


def is_cidrv4(text: str) -> bool:
    """``cidrv4``: an IPv4 address and a prefix length up to 32."""
    address, slash, prefix = text.partition("/")
    return bool(slash) and is_ipv4(address) and _small_number(prefix, 32)


def is_ipv6(text: str) -> bool:
    """``ipv6``: what a URL accepts between the brackets of its host."""
    return read_url(f"http://[{text}]") is not None


def is_cidrv6(text: str) -> bool:
    """``cidrv6``: an IPv6 address and a prefix: any number from 0 to 128 in its shortest writing."""
    address, slash, prefix = text.partition("/")
    if not slash or not prefix or "/" in prefix:
        return False
    number = text_to_number(prefix)
    return js_number_text(number) == prefix and not (number < 0 or number > 128) and is_ipv6(address)


def is_mac(text: str, delimiter: str = ":") -> bool:
    """``mac``: six pairs of hexadecimal digits, all in capitals or all in small letters."""
    pairs = text.split(delimiter) if delimiter else [text[index : index + 2] for index in range(0, len(text), 2)]
    digits = "".join(pairs)
    if len(pairs) != 6 or any(len(pair) != 2 for pair in pairs):
        return False
    return bool(re.fullmatch("[0-9A-F]{12}|[0-9a-f]{12}", digits))


@functools.cache
def _emoji() -> Predicate:
    return compile_regex(r"^(?:\p{Extended_Pictographic}|\p{Emoji_Component})+$", "u").test


# --- encodings ---------------------------------------------------------------------------------------------------


def is_base64(text: str) -> bool:
    """``base64``: whole groups of four, padded, without white space."""
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def is_base64url(text: str) -> bool:
    """``base64url``: the other alphabet, without padding."""
    return len(text) % 4 != 1 and _BASE64URL.fullmatch(text) is not None


def is_hash(text: str, algorithm: str, encoding: str) -> bool:
    """``md5_hex``, ``sha256_base64url``…: a digest of the algorithm's length."""
    size = _HASH_BYTES[algorithm]
    if encoding == "hex":
        return len(text) == 2 * size and re.fullmatch(PATTERNS["hex"], text) is not None
    padding = -size % 3
    letters = (4 * size + 2) // 3
    if encoding == "base64url":
        return len(text) == letters and _BASE64URL.fullmatch(text) is not None
    return len(text) == letters + padding and is_base64(text) and text.count("=") == padding


def is_jwt(text: str, algorithm: str | None = None) -> bool:
    """``jwt``: three parts, the first one the base64 of a JSON header with ``alg`` (and ``typ`` only ``JWT``)."""
    parts = text.split(".")
    if len(parts) != 3 or not parts[0]:
        return False
    decoded = _decode_base64(parts[0])
    if decoded is None:
        return False
    try:
        header = parse_json(decoded)
    except ValueError:
        return False
    if not isinstance(header, dict) or ("typ" in header and header["typ"] != "JWT") or not truthy(header.get("alg")):
        return False
    return not algorithm or strict_equal(header["alg"], algorithm)


def _decode_base64(text: str) -> str | None:
    """Base64 as browsers decode it: white space ignored, padding optional; None for anything else."""
    text = _ASCII_SPACE.sub("", text)
    if len(text) % 4 == 0:
        text = text[:-2] if text.endswith("==") else text.removesuffix("=")
    if len(text) % 4 == 1 or "=" in text or not _BASE64.fullmatch(text):
        return None
    return base64.b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")


# --- dates and times ---------------------------------------------------------------------------------------------


def is_date(text: str) -> bool:
    """``iso.date``: a day of the calendar with a year of four digits."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    if not 1 <= month <= 12:
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + leap


def is_time(text: str, precision: object = None) -> bool:
    """``iso.time``: hours and minutes; seconds and their fraction by choice, or exactly as ``precision`` says:
    -1 minutes only, 0 whole seconds, n so many digits after the point."""
    clock = _CLOCK.match(text)
    if clock is None:
        return False
    rest = text[clock.end() :]
    if not is_number(precision):
        return rest == "" or _is_seconds(rest, None)
    if precision == -1:
        return rest == ""
    return _is_seconds(rest, int(precision))


def _is_seconds(text: str, digits: int | None) -> bool:
    if not _SECONDS.match(text):
        return False
    fraction = text[3:]
    if digits == 0 or (digits is None and not fraction):
        return fraction == ""
    if not (fraction.startswith(".") and fraction[1:].isascii() and fraction[1:].isdecimal()):
        return False
    return digits is None or len(fraction) == digits + 1


def is_datetime(text: str, precision: object = None, *, offset: bool = False, local: bool = False) -> bool:
    """``iso.datetime``: date, ``T``, time, then ``Z``, with ``offset`` also ``+hh:mm``, with ``local`` also nothing."""
    date, sign, time = text.partition("T")
    if not sign or not is_date(date):
        return False
    if time.endswith("Z"):
        return is_time(time[:-1], precision)
    if offset and time[-6:-5] in ("+", "-") and _CLOCK.fullmatch(time[-5:]) and is_time(time[:-6], precision):
        return True
    return local and is_time(time, precision)


def is_duration(text: str) -> bool:
    """``iso.duration``: weeks alone, or years to seconds in order, with at least one of them."""
    return (_WEEKS.fullmatch(text) or _DURATION.fullmatch(text)) is not None


# --- URLs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Url:
    """What the checks need of a parsed URL; ``protocol`` without its colon."""

    href: str
    protocol: str
    hostname: str


def read_url(text: str) -> Url | None:
    """A URL as ``new URL(text)`` reads it, None where that throws."""
    import ada_url  # only declarations with URLs and IPv6 need the native parser

    try:
        url = ada_url.URL(_LONE.sub("\ufffd", text))
    except ValueError:
        return None
    return Url(url.href, url.protocol.removesuffix(":"), url.hostname)


class Pattern(Protocol):
    """A regular expression as the URL checks use it."""

    @property
    def source(self) -> str:
        """The text of the pattern."""

    def test(self, text: str, /) -> bool:
        """Whether it matches somewhere in the text."""


@functools.cache
def http_protocol() -> Pattern:
    """The pattern of the protocol that ``z.httpUrl()`` uses."""
    return compile_regex("^https?$")


@functools.cache
def domain() -> Pattern:
    """The pattern of the host name that ``z.httpUrl()`` uses: a name with a top level of letters."""
    return compile_regex("^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?[.])+[a-zA-Z]{2,}$")


def check_url(
    text: str, protocol: Pattern | None = None, hostname: Pattern | None = None, *, normalize: bool = False
) -> tuple[str, tuple[str | None, ...]]:
    """``url``: the value that the check leaves (trimmed, or normal form) and the ``note`` of each fault found.

    With the protocol pattern of ``z.httpUrl()`` the text must have its two slashes, unless it is normalised.
    """
    trimmed = js_trim(text)
    http = protocol is not None and protocol.source == http_protocol().source
    if http and not normalize and not re.match(r"https?://", trimmed, re.IGNORECASE | re.ASCII):
        return text, ("Invalid URL format",)
    url = read_url(trimmed)
    if url is None:
        return text, (None,)
    faults: list[str | None] = []
    if hostname is not None and not hostname.test(url.hostname):
        faults.append("Invalid hostname")
    if protocol is not None and not protocol.test(url.protocol):
        faults.append("Invalid protocol")
    return (url.href if normalize else trimmed), tuple(faults)


def is_url(text: str) -> bool:
    """``url`` without options."""
    return not check_url(text)[1]


# --- by name -----------------------------------------------------------------------------------------------------


def _by_pattern(name: str) -> Predicate:
    compiled = re.compile(PATTERNS[name], re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_PLAIN: Mapping[str, Predicate] = {
    **{name: _by_pattern(name) for name in PATTERNS},
    "email": is_email,
    "url": is_url,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidrv4": is_cidrv4,
    "cidrv6": is_cidrv6,
    "base64": is_base64,
    "base64url": is_base64url,
    "date": is_date,
    "duration": is_duration,
    **{
        f"{algorithm}_{encoding}": functools.partial(is_hash, algorithm=algorithm, encoding=encoding)
        for algorithm in _HASH_BYTES
        for encoding in ("hex", "base64", "base64url")
    },
}

_WITH_OPTIONS: Mapping[str, Callable[[Options], Predicate]] = {
    "emoji": lambda options: _emoji(),
    "uuid": lambda options: functools.partial(is_uuid, version=uuid_version(options.get("version"))),
    "mac": lambda options: functools.partial(is_mac, delimiter=options.get("delimiter") or ":"),
    "jwt": lambda options: functools.partial(is_jwt, algorithm=options.get("alg")),
    "time": lambda options: functools.partial(is_time, precision=options.get("precision")),
    "datetime": lambda options: functools.partial(
        is_datetime,
        precision=options.get("precision"),
        offset=truthy(options.get("offset")),
        local=truthy(options.get("local")),
    ),
}

FORMAT_NAMES = frozenset(_PLAIN) | frozenset(_WITH_OPTIONS)


def uuid_version(version: object) -> int | None:
    """The number of a UUID version text (``v1`` to ``v8``), None without one; ValueError for any other."""
    if not truthy(version):
        return None
    if isinstance(version, str) and re.fullmatch("v[1-8]", version):
        return int(version[1])
    raise ValueError(f"expected a UUID version v1 to v8, found {version!r}")


def predicate(name: str, options: Options | None = None) -> Predicate:
    """The predicate of a format by the name that issues carry, with its options; KeyError for an unknown name."""
    plain = _PLAIN.get(name)
    return plain if plain is not None else _WITH_OPTIONS[name](options or {})
