"""Moving a running session to a new declaration: shown, applied as one version, undone (design §12)."""

from __future__ import annotations

from tests.mvu.stage import Stage, declaration, delta, refuses

OLD = "z.object({ hp: z.number(), old: z.string().prefault('x') })"
NEW = declaration("z.object({ hp: z.number().transform(v => Math.min(v, 50)), mp: z.number().prefault(5) }).strip()")


def test_a_plan_shows_and_stores_nothing(stage: Stage) -> None:
    stage.card(initvar="hp: 80\n", schema=OLD)
    session = stage.begin()["sessionId"]
    found = stage.rt.mvu.plan_migration(session, stage.resource_id(session), NEW)["plan"]
    assert found["accepted"] is True
    assert [change["path"] for change in found["defaulted"]] == ["/mp"]
    assert [change["path"] for change in found["changed"]] == ["/hp"]
    assert stage.record(session)["revision"] == 0
    refused = stage.rt.mvu.plan_migration(
        session, stage.resource_id(session), declaration("z.object({ hp: z.string() })")
    )
    assert refused["plan"]["accepted"] is False
    assert refused["plan"]["refused"][0]["path"] == ["hp"]


def test_a_migration_is_one_version_and_can_be_undone(stage: Stage) -> None:
    stage.card(initvar="hp: 80\n", schema=OLD)
    session = stage.begin()["sessionId"]
    resource = stage.resource_id(session)
    stage.turn(session, delta("hp", -1))
    before = stage.record(session)["content"]
    done = stage.rt.mvu.migrate(session, resource, NEW, 1, "m1")
    assert done["revision"] == 2
    assert stage.rt.mvu.migrate(session, resource, NEW, 1, "m1") == done
    assert stage.data(session)["hp"] == 50
    assert stage.record(session)["content"]["mvu_schema"]["source"] == NEW
    with refuses("REVISION_CONFLICT"):
        stage.rt.mvu.migrate(session, resource, NEW, 1, "m2")
    history = stage.rt.mvu.history(resource, stage.scope(session))
    assert (history[-1]["kind"], history[-1]["source"]["migration"]) == ("migration", True)
    undone = stage.rt.mvu.migrate(session, resource, None, 2, "u1", undo=True)
    assert undone["revision"] == 3
    after = stage.record(session)["content"]
    assert (after["stat_data"], after["mvu_schema"]) == (before["stat_data"], before["mvu_schema"])
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.migrate(session, resource, None, 3, "u2", undo=True)


def test_a_migrated_state_goes_on(stage: Stage) -> None:
    stage.card(initvar="hp: 80\n", schema=OLD)
    session = stage.begin()["sessionId"]
    stage.rt.mvu.migrate(session, stage.resource_id(session), NEW, 0, "m")
    receipt = stage.turn(session, "_.set('hp', 70); _.add('mp', 1);")["receipts"][0]
    assert receipt["status"] == "applied"
    assert stage.data(session) == {"hp": 50, "old": "x", "mp": 6}


def test_what_a_new_declaration_refuses_is_not_applied(stage: Stage) -> None:
    stage.card(initvar="hp: 80\n", schema=OLD)
    session = stage.begin()["sessionId"]
    with refuses("MVU_SCHEMA"):
        stage.rt.mvu.migrate(session, stage.resource_id(session), declaration("z.object({ hp: z.string() })"), 0, "m")
    with refuses("MVU_SCHEMA_CODE"):
        stage.rt.mvu.migrate(session, stage.resource_id(session), "const Schema = fetch('x');", 0, "n")
    assert stage.record(session)["revision"] == 0
