"""Random schemas out of the supported grammar, and random values that nearly fit them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

TEXTS = ["", "a", "abc", " x ", "12", "-3.5", "1e3", "true", "晴", "甲乙丙", "😀", "2024-01-05", "a@b.co", "null"]
NUMBERS: list[Any] = [0, 1, -1, 5, 3.5, -0.5, 100, 1e21, 2**53, 0.1]
KEYS = ["a", "b", "名", "x1", "7", "10"]


class Schemas:
    """Writes schema expressions; ``depth`` bounds the nesting."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def schema(self, depth: int) -> str:
        """A random schema expression."""
        random = self.random
        kinds: list[Callable[[int], str]] = [
            self.string,
            self.number,
            self.boolean,
            self.choice,
            self.literal,
            self.anything,
        ]
        if depth > 0:
            kinds += [self.object, self.object, self.record, self.array, self.tuple, self.union, self.intersection]
            kinds += [self.discriminated, self.preprocess]
        base = random.choice(kinds)(depth - 1)
        for _ in range(random.choice([0, 0, 1, 1, 2])):
            base = self.wrap(base)
        return base

    def string(self, _depth: int) -> str:
        """A string schema with checks."""
        checks = [
            "", "", ".min(2)", ".max(3)", ".length(2)", ".trim()", ".nonempty()", ".regex(/^[a-z]+$/)", ".startsWith('a')",
            ".includes('b')", ".toUpperCase()", ".email()", ".min(2, 'short')", ".lowercase()", ".date()",
        ]  # fmt: skip
        start = self.random.choice(["z.string()", "z.string()", "z.coerce.string()"])
        return start + "".join(self.random.choice(checks) for _ in range(2))

    def number(self, _depth: int) -> str:
        """A number schema with checks."""
        checks = [
            "",
            "",
            ".min(1)",
            ".max(4)",
            ".int()",
            ".positive()",
            ".multipleOf(0.5)",
            ".gt(0)",
            ".lt(10)",
            ".safe()",
        ]
        start = self.random.choice(["z.number()", "z.coerce.number()", "z.int()"])
        return start + "".join(self.random.choice(checks) for _ in range(2))

    def boolean(self, _depth: int) -> str:
        """A boolean schema."""
        return self.random.choice(["z.boolean()", "z.coerce.boolean()", "z.stringbool()"])

    def choice(self, _depth: int) -> str:
        """An enum."""
        return self.random.choice(["z.enum(['a', 'abc', '晴'])", "z.enum({ A: 'a', B: 1 })", "z.enum(['x'])"])

    def literal(self, _depth: int) -> str:
        """A literal."""
        return self.random.choice(
            ["z.literal('a')", "z.literal(1)", "z.literal([1, 'a', null])", "z.literal(true)", "z.null()"]
        )

    def anything(self, _depth: int) -> str:
        """A schema without demands, or with impossible ones."""
        return self.random.choice(["z.any()", "z.unknown()", "z.any()", "z.never()", "z.undefined()", "z.nan()"])

    def object(self, depth: int) -> str:
        """An object in one of its modes."""
        keys = self.random.sample(KEYS, self.random.randint(0, 4))
        fields = ", ".join(f"'{key}': {self.schema(depth)}" for key in keys)
        maker = self.random.choice(["z.object", "z.object", "z.looseObject", "z.strictObject"])
        end = self.random.choice(["", "", "", ".partial()", ".catchall(z.number())", ".strict()", ".required()"])
        return f"{maker}({{ {fields} }}){end}"

    def record(self, depth: int) -> str:
        """A record."""
        key = self.random.choice(["z.string()", "z.string()", "z.enum(['a', 'b'])", "z.string().min(2)", "z.any()"])
        maker = self.random.choice(["z.record", "z.record", "z.record", "z.partialRecord"])
        return f"{maker}({key}, {self.schema(depth)})"

    def array(self, depth: int) -> str:
        """An array."""
        return f"z.array({self.schema(depth)})" + self.random.choice(
            ["", "", ".min(1)", ".max(2)", ".length(2)", ".nonempty()"]
        )

    def tuple(self, depth: int) -> str:
        """A tuple, perhaps with a rest."""
        items = ", ".join(self.schema(depth) for _ in range(self.random.randint(0, 3)))
        return f"z.tuple([{items}]" + self.random.choice(["", "", f", {self.schema(depth)}"]) + ")"

    def union(self, depth: int) -> str:
        """A union."""
        options = ", ".join(self.schema(depth) for _ in range(self.random.randint(1, 3)))
        return f"z.{self.random.choice(['union', 'union', 'union', 'xor'])}([{options}])"

    def intersection(self, depth: int) -> str:
        """An intersection of objects."""
        return f"z.intersection({self.object(depth)}, {self.random.choice([self.object, self.record])(depth)})"

    def discriminated(self, depth: int) -> str:
        """A discriminated union."""
        one = f"z.object({{ a: z.literal('a'), b: {self.schema(depth)} }})"
        other = f"z.object({{ a: z.enum(['abc', '12']), 名: {self.schema(depth)} }})"
        return f"z.discriminatedUnion('a', [{one}, {other}])"

    def preprocess(self, depth: int) -> str:
        """A preprocess."""
        function = self.random.choice(
            ["v => v ?? 5", "v => typeof v === 'string' ? v.split(',') : v", "v => [v]", "v => v"]
        )
        return f"z.preprocess({function}, {self.schema(depth)})"

    def wrap(self, base: str) -> str:
        """The schema inside a wrapper."""
        value = self.random.choice(["1", "'a'", "null", "{}", "[]", "{ a: 1 }", "true"])
        ends = [
            ".optional()", ".nullable()", ".nullish()", f".default({value})", f".prefault({value})", f".catch({value})",
            f".prefault(() => ({value}))", ".describe('d')", ".readonly()", ".refine(v => v !== 'a')", ".nonoptional()",
            ".refine(v => !!v, { message: 'm', path: ['p'] })", ".transform(v => v)", ".transform(v => [v])",
            ".transform(v => typeof v === 'number' ? v + 1 : v)", ".or(z.literal('a'))", ".superRefine((v, ctx) => {"
            " if (typeof v === 'string') ctx.addIssue({ code: 'custom', message: 's', path: ['q'] }); })",
            ".pipe(z.any())", ".transform(v => v ?? 'none')", ".array()", ".exactOptional()",
        ]  # fmt: skip
        return base + self.random.choice(ends)


class Values:
    """Writes random JSON values."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def value(self, depth: int) -> Any:
        """A random JSON value."""
        random = self.random
        kind = random.choice(["text", "number", "null", "bool", "object", "object", "object", "array", "array"])
        if kind == "text" or (depth <= 0 and kind in ("object", "array")):
            return random.choice(TEXTS)
        if kind == "number":
            return random.choice(NUMBERS)
        if kind == "null":
            return None
        if kind == "bool":
            return random.random() < 0.5
        if kind == "array":
            return [self.value(depth - 1) for _ in range(random.randint(0, 3))]
        keys = sorted(
            random.sample(KEYS, random.randint(0, 4)), key=lambda key: (not key.isdigit(), key.isdigit() and int(key))
        )
        return {key: self.value(depth - 1) for key in keys}
