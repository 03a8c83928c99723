"""The scenarios of spec/mvu.md §12 that concern declarations, as a table: one row, one outcome.

``declaration`` is an expression for the root schema, unless it holds ``Schema`` or ``import`` itself. ``outcome`` is
``("ok", value)``, ``("issues", first path or None)``, ``("compile", code)`` or ``("parse", code)``; a code of ``None``
means any code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PINNED = "https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js"


@dataclass(frozen=True)
class Row:
    """One scenario case."""

    number: int
    name: str
    declaration: str
    value: Any
    outcome: tuple[str, Any]
    version: int = 2
    profile: str = "reference"

    @property
    def text(self) -> str:
        """The whole declaration."""
        if "Schema" in self.declaration or "import" in self.declaration:
            return self.declaration
        return f"export const Schema = {self.declaration};"


def pinned(root: str, address: str = PINNED) -> str:
    """A declaration that registers its root through the helper's import."""
    return (
        f"import {{ registerMvuSchema }} from '{address}';\n"
        f"export const Schema = {root};\n$(() => {{ registerMvuSchema(Schema); }});"
    )


CODE, LIMIT, PATH = "MVU_SCHEMA_CODE", "MVU_LIMIT", "MVU_PATH"
FACTORY = """
const makeItem = (mode = 'basic', low = 0) => z.object({
  mode: z.literal(mode).prefault(mode),
  score: z.coerce.number().prefault(3).transform(v => _.clamp(v, low, 100)),
});
const Pro = z.looseObject({ mode: z.literal('pro'), score: z.coerce.number().transform(v => _.clamp(v, 0, 100)) });
const Time = z.string().regex(/^([01]\\d|2[0-3]):[0-5]\\d$/).prefault('08:15');
export const Schema = z.object({ item: z.union([Pro, makeItem()]).prefault({}), time: Time });
"""
COMPOSITE = """
import { registerMvuSchema } from 'PINNED';
const Item = z.object({ score: z.coerce.number().transform(v => _.clamp(v, 0, 100)) })
  .transform(d => ({ ...d, label: d.score >= 50 ? 'high' : 'low' }));
const Player = z.object({ xp: z.coerce.number().prefault(0), level: z.coerce.number().prefault(1) })
  .transform(p => ({ level: 1 + Math.floor(p.xp / 100), xp: p.xp % 100 }));
export const Schema = z.object({
  day: z.coerce.number().int().prefault(1),
  weather: z.enum(['clear', 'rain']).prefault('clear'),
  items: z.record(z.string(), Item).prefault({}),
  player: Player.prefault({}),
  names: z.record(z.enum(['A', 'B']), z.string().nullable().prefault(null)).prefault({ A: null, B: null }),
  bag: z.array(z.string()).prefault([]),
});
$(() => { registerMvuSchema(Schema); });
""".replace("PINNED", PINNED)


def _regex(pattern: str) -> str:
    return f"z.string().regex(/{pattern}/)"


def _refused(number: int, *declarations: str, code: str | None = CODE) -> list[Row]:
    return [Row(number, f"refused-{i}", text, None, ("compile", code)) for i, text in enumerate(declarations)]


ROWS: list[Row] = [
    Row(
        77,
        "transform",
        "z.object({ kind: z.union([z.literal('a'), z.literal('b')]), stats: z.record(z.string(), z.number()), x: z.number() })"
        ".transform(d => ({ ...d, x: _.clamp(Math.floor(d.x + 1), 0, 10) }))",
        {"kind": "a", "stats": {"score": 2}, "x": 9.8},
        ("ok", {"kind": "a", "stats": {"score": 2}, "x": 10}),
    ),
    Row(78, "proto", "z.any().transform(v => v['__' + 'proto__'])", {}, ("parse", PATH)),
    Row(
        81,
        "captured",
        "const shared = { n: 0 }; export const Schema = z.number().transform(v => { shared.n += v; return shared.n; });",
        1,
        ("compile", CODE),
    ),
    Row(82, "max", "z.array(z.number()).max(1)", [1, 2], ("issues", ())),
    Row(83, "data-floor", "z.any().transform(v => v.floor)", {"builtin": "Math", "floor": 7}, ("ok", 7)),
    Row(84, "no-capability", "const Schema = { mvuSchema: 1, kind: 'unsupported' };", None, ("compile", CODE)),
    Row(
        86,
        "ticks",
        "z.object({ ticks: z.number(), hp: z.number() }).transform(d => { d.ticks += 1; return d; })",
        {"ticks": 0, "hp": 9},
        ("ok", {"ticks": 1, "hp": 9}),
    ),
    Row(87, "min", "z.object({ hp: z.number().min(0) })", {"hp": -1}, ("issues", ("hp",))),
    Row(88, "many", "z.array(z.number())", [1] * 10_020, ("parse", LIMIT)),
    Row(
        95,
        "alias",
        "const a = { n: 1 }; export const Schema = z.number().transform(v => { const b = a; b.n = v; return b.n; });",
        1,
        ("parse", CODE),
    ),
    Row(
        96,
        "own-object",
        "z.number().transform(v => { const box = { n: v }; box.n += 1; return box.n; })",
        1,
        ("ok", 2),
    ),
    Row(
        97,
        "inner-block",
        "z.any().transform(v => { const x = 1; if (true) { const x = 2; } return x; })",
        0,
        ("ok", 1),
    ),
    Row(
        98,
        "nullish",
        "z.object({ n: z.number().optional() }).transform(v => ({ n: v.n ?? 0 }))",
        {},
        ("ok", {"n": 0}),
    ),
    Row(99, "null", "z.number().nullable().transform(v => v === null ? 0 : v)", None, ("ok", 0)),
    Row(100, "tighter-min", "z.number().min(5).min(2)", 3, ("issues", ())),
    Row(100, "tighter-max", "z.number().max(2).max(5)", 3, ("issues", ())),
    Row(
        101,
        "key-prefix",
        "z.record(z.string().transform(k => 'prefix_' + k), z.number())",
        {"a": 1},
        ("ok", {"prefix_a": 1}),
    ),
    Row(102, "infinite", "z.string().transform(s => +s > 0 ? 1 : 0)", "1e400", ("parse", LIMIT)),
    Row(
        103,
        "doubling",
        "z.any().transform(v => { "
        + "".join(f"const d{i + 1} = {{ a: d{i}, b: d{i} }}; " for i in range(11)).replace("d0", "v")
        + "return d11; })",
        {"k" * 2048: 1},
        ("parse", LIMIT),
    ),
    Row(117, "plus", "z.any().transform(v => +[[[v, v], [v, v]]])", 1, ("parse", None)),
    Row(117, "key", "z.any().transform(v => v[[v, [v]]])", {"a": 1}, ("parse", None)),
    Row(117, "min-array", "z.any().transform(v => Math.min([v, v]))", 1, ("parse", None)),
    Row(117, "max-array", "z.any().transform(v => Math.max([v, v]))", 1, ("parse", None)),
    *_refused(117, "z.any().transform(v => false ? fetch('x') : v)"),
    *_refused(117, "export const Schema = z.any(); process.exit();"),
    Row(
        120,
        "factory",
        FACTORY,
        {},
        ("ok", {"item": {"mode": "basic", "score": 3}, "time": "08:15"}),
    ),
    Row(
        120,
        "factory-pro",
        FACTORY,
        {"item": {"mode": "pro", "extra": 9, "score": "-2.5"}},
        ("ok", {"item": {"mode": "pro", "score": 0, "extra": 9}, "time": "08:15"}),
    ),
    Row(121, "strict", "z.object({ n: z.number() }).strict()", {"n": 1, "x": 2}, ("issues", ())),
    Row(
        121,
        "strip",
        "z.object({ n: z.object({ a: z.number() }) })",
        {"n": {"a": 1, "b": 2}, "x": 2},
        ("ok", {"n": {"a": 1}}),
    ),
    Row(
        121,
        "last-wins",
        "z.object({ n: z.number() }).strict().passthrough().strip()",
        {"n": 1, "x": 2},
        ("ok", {"n": 1}),
    ),
    Row(122, "no-parameter", "z.number().superRefine(() => undefined)", 1, ("ok", 1)),
    Row(122, "one-parameter", "z.number().superRefine(v => undefined)", 1, ("ok", 1)),
    Row(122, "earlier-parameter", "z.number().transform((v, w = v) => w)", 1, ("ok", 1)),
    Row(122, "later-parameter", "z.any().transform((v, f = () => g, g = 1) => f())", 0, ("ok", 1)),
    Row(
        122,
        "hoisted",
        "export const Schema = z.any().transform(v => seven); const seven = 7;",
        0,
        ("ok", 7),
    ),
    Row(122, "self-default", "z.any().transform((v, w = w) => w)", 0, ("parse", CODE)),
    Row(122, "forward-default", "z.any().transform((v, a = b, b = 1) => a)", 0, ("parse", CODE)),
    Row(
        123,
        "issue-path",
        "z.looseObject({ mode: z.string() }).superRefine((d, ctx) => { if (d.mode === 'basic' && d.extra !== undefined) "
        "ctx.addIssue({ code: 'custom', path: ['extra'], message: 'no' }); })",
        {"mode": "basic", "extra": 1},
        ("issues", ("extra",)),
    ),
    Row(123, "assign", "z.object({ n: z.number() }).superRefine(d => { d.n = 2; })", {"n": 1}, ("parse", CODE)),
    Row(
        123,
        "unsafe-path",
        "z.any().superRefine((d, ctx) => { ctx.addIssue({ path: ['__' + 'proto__'] }); })",
        1,
        ("parse", PATH),
    ),
    Row(123, "unknown-key", "z.any().superRefine((d, ctx) => { ctx.addIssue({ fatal: true }); })", 1, ("parse", CODE)),
    Row(123, "optional", "z.object({ n: z.number().superRefine(v => undefined).optional() })", {}, ("ok", {})),
    Row(
        123,
        "early-return",
        "z.number().superRefine((v, ctx) => { if (v > 0) return; ctx.addIssue({}); })",
        1,
        ("ok", 1),
    ),
    Row(
        123,
        "early-return-not",
        "z.number().superRefine((v, ctx) => { if (v > 0) return; ctx.addIssue({}); })",
        0,
        ("issues", ()),
    ),
    Row(124, "chain", "z.any().transform(v => v?.a.b ?? 0)", None, ("ok", 0)),
    Row(124, "chain-key", "z.any().transform(v => v?.[v.missing.bad] ?? 0)", None, ("ok", 0)),
    Row(124, "chain-missing", "z.any().transform(v => v?.a.b)", {}, ("parse", CODE)),
    Row(124, "chain-proto", "z.any().transform(v => v?.['__' + 'proto__'])", {}, ("parse", PATH)),
    *[
        Row(125, f"accepts-{text}", _regex("^(ab|c){1,2}[0-9]?$"), text, ("ok", text))
        for text in ("ab", "c", "abc", "cc9")
    ],
    *[
        Row(125, f"rejects-{text}", _regex("^(ab|c){1,2}[0-9]?$"), text, ("issues", ()))
        for text in ("", "ababc", "abx", "cc99")
    ],
    *[
        Row(125, f"time-{text}", _regex("^([01]\\d|2[0-3]):[0-5]\\d$"), text, ("issues", ()))
        for text in ("24:00", "2:00", "12:60", "12:00x")
    ],
    *_refused(
        126,
        *[
            _regex(pattern)
            for pattern in ("^(a+)+$", "^a*$", "^(a)\\1$", "^(?=a)a$", "a$", "^a", "^a{65}$", "^a.b$", "^a|b$")
        ],
        "z.string().regex(/^a$/i)",
        "z.string().regex({ source: 'a' })",
    ),
    *_refused(126, _regex("^((((a{64}){64})))$"), code=LIMIT),
    Row(126, "work", f"z.array({_regex('^a{64}$')})", ["a" * 64] * 100, ("parse", LIMIT)),
    Row(
        127,
        "copied-patterns",
        "const build = () => { const shape = {}; for (const i of ["
        + ",".join(str(i) for i in range(200))
        + "]) { shape['k' + i] = z.string().regex(/^((a{32}){32})$/); } return z.object(shape); };"
        " export const Schema = build();",
        {},
        ("compile", LIMIT),
    ),
    Row(
        128,
        "parameters",
        "const f = (" + ",".join(f"p{i}" for i in range(100)) + ") => p0; "
        "export const Schema = z.any().transform(v => { for (const i of v) { f("
        + ",".join("1" for _ in range(100))
        + "); } return 1; });",
        [0] * 100,
        ("parse", LIMIT),
    ),
    Row(
        128,
        "constants",
        "".join(f"const c{i} = {i}; " for i in range(100))
        + "export const Schema = z.any().transform(v => { for (const i of v) { const x = i; } return 1; });",
        [0] * 100,
        ("parse", LIMIT),
    ),
    Row(
        129,
        "loop",
        "z.array(z.number()).superRefine((d, ctx) => { for (const x of d) { if (x < 0) { ctx.addIssue({}); } } })",
        [1, 2],
        ("ok", [1, 2]),
    ),
    Row(
        129,
        "loop-issue",
        "z.array(z.number()).superRefine((d, ctx) => { for (const x of d) { if (x < 0) { ctx.addIssue({}); } } })",
        [-1],
        ("issues", ()),
    ),
    Row(
        129,
        "loop-long",
        "z.array(z.number()).superRefine((d, ctx) => { for (const x of d) { } })",
        [1] * 1001,
        ("parse", LIMIT),
    ),
    *_refused(
        129,
        "z.any().transform(v => { for (;;) { } })",
        "z.any().transform(v => { while (true) { } })",
        "z.any().transform(v => { for (const k in v) { } })",
        "z.any().transform(v => { for (let x of v) { } })",
        "z.any().transform(v => { for (const v of v) { } })",
    ),
    Row(130, "read-body", "z.any().transform(v => { const f = () => 1; return f.body; })", 1, ("parse", CODE)),
    Row(130, "read-env", "z.any().transform(v => { const f = () => 1; return f.env; })", 1, ("parse", CODE)),
    Row(130, "spread", "z.any().transform(v => { const f = () => 1; return { ...f }; })", 1, ("parse", CODE)),
    Row(130, "return-function", "z.any().transform(v => () => 1)", 1, ("parse", CODE)),
    Row(130, "return-regex", "z.any().transform(v => /^a$/)", 1, ("parse", CODE)),
    Row(130, "return-schema", "z.any().transform(v => z.number())", 1, ("parse", CODE)),
    *_refused(
        130,
        "const Object = { prototype: 1 }; export const Schema = z.any().transform(v => Object.prototype.hasOwnProperty.call(v, 'a'));",
    ),
    *_refused(
        131,
        "z.any().transform(function (v) { return this; })",
        "z.any().transform(function (v) { return arguments; })",
        "z.any().transform(v => globalThis)",
        "z.any().transform(v => fetch(v))",
        "z.any().transform(v => new Date())",
        "z.any().transform(v => Object.prototype)",
        "z.any().transform(async v => v)",
        "z.any().transform(function* (v) { return v; })",
        "z.any().transform((...v) => v)",
        "z.any().transform(({ a }) => a)",
        "z.any().transform((v, w = f()) => w)",
        "import { registerMvuSchema } from '" + PINNED + "'; export const Schema = z.any(); "
        "$(() => { registerMvuSchema(Schema); registerMvuSchema(Schema); });",
    ),
    Row(
        131,
        "own-constructor",
        "z.any().transform(v => Object.prototype.hasOwnProperty.call(v, 'constructor'))",
        {},
        ("parse", None),
    ),
    Row(
        131,
        "captured-factory",
        "const make = () => { const box = { n: 0 }; return z.number().transform(v => { const b = box; b.n = v; return b.n; }); };"
        " export const Schema = make();",
        1,
        ("parse", CODE),
    ),
    Row(
        131,
        "recursion",
        "const loop = v => loop(v); export const Schema = z.any().transform(v => loop(v));",
        1,
        ("parse", LIMIT),
    ),
    Row(
        135,
        "composite",
        COMPOSITE,
        {"items": {"a": {"score": "150"}}, "player": {"xp": 230}},
        (
            "ok",
            {
                "day": 1,
                "weather": "clear",
                "items": {"a": {"score": 100, "label": "high"}},
                "player": {"level": 3, "xp": 30},
                "names": {"A": None, "B": None},
                "bag": [],
            },
        ),
    ),
    Row(135, "weather", COMPOSITE, {"weather": "unknown"}, ("issues", ("weather",))),
    Row(
        135,
        "score",
        COMPOSITE,
        {"items": {"a": {"score": -1}}, "player": {"xp": 110, "level": 3}},
        (
            "ok",
            {
                "day": 1,
                "weather": "clear",
                "items": {"a": {"score": 0, "label": "low"}},
                "player": {"level": 2, "xp": 10},
                "names": {"A": None, "B": None},
                "bag": [],
            },
        ),
    ),
    *_refused(
        136,
        "import fs from 'node:fs'; export const Schema = z.any();",
        "process.exit()",
        "z.any().transform(v => globalThis.x)",
        "z.any().transform(v => { while (v) { } return v; })",
        "z.object({ __proto__: z.any() })",
    ),
    Row(
        234,
        "pinned",
        pinned("z.strictObject({ in: z.strictObject({ a: z.number() }) })"),
        {"in": {"a": 1}, "extra": 2},
        ("ok", {"in": {"a": 1}, "extra": 2}),
    ),
    Row(
        234,
        "pinned-nested",
        pinned("z.strictObject({ in: z.strictObject({ a: z.number() }) })"),
        {"in": {"a": 1, "b": 2}},
        ("issues", ("in",)),
    ),
    Row(
        235,
        "refined",
        pinned("z.object({ a: z.number() }).superRefine((d, ctx) => { ctx.addIssue({}); })"),
        {"a": 1, "extra": 2},
        ("ok", {"a": 1, "extra": 2}),
    ),
    *[
        Row(235, name, pinned(f"z.object({{ a: z.number() }}).strict(){end}"), {"a": 1, "extra": 2}, ("issues", ()))
        for name, end in (
            ("transform", ".transform(d => d)"),
            ("prefault", ".prefault({ a: 1 })"),
            ("optional", ".optional()"),
        )
    ],
    Row(235, "array", pinned("z.array(z.number())"), [1], ("ok", [1])),
    Row(235, "record", pinned("z.record(z.enum(['a']), z.number())"), {"a": 1, "b": 2}, ("issues", ())),
    Row(236, "query", pinned("z.any()", PINNED + "?v=1"), None, ("compile", CODE)),
    Row(
        236,
        "other-address",
        pinned("z.strictObject({ a: z.number() })", "https://example.org/x/mvu_zod.js"),
        {"a": 1, "extra": 2},
        ("issues", ()),
    ),
    Row(236, "unregistered", "z.strictObject({ a: z.number() })", {"a": 1, "extra": 2}, ("issues", ())),
    Row(237, "loose", "z.looseObject({ a: z.number() })", {"a": 1, "b": 2}, ("ok", {"a": 1, "b": 2})),
    Row(237, "strip", "z.object({ a: z.number() })", {"a": 1, "b": 2}, ("ok", {"a": 1})),
    Row(237, "strict", "z.strictObject({ a: z.number() })", {"a": 1, "b": 2}, ("issues", ())),
    Row(
        243,
        "second-argument",
        "z.object({ a: z.number() }, { strict: true })",
        {"a": 1, "b": 2},
        ("ok", {"a": 1}),
        version=1,
    ),
    Row(
        243,
        "strict-pinned",
        pinned("z.object({ a: z.number() }).strict()"),
        {"a": 1, "extra": 2},
        ("issues", ()),
        version=1,
    ),
    Row(243, "no-loose", "z.looseObject({ a: z.number() })", None, ("compile", CODE), version=1),
]
