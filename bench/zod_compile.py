"""Compiling declarations of the magnitudes that real ones have (spec/zod.md §7): cold, generated parser, cached.

``python bench/zod_compile.py`` prints one line per size; the status is 1 where a goal is missed.
"""

from __future__ import annotations

import sys
import time

from interpreter import CompiledSchema, clear_cache, compile_declaration

# name -> (groups, fields in each, transforms, entries of a record in each group): small, typical, large, extreme.
SIZES = {"small": (2, 8, 4), "typical": (8, 9, 10), "large": (28, 10, 30), "extreme": (70, 10, 100)}
GOALS = {"extreme": 1.0}
CACHED_GOAL_US = 50.0
FIRST_LINE = "import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';"


def declaration(groups: int, fields: int, transforms: int) -> str:
    """An original declaration with groups of fields, nested a few levels deep."""
    lines = [
        FIRST_LINE,
        "const 百分 = (初, 低 = 0, 高 = 100) => z.coerce.number().transform(v => _.clamp(v, 低, 高)).prefault(初);",
    ]
    left = transforms
    names = []
    for group in range(groups):
        parts = []
        for index in range(fields):
            name = f"字段{group}_{index}"
            if left > 0 and index % 3 == 0:
                left -= 1
                parts.append(
                    f"    {name}: z.coerce.number().transform(v => Math.max(0, Math.round(v))).prefault({index}),"
                )
            elif index % 3 == 1:
                parts.append(f"    {name}: z.string().prefault('初始的文字{index}').describe('第{index}个字段的说明'),")
            elif index % 5 == 0:
                parts.append(f"    {name}: 百分({index}),")
            else:
                parts.append(f"    {name}: z.enum(['晴', '雨', '雪', '雾']).prefault('晴'),")
        body = "\n".join(parts)
        names.append(f"组{group}")
        lines.append(
            f"const 组{group} = z.object({{\n{body}\n    记录: z.record(z.string(), z.object({{ 量: 百分(1), 备注: z.string().optional() }}))"
            ".prefault({}),\n}).prefault({});"
        )
    shape = ",\n".join(f"  {name}: z.object({{ 内: {name} }}).prefault({{}})" for name in names)
    lines.append(f"export const Schema = z.object({{\n{shape}\n}});\n$(() => {{ registerMvuSchema(Schema); }});")
    return "\n".join(lines)


def timed(text: str) -> tuple[float, CompiledSchema]:
    """Seconds of one cold compile."""
    clear_cache()
    start = time.perf_counter()
    schema = compile_declaration(text)
    return time.perf_counter() - start, schema


def main() -> int:
    """Print the figures."""
    missed = 0
    for name, size in SIZES.items():
        text = declaration(*size)
        cold, schema = min((timed(text) for _ in range(3)), key=lambda pair: pair[0])
        schema.parse({})
        start = time.perf_counter()
        schema.parse({})
        generated = time.perf_counter() - start
        start = time.perf_counter()
        for _ in range(200):
            compile_declaration(text)
        cached = (time.perf_counter() - start) / 200 * 1e6
        missed += cold > GOALS.get(name, 10.0) or cached > CACHED_GOAL_US
        print(
            f"{name}: {len(text)} characters, version {schema.version}, cold {cold * 1000:.1f} ms, "
            f"first generated parse {generated * 1000:.1f} ms, cached {cached:.1f} us"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
