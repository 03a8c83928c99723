"""Dates in texts, as the upstream's engine reads them: ISO 8601 first, then the engine's forgiving reading.

The forgiving reading (spec/magvarupdate.md §5, §22.11) ignores unknown words before the first number, takes a number
before ``:`` as time and any other as month, day, year in that order (year first when it is no day), fills what is
missing with 1, and refuses unknown words after a number. Times are UTC.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from interpreter.javascript import text_to_number
from runtime.mvu.commands.magvarupdate.limits import DATE_TEXT

_ISO = re.compile(
    r"([+-][0-9]{6}|[0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?"
    r"(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_TOKEN = re.compile(r"(?P<number>[0-9]+)|(?P<word>[A-Z\[-\U0010ffff][^\s\x00-@]*)|(?P<blank>\s+)|(?P<sign>[\x00-\x40])")
_MONTHS = {
    name: position
    for position, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_HALVES = {"am": 0, "pm": 12}
_ZONES = {
    "ut": 0,
    "utc": 0,
    "z": 0,
    "gmt": 0,
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
}
_LONGEST_NUMBER = 9
_LARGEST_TIME = 8_640_000_000_000_000
_DAY = 86_400_000
_HOUR = 3_600_000
_MINUTE = 60_000


class _NoDate(ValueError):
    pass


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar; the day may run over its month."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468 + day - 1


def _civil_from_days(days: int) -> tuple[int, int, int]:
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def _milliseconds(digits: str) -> int:
    return int((digits + "00")[:3])


def _clock(hour: int, minute: int, second: int, millisecond: int) -> int:
    fits = hour <= 23 and minute <= 59 and second <= 59 and millisecond <= 999
    if not fits and (hour, minute, second, millisecond) != (24, 0, 0, 0):
        raise _NoDate
    return hour * _HOUR + minute * _MINUTE + second * 1_000 + millisecond


def _instant(year: int, month: int, day: int, clock: int, offset: int) -> int:
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise _NoDate
    instant = _days_from_civil(year, month, day) * _DAY + clock - offset * _MINUTE
    if abs(instant) > _LARGEST_TIME:
        raise _NoDate
    return instant


def _iso(text: str) -> int | None:
    match = _ISO.fullmatch(text)
    if match is None or match.group(1) == "-000000":
        return None
    year, month, day, hour, minute, second = (
        int(part or default) for part, default in zip(match.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    zone = match.group(8)
    offset = 0
    if zone and zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[-2:])
        if hours > 23 or minutes > 59:
            return None
        offset = (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
    try:
        return _instant(year, month, day, _clock(hour, minute, second, _milliseconds(match.group(7) or "0")), offset)
    except _NoDate:
        return None


@dataclass(slots=True)
class _Reading:
    """What the forgiving reading has collected."""

    text: str
    at: int = 0
    date: list[int] = field(default_factory=list)
    month: int | None = None
    time: list[int] = field(default_factory=list)
    half: int | None = None
    zone_sign: int | None = None
    zone_hour: int | None = None
    zone_minute: int | None = None
    number_seen: bool = False

    def next(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            return "end", ""
        self.at = match.end()
        return str(match.lastgroup), match.group()

    def peek(self) -> tuple[str, str]:
        at = self.at
        token = self.next()
        self.at = at
        return token

    def skip(self, mark: str) -> bool:
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def skip_parentheses(self) -> None:
        depth = 1
        while depth and self.at < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1


def _expects(reading: _Reading, value: int) -> bool:
    position = len(reading.time)
    return (position in (1, 2) and value < 60) or (position == 3 and value < 1_000)


def _finish_time(reading: _Reading, value: int) -> None:
    reading.time.append(value)
    reading.time.extend([0] * (4 - len(reading.time)))


def _add_time(reading: _Reading, value: int) -> None:
    if len(reading.time) >= 4:
        raise _NoDate
    reading.time.append(value)


def _number(reading: _Reading, digits: str) -> None:
    reading.number_seen = True
    significant = digits.lstrip("0")[:_LONGEST_NUMBER]
    value = int(significant or "0")
    if reading.skip(":"):
        if reading.skip(":"):
            if reading.time:
                raise _NoDate
            reading.time.extend((value, 0))
        else:
            _add_time(reading, value)
            reading.skip(".")
    elif reading.text.startswith(".", reading.at) and _expects(reading, value):
        reading.at += 1
        _add_time(reading, value)
        kind, fraction = reading.next()
        if kind != "number":
            raise _NoDate
        _finish_time(reading, _milliseconds(fraction))
    elif reading.zone_hour is not None and reading.zone_minute is None:
        reading.zone_minute = value
    elif _expects(reading, value):
        _finish_time(reading, value)
        kind, after = reading.peek()
        if kind not in ("end", "blank") and after.lower() != "z" and after not in ("+", "-"):
            raise _NoDate
    else:
        if len(reading.date) >= 3:
            raise _NoDate
        reading.date.append(value)
        reading.skip("-")


def _word(reading: _Reading, word: str) -> None:
    lowered = word.lower()
    if lowered in _HALVES and reading.time:
        reading.half = _HALVES[lowered]
    elif lowered[:3] in _MONTHS:
        reading.month = _MONTHS[lowered[:3]]
        reading.skip("-")
    elif lowered in _ZONES and reading.number_seen:
        hours = _ZONES[lowered]
        reading.zone_sign, reading.zone_hour, reading.zone_minute = (-1 if hours < 0 else 1), abs(hours), 0
    elif reading.number_seen or reading.peek()[0] == "number":
        raise _NoDate


def _sign(reading: _Reading, mark: str) -> None:
    in_utc = reading.zone_hour == 0 and reading.zone_minute == 0
    if mark in "+-" and (in_utc or reading.time):
        reading.zone_sign = -1 if mark == "-" else 1
        kind, digits = reading.peek()
        if kind == "number":
            reading.next()
        else:
            digits = ""
        value = int(digits[:_LONGEST_NUMBER] or "0")
        reading.number_seen = True
        if reading.text.startswith(":", reading.at):
            reading.zone_hour, reading.zone_minute = value, None
        elif len(digits) in (1, 2):
            reading.zone_hour, reading.zone_minute = value, 0
        elif len(digits) in (3, 4):
            reading.zone_hour, reading.zone_minute = divmod(value, 100)
        else:
            raise _NoDate
    elif mark in "+-)" and reading.number_seen:
        raise _NoDate


def _forgiving(text: str) -> int:
    reading = _Reading(text)
    while True:
        kind, token = reading.next()
        if kind == "end":
            return _written(reading)
        if kind == "number":
            _number(reading, token)
        elif kind == "word":
            _word(reading, token)
        elif token == "(":
            reading.skip_parentheses()
        elif kind == "sign":
            _sign(reading, token)


def _written(reading: _Reading) -> int:
    if not reading.date:
        raise _NoDate
    first, second, third = [*reading.date, 1, 1, 1][:3]
    is_day = 1 <= first <= 31
    if reading.month is None:
        year, month, day = (third, first, second) if is_day else (first, second, third)
    elif is_day:
        year, month, day = second, reading.month, first
    else:
        year, month, day = first, reading.month, second
    if year < 100:
        year += 2000 if year < 50 else 1900
    hour, minute, second, millisecond = [*reading.time, 0, 0, 0, 0][:4]
    if reading.half is not None:
        if hour > 12:
            raise _NoDate
        hour = hour % 12 + reading.half
    offset = (reading.zone_sign or 1) * ((reading.zone_hour or 0) * 60 + (reading.zone_minute or 0))
    return _instant(year, month, day, _clock(hour, minute, second, millisecond), offset)


def parse_date(text: str) -> int | None:
    """Milliseconds since 1970 of a text, None when the engine sees no date in it."""
    if len(text) > DATE_TEXT.default:
        return None
    text = text.strip()
    found = _iso(text)
    if found is not None:
        return found
    try:
        return _forgiving(text)
    except _NoDate:
        return None


def date_of(value: object) -> int | None:
    """The instant that ``add`` works on: a text with a date in it that is no number."""
    if not isinstance(value, str) or not math.isnan(text_to_number(value)):
        return None
    return parse_date(value)


def iso_text(instant: float) -> str | None:
    """An instant as ISO text with milliseconds and ``Z``; None beyond the engine's range."""
    if not abs(instant) <= _LARGEST_TIME:
        return None
    days, rest = divmod(int(instant), _DAY)
    year, month, day = _civil_from_days(days)
    if 0 <= year <= 9_999:
        shown = f"{year:04d}"
    else:
        shown = f"{'-' if year < 0 else '+'}{abs(year):06d}"
    hour, rest = divmod(rest, _HOUR)
    minute, rest = divmod(rest, _MINUTE)
    second, millisecond = divmod(rest, 1_000)
    return f"{shown}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{millisecond:03d}Z"
