"""JSON values for properties."""

from __future__ import annotations

from hypothesis import strategies as st

TEXT = st.text(st.sampled_from('ab"\\\n\t/~.é中😀\ud800\x7f '), max_size=5)
NUMBERS = (
    st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, -0.0, 1.0, 1e21, 1e20, 1e-7, 5e-324, 2**53, 2**60, 120.5])
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
