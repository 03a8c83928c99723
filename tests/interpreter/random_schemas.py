"""Random schemas with random values for them: JavaScript text of the supported grammar, values mostly near the schema."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MISSING = object()  # a value that leaves its key out

KEYS = ["a", "b", "甲", "c-d", "1", "10", "e"]
TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    " a ",
    "A",
    "1",
    "-2.5",
    "x1",
    "甲乙",
    "😀",
    "a@b.co",
    "2024-02-29",
    "true",
    "no",
    "第3天",
]
NUMBERS: list[Any] = [0, 1, -1, 2, 3, 5, 7, 10, 0.5, 2.5, -0.1, 0.3, 1e21, 2**53, 2**31, 100, -1000]
SCALARS: list[Any] = [*TEXTS, *NUMBERS, True, False, None]
JUNK: list[Any] = [*SCALARS, [], {}, [1], ["a", None], {"a": 1}, {"x": {"y": []}}, [[1], {"b": 2}]]

TRANSFORMS = [
    "v => v",
    "v => [v]",
    "v => ({ v })",
    "v => typeof v",
    "v => JSON.stringify(v)",
    "v => Array.isArray(v) ? v.length : v",
    "v => _.size(v)",
    "v => v == null ? 0 : v",
    "v => typeof v === 'number' ? _.clamp(v, 0, 5) : v",
    "v => typeof v === 'number' ? Math.round(v * 10) / 10 : v",
    "v => _.isPlainObject(v) ? _.pickBy(v, x => x !== null) : v",
    "v => _.isPlainObject(v) ? Object.fromEntries(Object.entries(v).slice(-1)) : v",
    "v => `${typeof v}!`",
    "(v, ctx) => { if (v === 3) ctx.addIssue({ code: 'custom', message: 'three' }); return v; }",
]
PREDICATES = [
    "v => v !== null",
    "v => typeof v !== 'number' || v > 1",
    "v => _.size(v) < 3",
    "v => !!v",
    "v => JSON.stringify(v) !== '[]'",
    "() => false",
]
REFINE_OPTIONS = ["", ", 'own'", ", { message: 'm', path: ['p', 0] }", ", { error: 'e', abort: true }"]


@dataclass
class Made:
    """A schema's text and how to make a value that it may accept."""

    text: str
    value: Callable[[random.Random], Any]
    kind: str = "any"


class Maker:
    """Makes schemas from one stream of dice."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def pick(self, *options: str) -> str:
        """One of several texts."""
        return self.dice.choice(options)

    def schema(self, depth: int) -> Made:
        """A schema of at most so many levels."""
        containers = [self.object, self.object, self.array, self.tuple, self.record, self.union, self.combined]
        make = self.dice.choice([self.string, self.number, self.leaf, *(containers if depth > 0 else [])])
        made = make(depth)
        for _ in range(self.dice.choice([0, 0, 0, 1, 1, 2])):
            made = self.wrapped(made)
        return made

    # --- leaves ----------------------------------------------------------------------------------------------

    def string(self, depth: int = 0) -> Made:
        """A string with checks."""
        text = self.pick(*["z.string()"] * 5, "z.email()", "z.iso.date()", "z.uuid()", "z.ipv4()", "z.iso.datetime()")
        if text == "z.string()":
            checks = [
                ".min(2)",
                ".max(3)",
                ".length(2)",
                ".nonempty()",
                ".trim()",
                ".toUpperCase()",
                ".regex(/^[a-z]+$/)",
            ]
            checks += [
                ".regex(/\\d/)",
                ".startsWith('a')",
                ".endsWith('b')",
                ".includes('a')",
                ".lowercase()",
                ".email()",
            ]
            checks += [".min(1, 'own')", ".describe('text')", ".regex(/^x/, { abort: true })", ".toLowerCase()"]
            for _ in range(self.dice.choice([0, 0, 1, 2, 3])):
                text += self.dice.choice(checks)
        return Made(text, junked(lambda dice: dice.choice(TEXTS)), "string")

    def number(self, depth: int = 0) -> Made:
        """A number with checks, sometimes coerced."""
        coerced = self.dice.random() < 0.25
        text = "z.coerce.number()" if coerced else self.pick("z.number()", "z.number()", "z.int()", "z.int32()")
        checks = [
            ".min(1)",
            ".max(5)",
            ".gt(0)",
            ".lt(10)",
            ".int()",
            ".positive()",
            ".nonnegative()",
            ".multipleOf(5)",
        ]
        checks += [
            ".multipleOf(0.1)",
            ".negative()",
            ".nonpositive()",
            ".min(2, { message: 'two' })",
            ".lte(7)",
            ".gte(2)",
        ]
        for _ in range(self.dice.choice([0, 0, 1, 2])):
            text += self.dice.choice(checks)
        if coerced:  # containers stay away: refusing to coerce them is a known difference
            return Made(text, lambda dice: dice.choice(SCALARS), "coerced")
        return Made(text, junked(lambda dice: dice.choice(NUMBERS)), "number")

    def leaf(self, depth: int = 0) -> Made:
        """Any other schema without parts."""
        rows: list[tuple[str, list[Any]]] = [
            ("z.boolean()", [True, False]),
            ("z.coerce.boolean()", SCALARS),
            ("z.null()", [None]),
            ("z.undefined()", [MISSING]),
            ("z.any()", JUNK),
            ("z.unknown()", JUNK),
            ("z.never()", JUNK),
            ("z.nan()", NUMBERS),
            ("z.enum(['a', 'ab', '1'])", ["a", "ab", "1"]),
            ("z.enum({ X: 'a', Y: 2 })", ["a", 2, "X"]),
            ("z.literal('a')", ["a"]),
            ("z.literal([1, 'x1', null, true])", [1, "x1", None, True]),
            ("z.stringbool()", ["true", "no", "x"]),
            ("z.stringbool({ truthy: ['a'], falsy: ['b'] })", ["a", "b", "A"]),
            ("z.templateLiteral(['第', z.number(), '天'])", ["第3天", "第x天"]),
            ("z.templateLiteral([z.enum(['a', 'x']), z.int().optional()])", ["a", "x1", "a-2.5"]),
            ("z.custom(v => v !== 1)", JUNK),
            ("z.json()", JUNK),
        ]
        text, values = self.dice.choice(rows)
        return Made(text, junked(lambda dice: dice.choice(values)), "leaf")

    # --- containers ------------------------------------------------------------------------------------------

    def members(self, depth: int, least: int = 0) -> dict[str, Made]:
        """Some keys with schemas."""
        keys = self.dice.sample(KEYS, self.dice.randint(least, 4))
        return {key: self.schema(depth - 1) for key in keys}

    def object(self, depth: int) -> Made:
        """An object in one of its modes, perhaps derived from another."""
        members = self.members(depth)
        shape = object_text(members)
        text = self.pick("z.object", "z.object", "z.object", "z.looseObject", "z.strictObject") + f"({shape})"
        text += self.pick(
            "", "", "", "", ".passthrough()", ".strict()", ".strip()", ".catchall(z.number())", ".loose()"
        )
        if members and self.dice.random() < 0.2:
            first = json.dumps(next(iter(members)), ensure_ascii=False)
            text += self.pick(
                ".partial()",
                f".partial({{ {first}: true }})",
                f".omit({{ {first}: true }})",
                f".pick({{ {first}: true }})",
                f".required({{ {first}: true }})",
                ".extend({ zz: z.string().optional() })",
                f".extend({{ {first}: z.any() }})",
            )
        return Made(text, junked(object_value(members)), "object")

    def array(self, depth: int) -> Made:
        """An array with checks."""
        element = self.schema(depth - 1)
        text = f"z.array({element.text})" + self.pick("", "", "", ".min(1)", ".max(2)", ".length(2)", ".nonempty()")
        return Made(text, junked(lambda dice: present(dice, [element] * dice.randrange(4))), "array")

    def tuple(self, depth: int) -> Made:
        """A tuple, perhaps with a rest."""
        items = [self.schema(depth - 1) for _ in range(self.dice.randrange(4))]
        rest = self.schema(depth - 1) if self.dice.random() < 0.4 else None
        listed = ", ".join(item.text for item in items)
        text = f"z.tuple([{listed}]{', ' + rest.text if rest else ''})"

        def value(dice: random.Random) -> Any:
            extra = [rest or Made("", lambda _: 1)] * dice.choice([0, 0, 1, 2])
            return present(dice, (items + extra)[: dice.choice([9, 9, 9, 1, 0])])

        return Made(text, junked(value), "array")

    def record(self, depth: int) -> Made:
        """A record with free, listed or checked keys."""
        value = self.schema(depth - 1)
        name = self.pick("z.record", "z.record", "z.record", "z.partialRecord", "z.looseRecord")
        key = self.pick(
            "z.string()",
            "z.string()",
            "z.enum(['a', 'b'])",
            "z.string().regex(/^[a-z]/)",
            "z.literal(['a', '1'])",
            "z.string().min(2)",
            "z.number()",
            "z.union([z.literal('a'), z.literal('e')])",
            "z.string().transform(k => k + '!')",
        )
        if name == "z.looseRecord":
            key = self.pick("z.string().regex(/^[a-z]$/)", "z.string()")

        def make(dice: random.Random) -> Any:
            keys = dice.choice([["a", "b"], ["a", "1"], ["a"], ["a", "e"], dice.sample(KEYS, dice.randrange(4))])
            return drop({one: value.value(dice) for one in keys})

        return Made(f"{name}({key}, {value.text})", junked(make), "record")

    def union(self, depth: int) -> Made:
        """A union of one of the three kinds."""
        if self.dice.random() < 0.3:
            return self.discriminated(depth)
        options = [self.uncoerced(depth - 1) for _ in range(self.dice.randint(2, 3))]
        listed = ", ".join(option.text for option in options)
        text = f"{self.pick('z.union', 'z.union', 'z.union', 'z.xor')}([{listed}])"
        return Made(text, junked(lambda dice: dice.choice(options).value(dice)), "union")

    def discriminated(self, depth: int) -> Made:
        """A discriminated union of two objects."""
        sides = [self.members(depth), self.members(depth)]
        texts = []
        for name, members in zip(("'x'", "['y', 2]"), sides, strict=True):
            members.pop("t", None)
            inner = object_text(members)
            texts.append(f"z.object({{ t: z.literal({name}), ...{inner} }})")

        def make(dice: random.Random) -> Any:
            tag, members = dice.choice([("x", sides[0]), ("y", sides[1]), (2, sides[1]), ("q", sides[0])])
            return {"t": tag, **object_value(members)(dice)}

        return Made(f"z.discriminatedUnion('t', [{', '.join(texts)}])", junked(make), "union")

    def combined(self, depth: int) -> Made:
        """An intersection, a recursive schema, or keys of another schema."""
        kind = self.dice.randrange(3)
        if kind == 0:
            left, right = self.object(depth), self.dice.choice([self.object, self.record])(depth)

            def both(dice: random.Random) -> Any:
                one, other = left.value(dice), right.value(dice)
                return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else one

            return Made(self.pick("z.intersection({}, {})", "{}.and({})").format(left.text, right.text), both, "object")
        if kind == 1:
            inner = self.schema(depth - 1)
            return Made(f"z.lazy(() => {inner.text})", inner.value, inner.kind)
        return Made(
            "z.object({ a: z.number(), 'c-d': z.any() }).keyof()", junked(lambda dice: dice.choice(KEYS)), "leaf"
        )

    def uncoerced(self, depth: int) -> Made:
        """A schema without coercion, for places where any value may come."""
        while True:
            made = self.schema(depth)
            if "coerce" not in made.text:
                return made

    # --- wrappers --------------------------------------------------------------------------------------------

    def wrapped(self, made: Made) -> Made:
        """The schema inside one more method."""
        default = json.dumps(self.dice.choice(JUNK if made.kind != "coerced" else SCALARS), ensure_ascii=False)
        fitting = json.dumps(made_value(made, self.dice), ensure_ascii=False)
        simple = [
            ".optional()",
            ".nullable()",
            ".nullish()",
            ".readonly()",
            ".describe('d')",
            ".nonoptional()",
            ".brand()",
        ]
        valued = [
            f".default({default})",
            f".prefault({fitting})",
            f".catch({default})",
            ".prefault(() => (" + fitting + "))",
        ]
        author = [
            f".transform({self.dice.choice(TRANSFORMS)})",
            f".refine({self.dice.choice(PREDICATES)}{self.dice.choice(REFINE_OPTIONS)})",
            ".superRefine((v, ctx) => { if (_.size(v) > 1) ctx.addIssue({ code: 'custom', path: ['q'], message: 's' }); })",
            f".pipe({self.uncoerced(0).text})",
            ".overwrite(v => v)",
        ]
        method = self.dice.choice([self.dice.choice(simple), self.dice.choice(valued), self.dice.choice(author)])
        if method.startswith(".pipe") and made.kind == "coerced":
            method = ".optional()"
        if method.startswith(".catch") and ".catch" in made.text:
            # Zod keeps an issue that an inner catch behind a pipe has swallowed; a known difference
            method = ".nullable()"
        if self.dice.random() < 0.08:
            return Made(f"z.preprocess({self.dice.choice(TRANSFORMS[:8])}, z.any())", made.value, "any")
        if self.dice.random() < 0.05 and made.kind != "coerced":
            return Made(f"z.preprocess(v => v === null ? undefined : v, {made.text})", made.value, made.kind)

        def value(dice: random.Random) -> Any:
            return dice.choice([None, MISSING]) if dice.random() < 0.15 else made.value(dice)

        kind = made.kind if made.kind == "coerced" else "any"
        return Made(made.text + method, value, kind)


def made_value(made: Made, dice: random.Random) -> Any:
    """A value of the schema that is there."""
    value = made.value(dice)
    return None if value is MISSING else value


def junked(value: Callable[[random.Random], Any]) -> Callable[[random.Random], Any]:
    """Sometimes anything in place of a fitting value."""
    return lambda dice: dice.choice(JUNK) if dice.random() < 0.12 else value(dice)


def drop(members: dict[str, Any]) -> dict[str, Any]:
    """The members that are there."""
    return {key: item for key, item in members.items() if item is not MISSING}


def present(dice: random.Random, items: list[Made]) -> list[Any]:
    """Values for the items of an array; nothing can be missing there."""
    return [made_value(item, dice) for item in items]


def object_text(members: dict[str, Made]) -> str:
    """The shape of an object."""
    inner = ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {member.text}" for key, member in members.items())
    return f"{{ {inner} }}"


def object_value(members: dict[str, Made]) -> Callable[[random.Random], dict[str, Any]]:
    """How to make an object with those members, some left out, some extra."""

    def make(dice: random.Random) -> dict[str, Any]:
        found = {key: member.value(dice) for key, member in members.items() if dice.random() > 0.08}
        if dice.random() < 0.2:
            found[dice.choice([*KEYS, "zz"])] = dice.choice(SCALARS)
        keys = list(found)
        if dice.random() < 0.3:
            dice.shuffle(keys)
        return drop({key: found[key] for key in keys})

    return make


def random_cases(seed: int, schemas: int, values: int, depth: int = 3) -> list[tuple[str, list[Any]]]:
    """Schemas with values for each, the same for the same seed."""
    dice = random.Random(seed)
    found = []
    for _ in range(schemas):
        made = Maker(dice).schema(depth)
        found.append((made.text, [made_value(made, dice) for _ in range(values)]))
    return found
