"""Registration forms, slicing, located refusals and the choice of the version (spec/zod.md §5, spec/mvu.md §0)."""

from __future__ import annotations

import threading

import pytest

from interpreter import (
    BudgetExceeded,
    DeclarationError,
    compile_declaration,
    declaration_status,
)
from interpreter.limits import FAULTS, SOURCE

PINNED = "https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js"
IMPORT = f"import {{ registerMvuSchema }} from '{PINNED}';\n"
ROOT = "z.strictObject({ 计数: z.coerce.number().prefault(0) })"

FORMS = {
    "block": f"{IMPORT}export const Schema = {ROOT};\n$(() => {{ registerMvuSchema(Schema); }});",
    "expression": f"{IMPORT}export const Schema = {ROOT};\n$(() => registerMvuSchema(Schema));",
    "function": f"{IMPORT}const Schema = {ROOT};\n$(function () {{ registerMvuSchema(Schema); }});",
    "plain-call": f"{IMPORT}const Schema = {ROOT};\nregisterMvuSchema(Schema);",
    "inline": f"{IMPORT}registerMvuSchema({ROOT});",
    "lazy": f"{IMPORT}$(() => {{ registerMvuSchema(() => {ROOT}); }});",
    "lazy-name": f"{IMPORT}const make = () => {ROOT};\n$(() => registerMvuSchema(make));",
    "local": f"{IMPORT}$(() => {{ const 结构 = {ROOT}; registerMvuSchema(结构); }});",
    "try": f"{IMPORT}const S = {ROOT};\n$(() => {{ try {{ registerMvuSchema(S); console.info('ok'); }} catch (e) {{ console.error(e); }} }});",
    "iife": f"{IMPORT}const S = {ROOT};\n(() => {{ registerMvuSchema(S); }})();",
    "alias": f"import {{ registerMvuSchema as 登记 }} from '{PINNED}';\nconst S = {ROOT};\n$(() => {{ 登记(S); }});",
    "other-host": f"import {{ registerMvuSchema }} from 'https://cdn.jsdelivr.net/x/mvu_zod.js';\nconst S = {ROOT};\n$(() => registerMvuSchema(S));",
    "mirror": (
        "let registerMvuSchema;\ntry { ({ registerMvuSchema } = await import('https://a/mvu_zod.js')); } catch (e) {\n"
        " ({ registerMvuSchema } = await import('https://b/mvu_zod.js')); }\n"
        f"export const Schema = {ROOT};\n$(() => {{ registerMvuSchema(Schema); }});\nexport {{}};"
    ),
    "then": f"let r;\nimport('https://a/mvu_zod.js').then(m => {{ r = m.registerMvuSchema; r(Schema); }});\nconst Schema = {ROOT};",
    "member": f"import('https://a/mvu_zod.js').then(m => {{ m.registerMvuSchema(Schema); }});\nconst Schema = {ROOT};",
    "libraries": f"import {{ z }} from 'zod';\nimport _ from 'lodash';\n{IMPORT}const S = {ROOT};\n$(() => registerMvuSchema(S));",
    "awaited": (
        f"{IMPORT}const S = {ROOT};\n$(errorCatched(async () => {{ await waitGlobalInitialized('Mvu'); registerMvuSchema(S); }}));"
    ),
    "conditional": f"{IMPORT}const S = {ROOT};\nfunction start() {{ if (window.Mvu) {{ registerMvuSchema(S); }} }}\n$(start);",
    "fences": f"Here it is:\n```js\n{IMPORT}export const Schema = {ROOT};\n$(() => {{ registerMvuSchema(Schema); }});\n```\nEnjoy!",
}


@pytest.mark.parametrize("name", FORMS)
def test_registration_forms(name: str) -> None:
    schema = compile_declaration(FORMS[name])
    assert schema.registered
    # The helper rebuilds a direct object as a loose one, whatever the form of its import.
    assert schema.parse({"计数": "4", "extra": 1}).value == {"计数": 4, "extra": 1}
    assert not schema.parse({"计数": "4", "extra": 1}, written=True).ok
    assert schema.source == FORMS[name]


def test_fences_are_told() -> None:
    assert any("```" in warning for warning in compile_declaration(FORMS["fences"]).warnings)


def test_slicing_lists_what_is_skipped() -> None:
    text = (
        f"{IMPORT}const 上限 = 9;\nconst 别的 = fetch('x');\neventOn('a', () => {{ toastr.info('hi'); }});\n"
        "export const Schema = z.object({ n: z.number().max(上限) });\nconsole.log('loaded');\n$(() => { registerMvuSchema(Schema); });"
    )
    schema = compile_declaration(text)
    assert schema.version == 3
    assert [item["line"] for item in schema.skipped] == [3, 4, 6]
    assert schema.skipped[0]["text"].startswith("const 别的") or "fetch" in schema.skipped[0]["text"]
    assert not schema.parse({"n": 10}).ok


def test_statements_that_change_what_is_reached_are_kept() -> None:
    text = "const shape = {};\nfor (const k of ['a', 'b']) { shape[k] = z.number(); }\nconst Schema = z.object(shape);"
    assert not compile_declaration(text).parse({"a": 1}).ok


def test_versions() -> None:
    assert compile_declaration(FORMS["block"]).version == 2
    assert compile_declaration(FORMS["other-host"]).version == 3
    assert compile_declaration("const Schema = z.string().transform(s => s.trim());").version == 3
    with pytest.raises(DeclarationError):
        compile_declaration("const Schema = z.string().transform(s => s.trim());", max_version=2)
    with pytest.raises(DeclarationError):
        compile_declaration("const Schema = z.looseObject({});", 1)


REFUSALS = {
    # name: (text, line, column, part of the message, part of the nearest form)
    "unknown-constructor": ("const Schema = z.object({\n  a: z.strng(),\n});", 2, 6, "z.strng", "z.string"),
    "unknown-method": ("const Schema = z.object({\n  a: z.string().mim(2),\n});", 2, 6, ".mim()", None),
    "unknown-lodash": ("const Schema = z.any().transform(v => _.clmp(v, 0, 1));", 1, 39, "_.clmp", "_.clamp"),
    "free-name": ("const Schema = z.object({ a: 名字 });", 1, 30, "名字", None),
    "host-call": ("const Schema = z.any().transform(v => getVariables(v));", 1, 39, "getVariables", None),
    "class": ("class A {}\nconst Schema = z.instanceof(A);", 1, 1, "ClassDeclaration", "functions"),
    "async": ("const Schema = z.any().transform(async v => v);", 1, 34, "async", "() =>"),
    "type-annotation": ("const f = (v: number) => v;\nconst Schema = z.any();", 1, 13, "TypeScript", "remove"),
    "placeholder": ("const Schema = z.object({ a: z.string().default(<user>) });", 1, 49, "placeholder", "null"),
    "hyphen-key": ("const Schema = z.object({ a-b: z.string() });", 1, 28, "hyphen", "quoted"),
    "missing-bracket": ("const Schema = z.object({ a: z.string() ", 1, 41, "end of the text", ")"),
    "no-schema": ("const x = 1;", 1, 1, "Schema", "registerMvuSchema"),
    "not-a-schema": ("const Schema = { a: 1 };", 1, 1, "a schema to register", "z.object"),
    "throws": ("const Schema = z.object({ a: z.number() }).pick({ b: true });", 1, 16, "Unrecognized key", None),
    "element": ("const Schema = z.object({ a: 1 });", 1, 16, 'key "a"', None),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_located(name: str) -> None:
    text, line, column, message, nearest = REFUSALS[name]
    with pytest.raises(DeclarationError) as refusal:
        compile_declaration(text)
    error = refusal.value
    assert (error.line, error.column) == (line, column), error.message
    assert message in error.message
    assert "^" in error.excerpt or not error.excerpt
    if nearest is not None:
        assert nearest in str(error.nearest)


def test_all_faults_are_reported_sorted_and_capped() -> None:
    fields = ",\n".join(f"  k{i}: z.nothing{i}()" for i in range(FAULTS.default + 5))
    with pytest.raises(DeclarationError) as refusal:
        compile_declaration(f"const Schema = z.object({{\n{fields}\n}});")
    error = refusal.value
    assert len(error.faults) == FAULTS.default
    assert error.hidden == 5
    assert [fault.line for fault in error.faults] == sorted(fault.line for fault in error.faults)
    assert "more)" in error.message


def test_runtime_errors_say_where() -> None:
    schema = compile_declaration("const Schema = z.any().transform(v => {\n  return v.a.b.trim();\n});")
    with pytest.raises(Exception, match="line 2"):
        schema.parse({"a": {"b": 1}})


def test_the_source_is_bounded() -> None:
    with pytest.raises(BudgetExceeded):
        compile_declaration("const Schema = z.any();" + " " * SOURCE.default)


STATUSES = {
    "inline": FORMS["block"],
    "remote": "import 'https://testingcf.jsdelivr.net/gh/someone/card/dist/schema/index.js'",
    "none": "eventOn('x', () => {});",
}


@pytest.mark.parametrize("kind", STATUSES)
def test_status(kind: str) -> None:
    assert declaration_status(STATUSES[kind]).kind == kind


def test_status_names_the_address() -> None:
    assert declaration_status(STATUSES["remote"]).addresses == (
        "https://testingcf.jsdelivr.net/gh/someone/card/dist/schema/index.js",
    )


def test_compiled_schemas_are_cached_and_shared_by_threads() -> None:
    schema = compile_declaration(FORMS["block"])
    assert compile_declaration(FORMS["block"]) is schema
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for turn in range(50):
                assert schema.parse({"计数": str(turn)}).value == {"计数": turn}
                assert not schema.parse({"计数": "x"}).ok
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_messages_in_two_languages() -> None:
    schema = compile_declaration("const Schema = z.object({ a: z.number().min(3), b: z.string('自定义') });")
    first, second = schema.parse({"a": 1, "b": 2}).issues
    assert first.message == "Too small: expected number to be >=3"
    assert first.message_in("zh") != first.message
    assert second.message == second.message_in("zh") == "自定义"
    assert first.to_json()["path"] == ["a"]


def test_json_schema_and_fields() -> None:
    schema = compile_declaration("const Schema = z.object({ a: z.number().min(3).describe('甲') });")
    assert schema.json_schema()["properties"]["a"]["description"] == "甲"
    assert any(field.path == "a" for field in schema.fields())
