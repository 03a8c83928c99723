"""A short run of the fuzzer with every test run."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.checks import check_declaration
from tests.fuzz.inputs import VALUES, declarations


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(declarations(), st.lists(VALUES, min_size=1, max_size=2))
def test_any_declaration_and_value_get_a_lawful_answer(text: str, values: list[Any]) -> None:
    check_declaration(text, values)
