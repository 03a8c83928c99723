"""The world clock: calendars, phases, moves (``spec/dimensions.md`` §8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from interpreter.javascript import utf16_length
from runtime.dimensions import limits
from runtime.dimensions.issues import Issue, issues_text
from runtime.dimensions.localise import localise, simplified_chinese
from runtime.dimensions.values import Json, is_integer, is_text, quoted

Definition = dict[str, Json]
MODES: Final = ("forward", "backward", "bidirectional", "random")
_N: Final = limits.CLOCK_NUMBER.default
_NAMES: Final = limits.CLOCK_NAMES.default
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193

DEFAULT_CLOCK: Final[Definition] = {
    "kind": "calendar",
    "calendar": {
        "era": "",
        "months": [{"name": f"{number}", "days": 30} for number in range(1, 13)],
        "hoursPerDay": 24,
        "minutesPerHour": 60,
    },
    "initial": {"year": 1, "month": 1, "day": 1, "hour": 8, "minute": 0},
    "evolution": {"mode": "forward", "defaultStep": 10, "maxStep": 525_600},
}


class MoveRefused(Exception):
    """A move that the clock does not make; ``reason`` is a stable name."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


# --- checking a definition ------------------------------------------------------------------------------------------


def _whole(data: Json, key: str, low: int, high: int) -> Iterator[Issue]:
    found = data.get(key) if isinstance(data, dict) else None
    if not is_integer(found) or not low <= found <= high:
        yield Issue((key,), "bad-field", f"expected an integer from {low} to {high}, found {quoted(found)}")


def _unknown(data: Definition, known: tuple[str, ...]) -> Iterator[Issue]:
    for key in data:
        if key not in known:
            yield Issue((key,), "unknown-key", f"unknown key {quoted(key)}; known are {', '.join(known)}")


def check_clock(definition: Json) -> list[Issue]:
    """Every fault of a clock definition."""
    if not isinstance(definition, dict):
        return [Issue((), "bad-field", f"expected a clock object, found {quoted(definition)}")]
    kind = definition.get("kind")
    if kind not in ("calendar", "phases"):
        return [Issue(("kind",), "bad-field", f"expected calendar or phases, found {quoted(kind)}")]
    own = ("calendar",) if kind == "calendar" else ("phases", "cycleLabel")
    issues = list(_unknown(definition, ("kind", "name", *own, "initial", "evolution")))
    if "name" in definition and not is_text(definition["name"]):
        issues.append(Issue(("name",), "bad-field", f"expected a text, found {quoted(definition['name'])}"))
    issues.extend(issue.under("evolution") for issue in _check_evolution(definition.get("evolution")))
    shape = list(_check_calendar(definition) if kind == "calendar" else _check_phases(definition))
    return issues + shape


def _check_evolution(evolution: Json) -> Iterator[Issue]:
    if not isinstance(evolution, dict):
        yield Issue((), "bad-field", f"expected {{mode, defaultStep, maxStep}}, found {quoted(evolution)}")
        return
    yield from _unknown(evolution, ("mode", "defaultStep", "maxStep", "randomRange", "prompt"))
    mode = evolution.get("mode")
    if mode not in MODES:
        yield Issue(("mode",), "bad-field", f"expected one of {', '.join(MODES)}, found {quoted(mode)}")
    if "prompt" in evolution and not is_text(evolution["prompt"]):
        yield Issue(("prompt",), "bad-field", f"expected a text, found {quoted(evolution['prompt'])}")
    steps = [*_whole(evolution, "defaultStep", 0, _N), *_whole(evolution, "maxStep", 1, _N)]
    yield from steps
    if steps:
        return
    if evolution["defaultStep"] > evolution["maxStep"]:
        yield Issue(("defaultStep",), "bad-field", f"defaultStep is above maxStep {quoted(evolution['maxStep'])}")
    if mode == "random" or "randomRange" in evolution:
        limits_of = _range_of(evolution.get("randomRange"))
        if limits_of is None:
            yield Issue(("randomRange",), "bad-field", "random needs a range {min, max} of integers")
        elif limits_of[0] > limits_of[1] or max(map(abs, limits_of)) > evolution["maxStep"]:
            yield Issue(("randomRange",), "bad-field", "the range must be ordered and lie within maxStep")


def _range_of(data: Json) -> tuple[int, int] | None:
    """``{min, max}`` or ``[min, max]``."""
    if isinstance(data, dict) and set(data) == {"min", "max"}:
        data = [data["min"], data["max"]]
    if not isinstance(data, list) or len(data) != 2:
        return None
    if not all(is_integer(part) and abs(part) <= _N for part in data):
        return None
    return int(data[0]), int(data[1])


def _named(entries: Json, where: str, number: str | None, low: int) -> Iterator[Issue]:
    """A list of names, or of ``{name, NUMBER}`` objects."""
    if not isinstance(entries, list) or not 1 <= len(entries) <= _NAMES:
        yield Issue((where,), "bad-field", f"expected a list of 1 to {_NAMES} entries, found {quoted(entries)}")
        return
    for index, entry in enumerate(entries):
        name = entry.get("name") if number is not None and isinstance(entry, dict) else entry
        if not is_text(name) or not name:
            yield Issue((where, index), "bad-field", f"expected a name, found {quoted(entry)}")
        elif number is not None:
            yield from (issue.under(where, index) for issue in _unknown(entry, ("name", number)))
            yield from (issue.under(where, index) for issue in _whole(entry, number, low, _N))


def _check_calendar(definition: Definition) -> Iterator[Issue]:
    calendar, initial = definition.get("calendar"), definition.get("initial")
    if not isinstance(calendar, dict):
        yield Issue(("calendar",), "bad-field", f"expected a calendar object, found {quoted(calendar)}")
        return
    faults = list(_unknown(calendar, ("era", "months", "hoursPerDay", "minutesPerHour", "periods", "weekdays")))
    if "era" in calendar and not is_text(calendar["era"]):
        faults.append(Issue(("era",), "bad-field", f"expected a text, found {quoted(calendar['era'])}"))
    faults.extend(_named(calendar.get("months"), "months", "days", 1))
    faults.extend(_whole(calendar, "hoursPerDay", 1, _N))
    faults.extend(_whole(calendar, "minutesPerHour", 1, _N))
    if "periods" in calendar:
        faults.extend(_named(calendar["periods"], "periods", "startHour", 0))
    if "weekdays" in calendar:
        faults.extend(_named(calendar["weekdays"], "weekdays", None, 0))
    yield from (issue.under("calendar") for issue in faults)
    if not faults:
        yield from _check_periods(calendar)
        yield from (issue.under("initial") for issue in _check_date(calendar, initial))


def _check_periods(calendar: Definition) -> Iterator[Issue]:
    hours = [period["startHour"] for period in calendar.get("periods", ())]
    for index, hour in enumerate(hours):
        if hour >= calendar["hoursPerDay"] or (index and hour <= hours[index - 1]):
            message = f"expected hours that increase strictly and lie within the day, found {quoted(hours)}"
            yield Issue(("calendar", "periods", index, "startHour"), "bad-field", message)


def _check_date(calendar: Definition, initial: Json) -> Iterator[Issue]:
    if not isinstance(initial, dict):
        yield Issue((), "bad-field", f"expected {{year, month, day, hour, minute}}, found {quoted(initial)}")
        return
    yield from _unknown(initial, ("year", "month", "day", "hour", "minute", "weekday"))
    yield from _whole(initial, "year", -_N, _N)
    month = list(_whole(initial, "month", 1, len(calendar["months"])))
    yield from month
    most = _N if month else int(calendar["months"][int(initial["month"]) - 1]["days"])
    yield from _whole(initial, "day", 1, most)
    yield from _whole(initial, "hour", 0, int(calendar["hoursPerDay"]) - 1)
    yield from _whole(initial, "minute", 0, int(calendar["minutesPerHour"]) - 1)
    if "weekdays" in calendar:
        yield from _whole(initial, "weekday", 0, len(calendar["weekdays"]) - 1)
    elif "weekday" in initial:
        yield Issue(("weekday",), "bad-field", "a weekday is given, but the calendar has no weekdays")


def _check_phases(definition: Definition) -> Iterator[Issue]:
    faults = list(_named(definition.get("phases"), "phases", None, 0))
    yield from faults
    if not is_text(definition.get("cycleLabel")):
        yield Issue(("cycleLabel",), "bad-field", f"expected a text, found {quoted(definition.get('cycleLabel'))}")
    initial = definition.get("initial")
    if not isinstance(initial, dict):
        yield Issue(("initial",), "bad-field", f"expected {{cycle, phase}}, found {quoted(initial)}")
        return
    yield from (issue.under("initial") for issue in _unknown(initial, ("cycle", "phase")))
    yield from (issue.under("initial") for issue in _whole(initial, "cycle", -_N, _N))
    most = (_NAMES if faults else len(definition["phases"])) - 1
    yield from (issue.under("initial") for issue in _whole(initial, "phase", 0, most))


# --- reading a clock ------------------------------------------------------------------------------------------------


def base_unit(definition: Definition) -> str:
    """``minute`` or ``phase``."""
    return "minute" if definition["kind"] == "calendar" else "phase"


def _day_ticks(calendar: Definition) -> int:
    return int(calendar["hoursPerDay"]) * int(calendar["minutesPerHour"])


def initial_tick(definition: Definition) -> int:
    """The tick at which the clock starts."""
    initial = definition["initial"]
    if definition["kind"] == "phases":
        return int(initial["cycle"]) * len(definition["phases"]) + int(initial["phase"])
    calendar = definition["calendar"]
    days = [int(month["days"]) for month in calendar["months"]]
    day = (int(initial["year"]) - 1) * sum(days) + sum(days[: int(initial["month"]) - 1]) + int(initial["day"]) - 1
    return day * _day_ticks(calendar) + int(initial["hour"]) * int(calendar["minutesPerHour"]) + int(initial["minute"])


def shown(definition: Definition, tick: int) -> dict[str, Any]:
    """The parts of the clock's face at ``tick``; division floors, so ticks below 0 work."""
    if definition["kind"] == "phases":
        cycle, phase = divmod(tick, len(definition["phases"]))
        return {"cycle": cycle, "phase": phase, "phaseName": definition["phases"][phase]}
    calendar = definition["calendar"]
    day_number, minutes = divmod(tick, _day_ticks(calendar))
    hour, minute = divmod(minutes, int(calendar["minutesPerHour"]))
    days = [int(month["days"]) for month in calendar["months"]]
    year, day = divmod(day_number, sum(days))
    month = 0
    while day >= days[month]:
        day -= days[month]
        month += 1
    face: dict[str, Any] = {"year": year + 1, "month": month + 1, "day": day + 1, "hour": hour, "minute": minute}
    face["monthName"] = calendar["months"][month]["name"]
    if "weekdays" in calendar:
        anchor = initial_tick(definition) // _day_ticks(calendar)
        index = (int(definition["initial"]["weekday"]) + day_number - anchor) % len(calendar["weekdays"])
        face.update(weekdayIndex=index, weekday=calendar["weekdays"][index])
    periods = calendar.get("periods")
    if periods:
        started = [period for period in periods if period["startHour"] <= hour]
        face["period"] = (started or periods)[-1]["name"]
    return face


def display(definition: Definition, tick: int, locale: str | None) -> str:
    """The clock as one text in the session's language."""

    def text(part: Json) -> str:
        return localise(part, locale) or ""

    face, chinese = shown(definition, tick), simplified_chinese(locale)
    if definition["kind"] == "phases":
        label = text(definition["cycleLabel"])
        name = text(face["phaseName"])
        return f"{label}{face['cycle']} · {name}" if chinese else f"{label} {face['cycle']}, {name}"
    era, month = text(definition["calendar"].get("era", "")), text(face["monthName"])
    width = len(str(int(definition["calendar"]["minutesPerHour"]) - 1))
    time = f"{face['hour']:02d}:{face['minute']:0{max(width, 2)}d}"
    extras = [text(face[key]) for key in ("weekday", "period") if key in face]
    date = (
        f"{era}{face['year']}年 {month} {face['day']}日" if chinese else f"{era} {face['year']}, {month} {face['day']}"
    )
    return " ".join([date.strip(), time, *extras])


# --- moving a clock -------------------------------------------------------------------------------------------------


def fnv1a(text: str) -> int:
    """The 32-bit FNV-1a hash over the characters (UTF-16 units) of ``text``."""
    result = _FNV_OFFSET
    data = text.encode("utf-16-le", "surrogatepass")
    for index in range(0, len(data), 2):
        result = ((result ^ (data[index] | data[index + 1] << 8)) * _FNV_PRIME) & 0xFFFFFFFF
    return result


def _unit_size(definition: Definition, unit: Json) -> int:
    if definition["kind"] == "phases":
        sizes = {"phase": 1, "cycle": len(definition["phases"])}
    else:
        calendar = definition["calendar"]
        sizes = {"minute": 1, "hour": int(calendar["minutesPerHour"]), "day": _day_ticks(calendar)}
    if not isinstance(unit, str) or unit not in sizes:
        raise MoveRefused("bad-unit", f"expected one of {', '.join(sizes)}, found {quoted(unit)} at unit")
    return sizes[unit]


def delta_of(definition: Definition, move: Json, turn_id: str) -> int:
    """The signed number of base units that a move asks for; raises ``MoveRefused``."""
    request = {} if move is None else move
    if not isinstance(request, dict):
        raise MoveRefused("bad-move", f"expected {{amount, unit, direction, reason}}, found {quoted(move)}")
    for key in request:
        if key not in ("amount", "unit", "direction", "reason"):
            raise MoveRefused("bad-move", f"unknown key {quoted(key)}; known are amount, unit, direction, reason")
    _check_reason(request)
    evolution = definition["evolution"]
    if evolution["mode"] == "random":
        return _random_delta(evolution, request, turn_id)
    amount = _amount(definition, request)
    delta = amount * _sign(evolution["mode"], request.get("direction"))
    if abs(delta) > evolution["maxStep"]:
        most = f"{int(evolution['maxStep'])} {base_unit(definition)}s"
        raise MoveRefused("over-max-step", f"a move of {abs(delta)} is longer than the allowed {most}")
    return delta


def _check_reason(request: Definition) -> None:
    if "reason" in request:
        reason = request["reason"]
        if not isinstance(reason, str) or not 1 <= utf16_length(reason) <= limits.CLOCK_REASON.default:
            raise MoveRefused("bad-reason", f"expected a reason of 1 to {limits.CLOCK_REASON.default} characters")


def _random_delta(evolution: Definition, request: Definition, turn_id: str) -> int:
    if any(key in request for key in ("amount", "unit", "direction")):
        raise MoveRefused("random-args", "a random clock takes no amount, unit or direction")
    bounds = _range_of(evolution["randomRange"])
    assert bounds is not None
    low, high = bounds
    return low + (fnv1a(turn_id) * (high - low + 1) >> 32)


def _amount(definition: Definition, request: Definition) -> int:
    if "amount" not in request:
        if "unit" in request:
            _unit_size(definition, request["unit"])
            raise MoveRefused("bad-unit", "a unit without an amount says nothing: give both or neither")
        return int(definition["evolution"]["defaultStep"])
    amount = request["amount"]
    if not is_integer(amount) or not 0 <= amount <= _N:
        raise MoveRefused("bad-amount", f"expected an integer from 0 to {_N}, found {quoted(amount)} at amount")
    return int(amount) * _unit_size(definition, request.get("unit", base_unit(definition)))


def _sign(mode: str, direction: Json) -> int:
    if direction not in (None, "forward", "backward"):
        raise MoveRefused("direction-policy", f"expected forward or backward, found {quoted(direction)} at direction")
    if mode in ("forward", "backward"):
        if direction not in (None, mode):
            raise MoveRefused(
                "direction-policy", f"this clock only moves {mode}, found {quoted(direction)} at direction"
            )
        direction = mode
    return -1 if direction == "backward" else 1


# --- a session's clock ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moved:
    """One turn's move: the tick before and after it, and the reason given."""

    before: int
    after: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """A session's clock: its definition from first use, the tick, and what each turn did to it."""

    definition: Definition
    tick: int
    moves: dict[str, Moved]
    last_turn: str | None = None

    @property
    def elapsed(self) -> int:
        """Base units since the start; may be negative."""
        return self.tick - initial_tick(self.definition)

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "definition": self.definition,
            "tick": self.tick,
            "lastTurn": self.last_turn,
            "moves": {turn: [move.before, move.after, move.reason] for turn, move in self.moves.items()},
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Clock:
        """Read the stored form; raises ``ValueError`` when it is none."""
        moves = {turn: Moved(*move) for turn, move in data["moves"].items()}
        ticks = [data["tick"], *(tick for move in moves.values() for tick in (move.before, move.after))]
        issues = check_clock(data["definition"])
        if issues or not all(type(tick) is int for tick in ticks):
            raise ValueError(issues_text(issues) or "a tick is no whole number")
        return cls(data["definition"], data["tick"], moves, data["lastTurn"])


def new_clock(definition: Json) -> Clock:
    """A session's clock at its start; raises ``ValueError`` naming every fault of the definition."""
    issues = check_clock(definition)
    if issues:
        raise ValueError(issues_text(issues))
    return Clock(definition, initial_tick(definition), {})


def move_clock(clock: Clock, turn_id: str, move: Json) -> Clock:
    """Move once for this turn; the same turn never moves the clock twice."""
    if turn_id in clock.moves:
        return clock
    delta = delta_of(clock.definition, move, turn_id)
    after = clock.tick + delta
    if abs(after) > limits.CLOCK_TICK.default:
        raise MoveRefused("overflow", f"the clock cannot count beyond {limits.CLOCK_TICK.default}")
    reason = move.get("reason") if isinstance(move, dict) else None
    moves = {**clock.moves, turn_id: Moved(clock.tick, after, reason)}
    while len(moves) > limits.CLOCK_TURNS.default:
        del moves[next(iter(moves))]
    return replace(clock, tick=after, moves=moves, last_turn=turn_id)


def summary(clock: Clock, turn_id: str | None, locale: str | None) -> dict[str, Any] | None:
    """What consumers read of the clock after a turn; ``None`` for a turn that settled no time."""
    turn = clock.last_turn if turn_id is None else turn_id
    moved = clock.moves.get(turn) if turn is not None else None
    if moved is None and turn_id is not None:
        return None
    tick = clock.tick if moved is None or turn_id is None else moved.after
    start = initial_tick(clock.definition)
    return {
        "display": display(clock.definition, tick, locale),
        "unit": base_unit(clock.definition),
        "elapsedSinceStart": tick - start,
        "elapsedThisTurn": 0 if moved is None else moved.after - moved.before,
    }


def output(clock: Clock, turn_id: str | None, locale: str | None) -> dict[str, Any]:
    """The whole answer of the contract ``world-time-evolution@1``."""
    turn = clock.last_turn if turn_id is None else turn_id
    moved = clock.moves.get(turn) if turn is not None else None
    tick = clock.tick if moved is None else moved.after
    text = display(clock.definition, tick, locale)
    return {
        "schemaVersion": 1,
        "definition": clock.definition,
        "tick": tick,
        "display": text,
        "shown": shown(clock.definition, tick),
        "lastDelta": 0 if moved is None else moved.after - moved.before,
        "reason": None if moved is None else moved.reason,
        "summary": summary(clock, turn if moved is not None else None, locale),
    }
