"""JavaScript's value rules: recorded results of a real engine, the engine itself where it is installed, and laws."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreter import javascript as js
from interpreter.javascript import UNDEFINED
from tests.interpreter.node import decode, encode, run_node

DATA = Path(__file__).parent / "data" / "javascript.jsonl"

# name: our function and the JavaScript expression over `a` (its arguments) that it stands for
FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "number_text": (js.js_number_text, "String(a[0])"),
    "radix_text": (js.radix_text, "a[0].toString(a[1])"),
    "to_number": (js.to_number, "Number(a[0])"),
    "parse_float": (js.parse_float, "parseFloat(a[0])"),
    "parse_int": (js.parse_int, "parseInt(a[0], a[1])"),
    "to_text": (js.to_text, "String(a[0])"),
    "type_of": (js.type_of, "typeof a[0]"),
    "truthy": (js.truthy, "Boolean(a[0])"),
    "strict_equal": (js.strict_equal, "a[0] === a[1]"),
    "loose_equal": (js.loose_equal, "a[0] == a[1]"),
    "same_value": (js.same_value, "Object.is(a[0], a[1])"),
    "same_value_zero": (js.same_value_zero, "[a[0]].includes(a[1])"),
    "less_than": (lambda a, b: js.less_than(a, b) is True, "a[0] < a[1]"),
    "greater_equal": (lambda a, b: js.less_than(a, b) is False, "a[0] >= a[1]"),
    "round": (js.js_round, "Math.round(a[0])"),
    "round12": (js.round12, "Number(a[0].toPrecision(12))"),
    "add": (js.add_numbers, "a[0] + a[1]"),
    "subtract": (js.subtract, "a[0] - a[1]"),
    "multiply": (js.multiply, "a[0] * a[1]"),
    "divide": (js.divide, "a[0] / a[1]"),
    "remainder": (js.remainder, "a[0] % a[1]"),
    "power": (js.power, "a[0] ** a[1]"),
    "negate": (js.negate, "-a[0]"),
    "to_int32": (js.to_int32, "a[0] | 0"),
    "to_uint32": (js.to_uint32, "a[0] >>> 0"),
    "to_fixed": (js.to_fixed, "a[0].toFixed(a[1])"),
    "to_precision": (js.to_precision, "a[0].toPrecision(a[1])"),
    "to_exponential": (
        lambda x, digits: js.to_exponential(x, None if digits is UNDEFINED else digits),
        "a[0].toExponential(a[1])",
    ),
    "is_integer": (js.is_integer, "Number.isInteger(a[0])"),
    "is_safe_integer": (js.is_safe_integer, "Number.isSafeInteger(a[0])"),
    "length": (js.utf16_length, "a[0].length"),
    "slice": (js.utf16_slice, "a[0].slice(a[1], a[2])"),
    "char_at": (js.utf16_char_at, "a[0].charAt(a[1])"),
    "find": (js.utf16_find, "a[0].indexOf(a[1], a[2])"),
    "rfind": (js.utf16_rfind, "a[0].lastIndexOf(a[1])"),
    "trim": (js.js_trim, "a[0].trim()"),
    "trim_start": (js.js_trim_start, "a[0].trimStart()"),
    "trim_end": (js.js_trim_end, "a[0].trimEnd()"),
    "json_text": (js.js_json_text, "JSON.stringify(a[0])"),
    "json_indented": (lambda value: js.js_json_text(value, "  "), "JSON.stringify(a[0], null, 2)"),
    "parse_json": (js.parse_json, "JSON.parse(a[0])"),
    "key_order": (
        lambda keys: list(js.js_key_order(list(dict.fromkeys(keys)))),
        "Object.keys(Object.fromEntries(a[0].map(k => [k, 1])))",
    ),
    "locale_compare": (js.locale_compare, "a[0].localeCompare(a[1], 'en')"),
}

EXPRESSIONS = (
    "const table = {" + ",".join(f"{json.dumps(name)}: a => {text}" for name, (_, text) in FUNCTIONS.items()) + "};\n"
)
EVALUATE = EXPRESSIONS + (
    "answer(input.map(([name, args]) => { try { return {value: encode(table[name](decode(args)))}; }"
    " catch (e) { return {threw: e.name}; } }));"
)


def ours(name: str, args: list[Any]) -> dict[str, Any]:
    """Our result of one case, in the recorded form."""
    try:
        return {"value": encode(FUNCTIONS[name][0](*decode(args)))}
    except ValueError:
        return {"threw": "SyntaxError"}


def canonical(result: Any) -> str:
    """Text for comparison; sorts nothing, so that key order counts, and 1 and 1.0 are the same."""
    return json.dumps(encode(decode(result)) if "value" in result else result)


def near(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Powers, and digits beyond 2^53 in radices like 36, may differ in the last digits: so do engines."""
    return isinstance(a["value"], float) and math.isclose(a["value"], b["value"], rel_tol=1e-15)


def differences(cases: list[list[Any]], expected: list[dict[str, Any]]) -> list[str]:
    """One line for each case whose result of ours is not the expected one."""
    found = []
    for (name, args), wanted in zip(cases, expected, strict=True):
        result = ours(name, args)
        inexact = name in ("power", "parse_int") and near(result, wanted)
        if canonical(result) != canonical(wanted) and not inexact:
            found.append(f"{name}{args}: expected {canonical(wanted)}, found {canonical(result)}")
    return found


def recorded() -> list[dict[str, Any]]:
    """The recorded cases: function name, arguments, the engine's result."""
    return [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def test_recorded_results() -> None:
    cases = recorded()
    assert len(cases) > 1000
    failed = differences([[case["fn"], case["args"]] for case in cases], [case["result"] for case in cases])
    assert not failed, "\n".join(failed)


@pytest.mark.node
def test_the_record_is_what_the_engine_says() -> None:
    cases = recorded()
    answers = run_node(EVALUATE, [[case["fn"], case["args"]] for case in cases])
    stale = [
        f"{case['fn']}{case['args']}"
        for case, answer in zip(cases, answers, strict=True)
        if canonical(answer) != canonical(case["result"])
    ]
    assert not stale, "\n".join(stale)


def random_number(dice: random.Random) -> float:
    """Numbers of every magnitude, many of them near the corners."""
    kind = dice.randrange(6)
    if kind == 0:
        return float(dice.randrange(-1000, 1000))
    if kind == 1:
        return math.ldexp(dice.randrange(-10000, 10000), -dice.randrange(12))
    if kind == 2:
        return round(dice.uniform(-1000, 1000), dice.randrange(6))
    if kind == 3:
        return dice.uniform(-1, 1) * math.pow(10, dice.randrange(-30, 30))
    if kind == 4:
        return dice.choice(
            [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**53, 1e21, 1e-7, 5e-324, 1.7976931348623157e308]
        )
    return math.ldexp(1, dice.randrange(70)) + dice.randrange(-2, 3)


TEXT_PIECES = [
    "a",
    "Z",
    "é",
    "甲",
    "😀",
    "\ud83d",
    "\ude00",
    " ",
    "\ufeff",
    "\x85",
    "\n",
    "0",
    "7",
    ".",
    "-",
    "e",
    "x",
    '"',
    "\\",
]


def random_case(dice: random.Random) -> list[Any]:
    """One random call of one of the functions."""
    number = encode(random_number(dice))
    second = encode(random_number(dice))
    text = "".join(dice.choices(TEXT_PIECES, k=dice.randrange(7)))
    scalar = dice.choice([number, text, True, False, None, {"$js": "undefined"}, [number, text], str(decode(number))])
    other = dice.choice([scalar, second, text, None, str(decode(second)), [second]])
    return dice.choice(
        [
            ["number_text", [number]],
            ["radix_text", [number, dice.choice([2, 3, 8, 16, 36] if abs(decode(number)) < 2**53 else [2, 8, 16])]],
            ["to_fixed", [number, dice.randrange(25)]],
            ["to_precision", [number, dice.randrange(1, 30)]],
            ["to_exponential", [number, dice.randrange(20)]],
            ["round", [number]],
            ["round12", [number]],
            ["to_int32", [number]],
            [dice.choice(["add", "subtract", "multiply", "divide", "remainder"]), [number, second]],
            [
                dice.choice(["strict_equal", "loose_equal", "less_than", "greater_equal", "same_value_zero"]),
                [scalar, other],
            ],
            [
                dice.choice(["to_number", "to_text", "truthy", "type_of", "json_indented"]),
                [scalar if scalar != {"$js": "undefined"} else 1],
            ],
            [dice.choice(["parse_float", "length", "trim", "to_number"]), [text]],
            ["parse_int", [text, dice.choice([0, 10, 16, 2, 36, 37])]],
            ["find", [text, text[1:2], 0]],
        ]
    )


@pytest.mark.node
def test_random_calls_agree_with_the_engine() -> None:
    dice = random.Random(20240501)
    cases = [random_case(dice) for _ in range(20_000)]
    failed = differences(cases, run_node(EVALUATE, cases))
    assert not failed, "\n".join(failed[:40])


# --- laws --------------------------------------------------------------------------------------------------------


@given(st.floats())
def test_number_text_reads_back(x: float) -> None:
    assert js.same_value(js.text_to_number(js.js_number_text(x)), x if x != 0 else 0)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=30), st.data())
def test_slices_put_together_are_the_text(text: str, data: st.DataObject) -> None:
    text = js.join_surrogates(text)
    cut = data.draw(st.integers(0, js.utf16_length(text)))
    assert js.join_surrogates(js.utf16_slice(text, 0, cut) + js.utf16_slice(text, cut)) == text
    assert js.from_units(js.to_units(text)) == text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_text_reads_back_to_the_same_text(value: Any) -> None:
    text = js.js_json_text(value)
    assert js.js_json_text(js.parse_json(text)) == text


def test_integers_beyond_the_safe_range_are_doubles() -> None:
    assert js.strict_equal(2**53 + 1, 2**53)
    assert js.js_number_text(2**53 + 1) == "9007199254740992"
    assert js.js_number_text(10**400) == "Infinity"
    assert js.js_json_text(123456789012345678901234) == "1.2345678901234569e+23"


def test_a_boolean_is_no_number() -> None:
    assert not js.strict_equal(True, 1)
    assert not js.same_value_zero(1, True)
    assert not js.is_number(True)
    assert js.js_json_text([True, 1]) == "[true,1]"
    assert js.loose_equal(True, 1)


def test_depth_reaches_no_recursion_limit() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert js.to_text(deep) == ""
    assert js.js_json_text(deep) == "[" * 100_001 + "]" * 100_001
    with pytest.raises(ValueError, match="levels"):
        js.parse_json("[" * 100_000)
    assert js.parse_json('"' + "[" * 600 + '"') == "[" * 600


def test_cycles() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert js.to_text(ring) == "1,"
    with pytest.raises(TypeError, match="cycle"):
        js.js_json_text(ring)
    shared = [1]
    assert js.js_json_text([shared, shared]) == "[[1],[1]]"


def test_undefined_and_opaque_values_in_json() -> None:
    assert js.js_json_text({"a": UNDEFINED, "b": [UNDEFINED]}) == '{"b":[null]}'
    assert js.js_json_text({"f": len, "g": [len]}, other=lambda _: UNDEFINED) == '{"g":[null]}'
    for bad in (UNDEFINED, {"f": len}):
        with pytest.raises(TypeError):
            js.js_json_text(bad)
    with pytest.raises(TypeError):
        js.to_text(len)
    assert repr(UNDEFINED) == "undefined"
    assert not UNDEFINED
