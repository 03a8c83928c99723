"""Hostile and accidental input: packs, documents and texts of any shape are judged, never crash, never half apply."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.values.rows import InnkeeperError
from runtime.world.canon import compile_canon
from runtime.world.formula import FormulaError, evaluate_formula, parse_formula
from runtime.world.host.act import run_command_text, run_tool
from runtime.world.host.context import context_block
from runtime.world.host.message import run_message
from runtime.world.kernel import WorldKernel
from runtime.world.opening import opening_state
from runtime.world.pack.load import load_pack
from runtime.world.pack.validate import validate
from runtime.world.pack.yaml_source import YamlError, parse_yaml
from tests.world.support import DOCUMENT, FERRY, canon, files_of, line_of

_WORDS = (
    "id title meta checks condition all any tag present eq lt inputs formula outcomes success apply facts.a scene opening "
    "places edges need beats stats guarded tags bounds claims lore body characters index loreBudgetChars rng fact_schema"
)
_NAMES = st.sampled_from(_WORDS.split())
_LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ("", "p = 1", "p = (", "+1", "mobility>=1", "$a", "{a}", "characters.{a}.x", "eq(a,b)", "d20", ".", "..")
    ),
    st.text(max_size=6),
)
_JSON = st.recursive(
    _LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=4)),
    max_leaves=20,
)


def replaced(document: Any, path: list[int], value: Any) -> Any:
    """A copy with the node that ``path`` leads to replaced: mutation of a pack that works."""
    root = copy.deepcopy(document)
    node: Any = root
    for step in path:
        keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
        if not keys:
            break
        key = keys[step % len(keys)]
        if not isinstance(node[key], (dict, list)) or step % 7 == 0:
            node[key] = value
            break
        node = node[key]
    return root


def use(document: dict[str, Any]) -> None:
    """Judge a document, and play with whatever came of it."""
    for finding in validate(document):
        assert finding.message
    chosen = compile_canon(document)
    state = opening_state(chosen, "s")
    kernel = WorldKernel(chosen)
    kernel.match(state, ["contest", "a"], {"a": "ada"})
    for check_id in chosen.checks:
        result = kernel.turn(state, {"type": "check", "checkId": check_id, "actors": {}})
        assert result.ok or result.state is state
    context_block(chosen, state)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), _JSON)
def test_a_pack_with_one_thing_wrong(path: list[int], value: Any) -> None:
    use(replaced(DOCUMENT, path, value))


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(_NAMES, _JSON, max_size=5))
def test_a_document_of_any_shape(document: dict[str, Any]) -> None:
    use(document)


_FILES = files_of(FERRY)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(_FILES)), st.integers(0, 2000), st.integers(0, 40), st.text(max_size=12))
def test_a_file_with_a_scratch(name: str, at: int, length: int, text: str) -> None:
    content = _FILES[name]
    at %= len(content) + 1
    files = {**_FILES, name: content[:at] + text + content[at + length :]}
    loaded = load_pack(files)
    for finding in loaded.findings:
        assert finding.message
        assert finding.place.line is None or finding.place.line >= 1
    if loaded.ok:
        assert loaded.canon is not None
        json.dumps(opening_state(loaded.canon, "s"))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_as_yaml_formula_command_and_speech(text: str) -> None:
    try:
        json.dumps(parse_yaml(text).value)
    except YamlError as error:
        assert error.message
    try:
        p = evaluate_formula(parse_formula(text, ("a",)), {"a": 1}).p
        assert 0 <= p <= 1
    except FormulaError as error:
        assert error.line >= 1
    line = line_of(canon())
    assert "ok" in run_command_text(line, text).body
    assert "ok" in run_command_text(line, f"/gm {text}").body
    run_message(line, text)


_FORMULA = st.lists(
    st.sampled_from(
        ("p", "a", "=", "+", "-", "*", "/", "(", ")", ",", "0.5", "2", "if", ":", "clamp", "min", "\n", " ", "#")
    ),
    max_size=25,
).map("".join)


@settings(max_examples=200, deadline=None)
@given(_FORMULA, st.floats(allow_nan=False))
def test_formulas_of_any_tokens_give_a_chance_or_a_place(text: str, value: float) -> None:
    try:
        p = evaluate_formula(parse_formula(text, ("a",)), {"a": value}).p
        assert 0 <= p <= 1
    except FormulaError as error:
        assert error.column >= 1


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(
        ("lore_get", "state_read", "check_match", "check_propose", "state_propose_fact", "pack_validate", "x")
    ),
    st.dictionaries(
        st.sampled_from(("key", "pointer", "value", "tags", "actors", "checkId", "patch")), _JSON, max_size=5
    ),
)
def test_tool_calls_of_any_shape(name: str, arguments: dict[str, Any]) -> None:
    line = line_of(canon())
    try:
        answer = run_tool(line, name, arguments)
    except InnkeeperError as error:
        assert error.code in ("WORLD_INTENT", "WORLD_LIMIT")
    else:
        assert "ok" in answer.body
        line.after(answer.events)
