"""The author's side (§7.7): judging a pack, the interview, the first files of a new one, and opening it for play."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from runtime.world.canon import Canon
from runtime.world.host.line import Line
from runtime.world.host.refusals import HostRefusal
from runtime.world.limits import LORE_CHARS
from runtime.world.opening import scene_lore_key
from runtime.world.pack.load import load_pack
from runtime.world.pack.validate import validate

EXAMPLES: tuple[str, ...] = ("lantern-ferry", "wuqiao-clockhouse")
COMMISSION_CHARS = 600

_PACK_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_PAGES: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("who", "Who is the hero? A name."),
        ("identity", "What are they in the eyes of others?"),
        ("scene", "Where does the evening begin?"),
        ("commission", "What is to be done tonight, in one or two sentences?"),
    ),
    (
        ("teach", "Begin by teaching the world, or play directly? (teach / play)"),
        ("tier", "How hard do the dice bite? (narrative / plain / hard)"),
        ("tone", "Which tone should the telling have?"),
        ("banned", "What must never happen? ('none' if nothing)"),
    ),
)
QUESTIONS: tuple[str, ...] = tuple(key for page in _PAGES for key, _ in page)


def author_tool(line: Line, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run one of the four author tools."""
    if name == "pack_validate":
        return findings_of(line.canon)
    if name == "pack_interview":
        pages = [[{"id": key, "question": question} for key, question in page] for page in _PAGES]
        return {"pages": pages}
    if name == "pack_scaffold":
        return scaffold(arguments.get("packId"), arguments.get("answers"))
    return open_play(line.canon)


def findings_of(canon: Canon) -> dict[str, Any]:
    """The findings about a Canon that is already loaded (files are not at hand, so lines are not either)."""
    findings = validate(canon.document)
    return {
        "valid": not any(finding.severity == "error" for finding in findings),
        "findings": [finding.to_json() for finding in findings],
    }


def open_play(canon: Canon) -> dict[str, Any]:
    """How to open a play session; an author session itself never becomes one."""
    judged = findings_of(canon)
    if not judged["valid"]:
        raise HostRefusal("HOST_COMMAND", f"expected a pack without errors; pack_validate lists those of {canon.id}")
    scene = canon.entry_scene or ""
    key = scene_lore_key(canon, scene)
    commission = next((name for name in canon.lore if "commission" in name), None)
    return {
        "open": {"packId": canon.id, "role": "play"},
        "note": "Open a new session with this; the running one keeps its rules and its role.",
        "commission": canon.lore.get(commission) if commission else None,
        "scene": {"id": scene, "lore": canon.lore.get(key) if key else None},
    }


def scaffold(pack_id: Any, answers: Any) -> dict[str, Any]:
    """The files of a small pack that loads: facts from the answers, one hero, one contest, one scene."""
    if not isinstance(pack_id, str) or not _PACK_ID.match(pack_id):
        raise HostRefusal("HOST_COMMAND", f"expected a pack id such as 'salt-harbour', found {pack_id!r}")
    if pack_id in EXAMPLES:
        raise HostRefusal("HOST_COMMAND", f"DEMO_WRITE: {pack_id} is an example; choose another id")
    if not isinstance(answers, Mapping):
        raise HostRefusal("HOST_COMMAND", "expected answers as a map from question to text")
    given = {key: value.strip() for key, value in answers.items() if isinstance(value, str) and value.strip()}
    notes = [
        {"code": "UNMAPPED_ANSWER", "message": f"there is no question {key!r}; the answer is not used"}
        for key in answers
        if key not in QUESTIONS
    ]
    commission = given.get("commission", "")
    if len(commission) > COMMISSION_CHARS:
        message = f"expected at most {COMMISSION_CHARS} characters, found {len(commission)}"
        notes.append({"code": "COMMISSION_TOO_LONG", "message": message})
    files = _files(pack_id, given)
    loaded = load_pack(files)
    return {
        "files": files,
        "notes": notes,
        "valid": loaded.ok,
        "findings": [finding.to_json() for finding in loaded.findings],
    }


def _files(pack_id: str, given: Mapping[str, str]) -> dict[str, str]:
    hero = re.split(r"[,，、]", given.get("who", "Traveller"))[0].strip() or "Traveller"
    facts: dict[str, str] = {"commission": "pending"}
    facts |= {key: given[key] for key in ("identity", "tone") if key in given}
    if given.get("banned", "none").lower() not in ("none", "无", "没有"):
        facts["banned"] = given["banned"]
    revealed = (
        ["commission"] if given.get("teach", "").lower() in ("play", "play directly") else ["axioms", "commission"]
    )
    meta: dict[str, Any] = {
        "id": pack_id,
        "title": given.get("scene", pack_id)[:60],
        "rng": "none" if given.get("tier") == "narrative" else "bernoulli",
        "entry_scene": "start",
        "loreBudgetChars": LORE_CHARS.default,
        "stats": {"skill": 1, "cost": 0},
        "bounds": {"cost": [0, 1]},
        "tags": {"contest": ["fight", "struggle", "对抗", "争夺"]},
        "opening": {"present": ["hero"], "revealed": revealed, "facts": facts},
    }
    cost = "+0.2" if given.get("tier") == "hard" else "+0.1"
    check = {
        "id": "contest",
        "kind": "contest",
        "when": "the hero strives against something or somebody",
        "condition": {"all": [{"tag": "contest"}, {"present": ["$actor"]}]},
        "inputs": {"skill": "characters.{actor}.skill", "cost": "characters.{actor}.cost"},
        "formula": "p = clamp(0.4 + 0.15 * skill - 0.3 * cost)",
        "outcomes": {
            "success": {"apply": {"facts.contest": "won"}},
            "failure": {"apply": {"facts.contest": "lost", "characters.{actor}.cost": cost}},
        },
    }
    index = {
        "checks": ["contest"],
        "characters": ["hero"],
        "lore": ["axioms", "commission", "start"],
        "scenes": ["start"],
    }
    return {
        "pack.yaml": _yaml(meta),
        "index.yaml": _yaml(index),
        "checks/contest.yaml": _yaml(check),
        "characters/hero.md": f"---\nid: hero\nname: {json.dumps(hero, ensure_ascii=False)}\nkeys: []\n---\n\n"
        "Write here how the hero speaks and looks.\n",
        "lore/axioms.md": "Write here what is always true in this world.\n",
        "lore/commission.md": (given.get("commission") or "Write here what is to be done tonight.")[:COMMISSION_CHARS]
        + "\n",
        "lore/start.md": given.get("scene", "Write here what the first place is like.") + "\n",
    }


def _yaml(value: Mapping[str, Any]) -> str:
    """JSON is YAML, one line per field; authors reshape it as they like."""
    return "".join(f"{key}: {json.dumps(part, ensure_ascii=False)}\n" for key, part in value.items())
