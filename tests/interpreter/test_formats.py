"""The string formats: which texts Zod 4.4.3 accepts (recorded probes), and Zod itself where installed."""

import json
from pathlib import Path
from typing import Any

import pytest

from interpreter.formats import FORMAT_NAMES, check_url, domain, http_protocol, predicate, read_url
from interpreter.regex import compile_regex
from tests.interpreter.node import run_node, zod_or_skip

DATA = Path(__file__).parent / "data" / "formats.jsonl"

SCHEMAS: list[tuple[str, str, dict[str, Any]]] = [
    *(
        (f"z.{name}()", name, {})
        for name in ["email", "url", "hostname", "ipv4", "ipv6", "cidrv4", "cidrv6", "base64", "base64url"]
    ),
    *(
        (f"z.{name}()", name, {})
        for name in [
            "guid",
            "nanoid",
            "cuid",
            "cuid2",
            "ulid",
            "xid",
            "ksuid",
            "e164",
            "emoji",
            "jwt",
            "hex",
            "mac",
            "uuid",
        ]
    ),
    *((f"z.string().{name}()", name, {}) for name in ("lowercase", "uppercase")),
    *((f"z.uuid({{version: 'v{number}'}})", "uuid", {"version": f"v{number}"}) for number in range(1, 9)),
    ("z.mac({delimiter: '-'})", "mac", {"delimiter": "-"}),
    ("z.jwt({alg: 'HS256'})", "jwt", {"alg": "HS256"}),
    ("z.iso.date()", "date", {}),
    ("z.iso.time()", "time", {}),
    *((f"z.iso.time({{precision: {digits}}})", "time", {"precision": digits}) for digits in (-1, 0, 1, 3)),
    ("z.iso.datetime()", "datetime", {}),
    ("z.iso.datetime({local: true})", "datetime", {"local": True}),
    ("z.iso.datetime({offset: true})", "datetime", {"offset": True}),
    (
        "z.iso.datetime({offset: true, local: true, precision: 0})",
        "datetime",
        {"offset": True, "local": True, "precision": 0},
    ),
    ("z.iso.datetime({precision: -1})", "datetime", {"precision": -1}),
    ("z.iso.datetime({precision: 3})", "datetime", {"precision": 3}),
    ("z.iso.duration()", "duration", {}),
    *(
        (f"z.hash('{algorithm}', {{enc: '{encoding}'}})", f"{algorithm}_{encoding}", {})
        for algorithm in ("md5", "sha1", "sha256", "sha384", "sha512")
        for encoding in ("hex", "base64", "base64url")
    ),
]

EVALUATE = r"""
const {z} = require('zod');
answer(input.schemas.map(text => {
  const schema = new Function('z', 'return ' + text)(z);
  return input.texts.map(t => schema.safeParse(t).success);
}));
"""


def records() -> tuple[list[str], dict[str, set[str]]]:
    """The probe texts, and for each schema those that Zod accepts."""
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    return rows[-1]["texts"], {row["schema"]: set(row["accepts"]) for row in rows[:-1]}


@pytest.mark.parametrize(("schema", "name", "options"), SCHEMAS, ids=[row[0] for row in SCHEMAS])
def test_accepts_what_zod_accepts(schema: str, name: str, options: dict[str, Any]) -> None:
    texts, accepted = records()
    accepts = predicate(name, options)
    wrong = [text for text in texts if accepts(text) != (text in accepted[schema])]
    assert not wrong, f"{schema}: {wrong!a}"


def test_every_format_is_probed_and_both_accepts_and_refuses() -> None:
    texts, accepted = records()
    assert {name for _, name, _ in SCHEMAS} == FORMAT_NAMES
    assert len(texts) > 1000
    assert [schema for schema, texts_accepted in accepted.items() if not 0 < len(texts_accepted) < len(texts)] == []


@pytest.mark.node
def test_the_record_is_what_zod_says() -> None:
    texts, accepted = records()
    answers = run_node(EVALUATE, {"schemas": list(accepted), "texts": texts}, cwd=zod_or_skip())
    for schema, row in zip(accepted, answers, strict=True):
        assert {text for text, success in zip(texts, row, strict=True) if success} == accepted[schema], schema


@pytest.mark.parametrize(
    ("text", "value", "notes"),
    [
        ("  https://a.bc/x ", "https://a.bc/x", ()),
        ("https:a.bc", "https:a.bc", ("Invalid URL format",)),
        ("HTTP://A.bc", "HTTP://A.bc", ()),
        ("ftp://a.bc", "ftp://a.bc", ("Invalid URL format",)),
        ("http://localhost", "http://localhost", ("Invalid hostname",)),
        ("http://", "http://", (None,)),
    ],
)
def test_http_urls(text: str, value: str, notes: tuple[str | None, ...]) -> None:
    assert check_url(text, http_protocol(), domain()) == (value, notes)


def test_url_options() -> None:
    assert check_url("ftp://X.y", compile_regex("^ws$"), compile_regex("^a")) == (
        "ftp://X.y",
        ("Invalid hostname", "Invalid protocol"),
    )
    assert check_url(" HTTP:a.bc", http_protocol(), normalize=True) == ("http://a.bc/", ())
    assert check_url("nothing", normalize=True) == ("nothing", (None,))
    assert read_url("http://\ud800") is None


@pytest.mark.parametrize("name", sorted(FORMAT_NAMES))
def test_long_texts_cost_no_time(name: str) -> None:
    accepts = predicate(name)
    for text in ("a" * 200_000, "." * 200_000, "1" * 200_000 + "!", "-1" * 100_000, "😀" * 50_000, "P" + "1Y" * 99_999):
        assert accepts(text) in (True, False)


def test_unknown_names_and_versions() -> None:
    with pytest.raises(KeyError):
        predicate("nothing")
    with pytest.raises(ValueError, match="v1 to v8"):
        predicate("uuid", {"version": "v9"})
