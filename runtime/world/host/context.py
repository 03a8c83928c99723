"""The block of text that tells a model where the world stands (§7.5). No numbers of characters, no formulas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runtime.world.canon import Canon
from runtime.world.limits import LORE_CHARS
from runtime.world.opening import scene_lore_key
from runtime.world.pointers import State, is_number, utf16_length

TAG_WORDS = 4

_LABELS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "world": "World",
        "checks": "Checks",
        "characters": "Characters",
        "lore": "Lore",
        "pc": "Player character",
        "scene": "Scene",
        "present": "On stage",
        "facts": "Facts",
        "beat": "Beat",
        "mobility": "Mobility",
        "ways": "Open ways",
        "tags": "Tag words",
        "seat": "The player plays a hero of their own",
        "reminder": "Numbers change only by a check or a ruling. Tell what the receipts say, decide nothing.",
    },
    "zh": {
        "world": "世界",
        "checks": "鉴定",
        "characters": "人物",
        "lore": "设定",
        "pc": "主角",
        "scene": "场景",
        "present": "在场",
        "facts": "事实",
        "beat": "时拍",
        "mobility": "行动力",
        "ways": "可去之处",
        "tags": "标签词",
        "seat": "玩家扮演自定人物",
        "reminder": "数值只由鉴定或裁定改变。只叙述结算单所载，不要自行裁决。",
    },
}


def context_data(canon: Canon, state: State) -> dict[str, Any]:
    """The same facts as data."""
    stage: list[str] = state["present"]
    data: dict[str, Any] = {
        "pack": {"id": canon.id, "title": canon.title},
        "checks": list(canon.checks),
        "characters": list(canon.cards),
        "lore": list(canon.lore),
        "pc": stage[0] if stage else None,
        "scene": state["scene"],
        "present": stage,
        "facts": {key: value for key, value in state["facts"].items() if not key.startswith("__")},
        "tags": {tag: list(words[:TAG_WORDS]) for tag, words in canon.tags.items()},
        "sceneLore": _within(canon, _lore_of_scene(canon, state)),
        "commission": _within(canon, next((key for key in canon.lore if "commission" in key), None)),
    }
    if canon.places:
        hero = state["characters"].get(stage[0], {}) if stage else {}
        mobility = hero.get("mobility")
        clock = state.get("clock", {})
        data |= {
            "beat": clock.get("beat", 0),
            "mobility": mobility if is_number(mobility) else 0,
            "ways": [
                {"scene": target, "beats": edge.beats, "need": edge.need_text or None}
                for target, edge in canon.places.get(state["scene"], {}).items()
            ],
        }
    return data


def _lore_of_scene(canon: Canon, state: State) -> str | None:
    return scene_lore_key(canon, state["scene"])


def _within(canon: Canon, key: str | None) -> str | None:
    """A body that fits the budget; one that does not is left out."""
    body = canon.lore.get(key, "") if key is not None else ""
    budget = canon.lore_budget if canon.lore_budget is not None else LORE_CHARS.default
    return body.strip() if body and utf16_length(body) <= budget else None


def context_block(canon: Canon, state: State) -> str:
    """The text block."""
    data = context_data(canon, state)
    labels = _LABELS["zh" if canon.locale.startswith("zh") else "en"]
    lines = [f"{labels['world']}: {canon.id} · {canon.title}"]
    lines.extend(f"{labels[name]}: {', '.join(data[name])}" for name in ("checks", "characters", "lore"))
    lines.append(f"{labels['pc']}: {_name(canon, state, data['pc'])}")
    lines.append(f"{labels['scene']}: {data['scene']}")
    lines.append(f"{labels['present']}: {', '.join(_name(canon, state, actor) for actor in data['present'])}")
    lines.append(f"{labels['facts']}: {json.dumps(data['facts'], ensure_ascii=False)}")
    if "ways" in data:
        lines.append(f"{labels['beat']}: {data['beat']} · {labels['mobility']}: {data['mobility']}")
        lines.append(f"{labels['ways']}: {'; '.join(_way(way) for way in data['ways'])}")
    for tag, words in data["tags"].items():
        lines.append(f"{labels['tags']} {tag}: {', '.join(words)}")
    for key in ("sceneLore", "commission"):
        if data[key]:
            lines += ["", data[key], ""]
    if state["facts"].get("play_mode") == "custom":
        lines.append(f"{labels['seat']}: {state['facts'].get('pc_name', '')}")
    lines.append(labels["reminder"])
    return "\n".join(lines)


def _name(canon: Canon, state: State, actor: str | None) -> str:
    if actor is None:
        return "-"
    card = canon.cards.get(actor)
    shown = card.name if card is not None else state["characters"].get(actor, {}).get("display_name", actor)
    return f"{actor} ({shown})" if shown != actor else actor


def _way(way: Mapping[str, Any]) -> str:
    beats = way["beats"]
    return f"{way['scene']} +{beats:g}" + (f" [{way['need']}]" if way["need"] else "")
