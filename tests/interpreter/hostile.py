"""Hostile declarations: each is refused, stopped, or answers in bounded time; the process stays alive.

``text`` is the whole declaration, ``value`` what it is applied to. Long texts are written by the rows.
"""

from __future__ import annotations

from typing import Any

N = 100_000


def _wrap(body: str) -> str:
    return f"export const Schema = {body};"


def _transform(body: str) -> str:
    return _wrap(f"z.any().transform(v => {{ {body} }})")


HOSTILE: dict[str, tuple[str, Any]] = {
    "brackets": (_wrap("z.any().default(" + "[" * 50_000 + "]" * 50_000 + ")"), None),
    "parentheses": (_wrap("(" * 60_000 + "z.any()" + ")" * 60_000), None),
    "braces": (_wrap("z.any().default(" + "{a:" * 30_000 + "1" + "}" * 30_000 + ")"), None),
    "nested-objects": (_wrap("z.object({a:" * 5_000 + "z.any()" + "})" * 5_000), None),
    "long-chain": (_wrap("z.string()" + ".optional()" * 10_000), None),
    "long-or": (_wrap("z.string()" + ".or(z.string())" * 5_000), None),
    "long-plus": (_transform("return " + "+".join(["1"] * 20_000)), 1),
    "many-parameters": (_transform("const f = (" + ",".join(f"p{i}" for i in range(8_000)) + ") => 1; return f();"), 1),
    "many-arguments": (_transform("return Math.max(" + ",".join("1" * 1 for _ in range(20_000)) + ")"), 1),
    "ternaries": (_transform("return " + "v?1:" * 5_000 + "0"), 1),
    "arrow-nest": (_wrap("z.any().transform(" + "x=>" * 5_000 + "1)"), 1),
    "spread-doubling": (_transform("let a = [1]; for (let i = 0; i < 60; i++) a = [...a, ...a]; return a.length;"), 1),
    "object-doubling": (_transform("let a = {x: 1}; for (let i = 0; i < 200; i++) a = {l: a, r: a}; return a;"), 1),
    "string-doubling": (_transform("let s = 'x'; for (let i = 0; i < 200; i++) s = s + s; return s;"), 1),
    "template-doubling": (_transform("let s = 'x'; for (let i = 0; i < 200; i++) s = `${s}${s}`; return s;"), 1),
    "repeat": (_transform("return 'x'.repeat(1e9);"), 1),
    "pad": (_transform("return 'x'.padStart(2 ** 40);"), 1),
    "join-doubling": (_transform("let s = 'x'; for (let i = 0; i < 90; i++) s = [s, s].join(s); return s;"), 1),
    "replace-doubling": (
        _transform("let s = 'x'; for (let i = 0; i < 90; i++) s = s.replace(/x/g, 'xx'); return s;"),
        1,
    ),
    "endless-for": (_transform("for (;;) { }"), 1),
    "endless-while": (_transform("while (true) { }"), 1),
    "endless-do": (_transform("do { } while (1);"), 1),
    "endless-label": (_transform("a: while (true) { continue a; }"), 1),
    "endless-for-of": (_transform("const a = [1]; for (const x of a) a.push(x); return a.length;"), 1),
    "endless-in-getter": (_wrap("z.object({ get a() { while (true) {} } })"), None),
    "endless-at-build": ("let n = 0; while (true) { n++; } export const Schema = z.any().default(n);", None),
    "recursion": (_transform("const f = () => f(); return f();"), 1),
    "mutual-recursion": (_transform("const f = n => g(n + 1), g = n => f(n); return f(0);"), 1),
    "recursion-in-map": (_transform("const f = a => [1].map(() => f(a)); return f([]);"), 1),
    "recursion-at-build": ("const f = () => z.array(f()); export const Schema = f();", None),
    "recursion-in-sort": (_transform("const f = () => [2, 1].sort(() => f()); return f();"), 1),
    "lazy-self": ("const S = z.lazy(() => S); export const Schema = S;", 1),
    "lazy-growing": ("const f = n => z.object({ get a() { return f(n + 1); } }); export const Schema = f(0);", None),
    "lazy-pair": ("const A = z.lazy(() => B), B = z.lazy(() => A); export const Schema = A;", 1),
    "self-default": ("const S = z.object({ get a() { return S.prefault({}); } }); export const Schema = S;", {}),
    "deep-list": (
        _transform("let a = []; for (let i = 0; i < 50000; i++) a = [a]; return a;"),
        1,
    ),
    "deep-json": (
        _transform("let a = []; for (let i = 0; i < 50000; i++) a = [a]; return JSON.stringify(a).length;"),
        1,
    ),
    "deep-clone": (_transform("let a = []; for (let i = 0; i < 50000; i++) a = [a]; return structuredClone(a);"), 1),
    "deep-merge": (
        _transform("let a = {}; for (let i = 0; i < 5000; i++) a = { a }; return _.merge({}, a, a);"),
        1,
    ),
    "deep-equal": (
        _transform("let a = [], b = []; for (let i = 0; i < 50000; i++) { a = [a]; b = [b]; } return _.isEqual(a, b);"),
        1,
    ),
    "deep-intersection": (
        _wrap("z.intersection(z.any(), z.any()).transform(v => 1)"),
        None,
    ),
    "cycle": (_transform("const a = {}; a.a = a; return a;"), 1),
    "cycle-json": (_transform("const a = {}; a.a = a; return JSON.stringify(a);"), 1),
    "cycle-list": (_transform("const a = []; a.push(a); return String(a);"), 1),
    "cycle-clone": (_transform("const a = {}; a.a = a; return _.cloneDeep(a);"), 1),
    "constructor": (_transform("return v.constructor.constructor('return this')();"), {}),
    "constructor-string": (_transform("return ''['constructor'].fromCharCode(1);"), 1),
    "constructor-function": (_transform("const f = () => 1; return f.constructor('x');"), 1),
    "proto-read": (_transform("return v['__pro' + 'to__'];"), {}),
    "proto-write": (_transform("v['__pro' + 'to__'] = 1; return v;"), {}),
    "proto-literal": (_transform("return { ['__pro' + 'to__']: { x: 1 } };"), {}),
    "proto-json": (_transform('return JSON.parse(\'{"__proto__": {"x": 1}}\').x;'), {}),
    "proto-entries": (_transform("return Object.fromEntries([['__proto__', 1]]);"), {}),
    "proto-set": (_transform("return _.set({}, '__proto__.x', 1);"), {}),
    "proto-merge": (_transform('return _.merge({}, JSON.parse(\'{"constructor": {"prototype": {"x": 1}}}\'));'), {}),
    "proto-zip": (_transform("return _.zipObject(['__proto__'], [{ x: 1 }]).x;"), {}),
    "proto-class": (_transform("return ({}).toString.call(v);"), {}),
    "this": (_transform("return this;"), 1),
    "eval": (_transform("return eval('1');"), 1),
    "function-constructor": (_transform("return new Function('return 1')();"), 1),
    "import": (_transform("return import('fs');"), 1),
    "getter-throw": (_wrap("z.object({ get a() { throw new Error('x'); } })"), None),
    "sparse": (_transform("const a = []; a[4294967294] = 1; return a;"), 1),
    "sparse-length": (_transform("const a = []; a.length = 4294967295; return a;"), 1),
    "new-array": (_transform("return new Array(4294967295).fill(0);"), 1),
    "array-from": (_transform("return Array.from({ length: 1e9 });"), 1),
    "range": (_transform("return _.range(1e12);"), 1),
    "times": (_transform("return _.times(1e12, () => 1);"), 1),
    "chunk": (_transform("return _.chunk(v, 0.0001);"), [1, 2]),
    "huge-power": (_transform("return 9 ** 9 ** 9;"), 1),
    "huge-fixed": (_transform("return (1e21).toFixed(100).length + (0.1).toFixed(1e9);"), 1),
    "huge-number-text": (_wrap("z.coerce.number()"), "9" * 100_000),
    "huge-hex": (_wrap("z.coerce.number()"), "0x" + "f" * 100_000),
    "regex-star": (_wrap("z.string().regex(/^(a+)+$/)"), "a" * 5_000 + "!"),
    "regex-alternation": (_wrap("z.string().regex(/^(a|a|aa)+$/)"), "a" * 5_000 + "!"),
    "regex-counts": (_wrap("z.string().regex(/^((a{1,99}){1,99}){1,99}$/)"), "a" * 5_000 + "!"),
    "regex-reference": (_wrap("z.string().regex(/^(a*)*\\1b/)"), "a" * 5_000),
    "regex-huge": (_wrap("z.string().regex(/" + "(a|b)*" * 5_000 + "/)"), "a" * 100),
    "regex-constructed": (_transform("return new RegExp('(a+)+$').test(v);"), "a" * 5_000 + "!"),
    "regex-dynamic": (_transform("return new RegExp('a'.repeat(100000)).test(v);"), "a"),
    "split-all": (_transform("let a = v; for (let i = 0; i < 99; i++) a = a.split('').join('ab'); return a;"), "aaaa"),
    "sort-hostile": (_transform("let c = 0; return _.range(2000).sort(() => (c++ % 3) - 1).length;"), 1),
    "throw-object": (_transform("throw { toString() { throw 1; } };"), 1),
    "catch-budget": (_transform("while (true) { try { while (true) { } } catch (e) { } }"), 1),
    "finally-return": (_transform("while (true) { try { return 1; } finally { continue; } }"), 1),
    "deep-try": (_transform("try {" * 60 + "throw 1" + "} finally { }" * 60), 1),
    "enum-huge": (_wrap("z.enum([" + ",".join(f"'{i}'" for i in range(15_000)) + "])"), "7"),
    "shape-huge": (_wrap("z.object({" + ",".join(f"k{i}:z.any()" for i in range(6_000)) + "})"), {}),
    "schema-doubling": (
        "let s = z.object({ a: z.any() }); for (let i = 0; i < 60; i++) s = z.object({ l: s, r: s }); export const Schema = s;",
        {},
    ),
    "union-doubling": (
        "let s = z.string(); for (let i = 0; i < 40; i++) s = z.union([s, s]); export const Schema = s;",
        1,
    ),
    "prefault-doubling": (
        "let s = z.object({}).prefault({}); for (let i = 0; i < 30; i++) s = z.object({ l: s, r: s }).prefault({}); "
        "export const Schema = s;",
        {},
    ),
    "pipe-doubling": (
        "let s = z.array(z.any()); for (let i = 0; i < 40; i++) s = s.transform(a => [...a, ...a]); export const Schema = s;",
        [1],
    ),
    "check-doubling": (
        "let s = z.string(); for (let i = 0; i < 40; i++) s = s.overwrite(x => x + x); export const Schema = s;",
        "ab",
    ),
    "default-shared": (
        "const d = []; export const Schema = z.any().transform(v => { d.push(v); return d.length; });",
        1,
    ),
    "frozen-let": ("let n = 0; export const Schema = z.any().transform(v => { n++; return n; });", 1),
    "frozen-set": (
        "const s = new Set(); export const Schema = z.any().transform(v => { s.add(v); return s.size; });",
        1,
    ),
    "issues-flood": (
        _wrap("z.any().superRefine((v, ctx) => { while (true) ctx.addIssue({ code: 'custom', message: 'x' }); })"),
        1,
    ),
    "path-flood": (
        _wrap("z.any().superRefine((v, ctx) => { ctx.addIssue({ code: 'custom', path: Array(1e6).fill('x') }); })"),
        1,
    ),
    "null-bytes": (_wrap("z.literal('\x00')"), "\x00"),
    "lone-surrogates": (_wrap("z.literal('\\ud800')"), "\ud800"),
    "bom": ("\ufeff" + _wrap("z.any()"), 1),
    "html-comment": ("<!-- x\n" + _wrap("z.any()"), 1),
    "only-comment": ("/* nothing */", None),
    "empty": ("", None),
    "unterminated": ("export const Schema = z.object({", None),
    "binary": ("".join(chr(i % 256) for i in range(5_000)), None),
    "keys-unicode": (
        _wrap("z.object({" + ",".join(f"'\\u{i:04x}':z.any().optional()" for i in range(0x4E00, 0x5200)) + "})"),
        {},
    ),
    "value-deep-any": (_wrap("z.any().transform(v => { v.x = 1; return v; })"), "DEEP"),
    "value-deep-lazy": ("const S = z.lazy(() => z.array(S)); export const Schema = S;", "DEEP"),
    "value-deep-json": (_wrap("z.json()"), "DEEP"),
    "value-wide": (_wrap("z.array(z.any()).transform(a => a.map(x => a.map(y => x + y)))"), "WIDE"),
}


def hostile_value(value: Any) -> Any:
    """A row's value; ``DEEP`` and ``WIDE`` stand for values that are made here."""
    if value == "DEEP":
        made: Any = []
        for _ in range(20_000):
            made = [made]
        return made
    return list(range(20_000)) if value == "WIDE" else value
