"""Values: bounds, canonical form, strict JSON, paths, copying, changes (spec/mvu.md §1.6, §1.7, §4.4; design §5)."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreter.javascript import js_json_text, js_number_text
from runtime.values import bounds, canonical, copying, jsontext, patch, paths
from runtime.values.equal import json_equal
from runtime.values.limits import LIMITS, ValueLimits
from runtime.values.numbers import normal_number, normalise_numbers
from runtime.values.rows import InnkeeperError
from tests.values.strategies import VALUES


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def naive_size(value: Any, depth: int = 0) -> tuple[int, int, int]:
    """Nodes, charge and depth, written as the specification says it, one character at a time."""
    if value is None or isinstance(value, bool):
        return 1, 5, depth
    if isinstance(value, int | float):
        return 1, 32, depth
    if isinstance(value, str):
        return 1, naive_text(value), depth
    nodes, charge, deepest = 1, 2, depth
    for key, child in value.items() if isinstance(value, dict) else ((None, item) for item in value):
        more = naive_size(child, depth + 1)
        nodes += more[0]
        charge += 2 + more[1] + (naive_text(key) if key is not None else 0)
        deepest = max(deepest, more[2])
    return nodes, charge, deepest


def naive_text(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    charge = 2
    for index in range(0, len(units), 2):
        unit = units[index] | units[index + 1] << 8
        if unit < 0x20 or 0xD800 <= unit <= 0xDFFF:
            charge += 6
        elif unit in (0x22, 0x5C):
            charge += 2
        else:
            charge += 1 if unit < 0x80 else 2 if unit < 0x800 else 3
    return charge


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_sizes(value: Any) -> None:
    exact = bounds.measure(value)
    assert tuple(exact) == naive_size(value)
    quick = bounds.quick_size(value)
    assert quick.nodes >= exact.nodes
    assert quick.charge >= exact.charge
    assert exact.charge >= len(js_json_text(value))


BAD_VALUES: list[tuple[str, Any, str, str]] = [
    ("nan", float("nan"), "MVU_JSON", ""),
    ("infinity inside", {"a": [float("inf")]}, "MVU_JSON", "/a/0"),
    ("huge integer", [10**400], "MVU_JSON", "/0"),
    ("number as key", {1: 2}, "MVU_JSON", ""),
    ("tuple", {"a": (1,)}, "MVU_JSON", "/a"),
    ("object", {"a/b": object()}, "MVU_JSON", "/a~1b"),
    ("proto", {"a": {"__proto__": 1}}, "MVU_PATH", "/a/__proto__"),
    ("constructor in a list", [{"constructor": 1}], "MVU_PATH", "/0/constructor"),
    ("prototype", {"prototype": None}, "MVU_PATH", "/prototype"),
    ("depth", nested(65), "MVU_LIMIT", "/0" * 64),
    ("array", [1] * 100_001, "MVU_LIMIT", ""),
    ("nodes", {"a": [[1] * 60_000, [1] * 60_000]}, "MVU_LIMIT", "/a/0"),
    ("charge", ["x" * 2_097_152], "MVU_LIMIT", "/0"),
]


@pytest.mark.parametrize(("name", "value", "code", "path"), BAD_VALUES, ids=[row[0] for row in BAD_VALUES])
def test_bad_values(name: str, value: Any, code: str, path: str) -> None:
    with pytest.raises(InnkeeperError) as caught:
        bounds.check_json(value)
    assert caught.value.code == code
    if name not in ("nodes", "charge"):
        assert caught.value.details["path"] == path


def test_bounds_hold_at_their_edges() -> None:
    assert bounds.check_json(nested(64)).depth == 64
    assert bounds.check_json([1] * 99_999, ValueLimits(charge=1 << 30)).nodes == 100_000
    assert bounds.check_json("x" * 2_097_150).charge == 2_097_152
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(InnkeeperError, match="levels of nesting"):
        bounds.check_json(cycle)


def test_limits_are_rows() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)
    assert all(limit.default > 0 and limit.error.startswith("MVU_") for limit in LIMITS)


# --- canonical form --------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_canonical_form_is_stable(value: Any) -> None:
    text = canonical.canonical_json(value)
    assert canonical.canonical_json(json.loads(text)) == text
    assert canonical.canonical_json(reversed_keys(value)) == text
    assert canonical.canonical_json(normalise_numbers(value)) == text
    assert json_equal(normalise_numbers(json.loads(text)), normalise_numbers(json.loads(json.dumps(value))))
    text.encode("utf-8")
    assert canonical.quick_json(value) == canonical.ordered_json(value)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


CANONICAL: list[tuple[Any, str]] = [
    ({"b": 1, "a": [1.0, -0.0, 1e21, 1e20, 12345678901234567890, 0.1, 1e-7]},
     '{"a":[1,0,1e+21,100000000000000000000,12345678901234567000,0.1,1e-7],"b":1}'),
    ("1.0,2.0", '"1.0,2.0"'),
    (1.0, "1"),
    (True, "true"),
    ("\ud800\n\u2028", '"\\ud800\\n\u2028"'),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), CANONICAL)
def test_canonical_texts(value: Any, text: str) -> None:
    assert canonical.canonical_json(value) == text


def test_hashes() -> None:
    assert canonical.sha({"a": 1, "b": 2}) == canonical.sha({"b": 2.0, "a": 1})
    assert canonical.sha({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    with pytest.raises(InnkeeperError) as caught:
        canonical.sha(float("nan"))
    assert caught.value.code == "MVU_JSON"
    assert len(canonical.text_sha("\ud800")) == 64


# --- strict JSON -----------------------------------------------------------------------------------------------------

STRICT: list[tuple[bytes | str, Any]] = [
    (b'{"a": [1.0, 1e2, -0, 12345678901234567890, true, null, "\\u00e9"]}',
     {"a": [1, 100, 0, 12345678901234567890.0, True, None, "é"]}),
    ("[]", []),
    (b"[" * 64 + b"]" * 64, None),
    ('"\\ud83d\\ude00"', "😀"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), STRICT)
def test_strict_json(text: bytes | str, value: Any) -> None:
    read = jsontext.loads_strict(text)
    if value is not None:
        assert canonical.ordered_json(read) == canonical.ordered_json(value)


REFUSED: list[tuple[bytes | str, str]] = [
    (b'{"a":1,"a":2}', "MVU_JSON"),
    (b'{"x":{"a":1,"b":2,"a":2}}', "MVU_JSON"),
    (b"[NaN]", "MVU_JSON"),
    (b"[Infinity]", "MVU_JSON"),
    (b"[1e999]", "MVU_JSON"),
    (b'["\\ud800"]', "MVU_JSON"),
    ('["\ud800"]', "MVU_JSON"),
    (b"\xff", "MVU_JSON"),
    (b"", "MVU_JSON"),
    (b"1 2", "MVU_JSON"),
    (b"{a:1}", "MVU_JSON"),
    (b"[1,]", "MVU_JSON"),
    (b"[01]", "MVU_JSON"),
    (b"[" * 100 + b"]" * 100, "MVU_LIMIT"),
    (b"[" * 1_000_000, "MVU_LIMIT"),
    (b'{"a":' * 100_000, "MVU_LIMIT"),
    (b"[" * 2_000 + b"]" * 2_000, "MVU_LIMIT"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED, ids=[str(text[:24]) for text, _ in REFUSED])
def test_strict_json_refuses(text: bytes | str, code: str) -> None:
    with pytest.raises(InnkeeperError) as caught:
        jsontext.loads_strict(text)
    assert caught.value.code == code


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_json_text_out_and_in(value: Any) -> None:
    if "\ud800" not in json.dumps(value, ensure_ascii=False):
        assert json_equal(jsontext.loads_strict(jsontext.dumps(value)), normalise_numbers(value))


@settings(max_examples=100, deadline=None)
@given(st.floats() | st.integers())
def test_numbers_have_one_form(number: float) -> None:
    normal = normal_number(number)
    assert js_number_text(normal) == js_number_text(number)
    assert normal_number(normal) is normal or normal != normal


# --- paths -----------------------------------------------------------------------------------------------------------

PATHS: list[tuple[str, tuple[str, ...] | None]] = [
    ("", ()),
    ("a", ("a",)),
    ("a.b.c", ("a", "b", "c")),
    (" a . b ", (" a ", " b ")),
    ("a[0]", ("a", "0")),
    ("a.[0].b", ("a", "0", "b")),
    ("a[01]", ("a", "01")),
    ("['a.b']", ("a.b",)),
    ('["a"].b', ("a", "b")),
    ("a[ 'x y' ]", ("a", "x y")),
    ("a['it\\'s']", ("a", "it's")),
    ("a['\"']", ("a", '"')),
    ('a["\\u0041\\n"]', ("a", "A\n")),
    ("物品.😀/~", ("物品", "😀/~")),
    ("a..b", None),
    (".a", None),
    ("a.", None),
    ("a[", None),
    ("a]", None),
    ("a[]", None),
    ("a[x]", None),
    ("a[-1]", None),
    ("a[0]b", None),
    ("a['b", None),
    ("a['b'", None),
    ("a['\\x41']", None),
    ("__proto__", None),
    ("a['constructor']", None),
    ("a" * 2001, None),
    ("😀" * 1001, None),
]


@pytest.mark.parametrize(("text", "parts"), PATHS, ids=[text[:20] for text, _ in PATHS])
def test_paths(text: str, parts: tuple[str, ...] | None) -> None:
    if parts is not None:
        assert paths.parse_path(text) == parts
        return
    with pytest.raises(InnkeeperError) as caught:
        paths.parse_path(text)
    assert caught.value.code == "MVU_PATH"


def test_paths_have_at_most_64_parts() -> None:
    assert len(paths.parse_path(".".join("a" * 64))) == 64
    with pytest.raises(InnkeeperError) as caught:
        paths.parse_path(".".join("a" * 65))
    assert caught.value.code == "MVU_LIMIT"


POINTERS: list[tuple[str, tuple[str, ...] | None]] = [
    ("", ()),
    ("/", ("",)),
    ("/a~1b/~0x", ("a/b", "~x")),
    ("/~01", ("~1",)),
    ("//a", ("", "a")),
    ("a", None),
    ("/a~", None),
    ("/a~2", None),
    ("/prototype/x", None),
]


@pytest.mark.parametrize(("text", "parts"), POINTERS)
def test_pointers(text: str, parts: tuple[str, ...] | None) -> None:
    if parts is not None:
        assert paths.parse_pointer(text) == parts
        assert paths.pointer_text(parts) == text
        return
    with pytest.raises(InnkeeperError) as caught:
        paths.parse_pointer(text)
    assert caught.value.code == "MVU_PATH"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab.[]'\"\\ /~\n😀0"), max_size=5), max_size=6))
def test_path_texts_read_as_themselves(parts: list[str]) -> None:
    path = tuple(parts)
    assert paths.parse_path(paths.path_text(path)) == path
    assert paths.parse_pointer(paths.pointer_text(path)) == path


@pytest.mark.parametrize("part", ["-1", "01", "1e3", "+1", "1.0", " 1", "", "９", str(2**53), "length", "1_0", "-"])
def test_no_array_index(part: str) -> None:
    assert paths.array_index(part) is None


def test_array_indexes() -> None:
    assert [paths.array_index(part) for part in ("0", "12", 3, str(2**53 - 1))] == [0, 12, 3, 2**53 - 1]
    assert paths.array_index(-1) is None


# --- copying and changes -----------------------------------------------------------------------------------------------


def test_path_copying_shares_everything_else() -> None:
    root = {"a": {"b": [1, {"c": 2}]}, "other": {}}
    kept = copy.deepcopy(root)
    fresh = copying.set_in(root, ("a", "b", "1", "c"), 3)
    assert fresh == {"a": {"b": [1, {"c": 3}]}, "other": {}}
    assert fresh["other"] is root["other"]
    assert copying.delete_in(root, ("a", "b", "0")) == {"a": {"b": [{"c": 2}]}, "other": {}}
    assert copying.insert_in(root, ("a", "b", "-"), 9) == {"a": {"b": [1, {"c": 2}, 9]}, "other": {}}
    assert copying.get_in(root, ("a", "x")) is copying.MISSING
    assert root == kept
    for path, code in ((("x", "y"), "MVU_PATH_MISSING"), (("a", "b", "9"), "MVU_PATH"), (("a", "b", "x"), "MVU_PATH")):
        with pytest.raises(InnkeeperError) as caught:
            copying.set_in(root, path, 1)
        assert caught.value.code == code


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_changes_turn_before_into_after(before: Any, after: Any) -> None:
    kept = json.dumps(before)
    changes = patch.diff(before, after)
    assert json_equal(patch.apply_changes(before, changes), after)
    assert (changes == []) == json_equal(before, after)
    assert json.dumps(before) == kept
    operations = patch.to_rfc6902(changes)
    expected = jsonpatch.apply_patch({"root": before}, [{**op, "path": "/root" + op["path"]} for op in operations])
    assert json_equal(expected["root"], after)


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_merge_patches(before: Any, after: Any) -> None:
    try:
        merge = patch.to_merge_patch(before, after)
    except InnkeeperError as error:
        assert error.code == "MVU_UNSUPPORTED"
        assert "null" in json.dumps(after)
        return
    assert json_equal(patch.apply_merge_patch(before, merge), after)


@pytest.mark.parametrize(
    ("target", "merge", "result"),
    [  # the examples of RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_application(target: Any, merge: Any, result: Any) -> None:
    assert patch.apply_merge_patch(target, merge) == result


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), ([1], [True], False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (None, False, False), ("1", 1, False), (-0.0, 0, True), ([], {}, False), ({"a": 1}, {"a": 1, "b": 1}, False),
    ],
)  # fmt: skip
def test_equality(left: Any, right: Any, same: bool) -> None:
    assert json_equal(left, right) is same
    assert json_equal(right, left) is same
