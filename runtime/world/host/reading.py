"""Reading a player's text: tags from words, characters from names, slots from both (§7.3).

The kernel never reads prose; this is the only place that does, and it looks for nothing but listed words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from runtime.world.canon import Canon, Check
from runtime.world.pointers import State

# Words for packs that declare no lexicon of their own.
BUILT_IN_TAGS: Mapping[str, tuple[str, ...]] = {
    "contest": ("fight", "attack", "duel", "对抗", "交手", "动手", "攻击"),
    "progress": ("practise", "practice", "train", "study", "修习", "练习", "钻研"),
    "pressure": ("resist", "endure", "panic", "忍住", "克制", "恐惧"),
}
# Slots that mean whoever acts, wherever a check names them.
_HERO_SLOTS = ("attacker", "actor", "hero", "self", "pc", "player", "who")


def tags_in(canon: Canon, text: str) -> list[str]:
    """The tags of the lexicon of which any word stands in the text; letter case does not matter."""
    folded = text.casefold()
    lexicon = canon.tags or BUILT_IN_TAGS
    return [tag for tag, words in lexicon.items() if any(word and word.casefold() in folded for word in words)]


def named_in(canon: Canon, state: State, text: str) -> list[str]:
    """The ids of the characters named in the text, in order; longer names win over names inside them."""
    names: dict[str, str] = {}
    for card in canon.cards.values():
        for name in (card.name, *card.keys):
            if name.strip():
                names.setdefault(name.strip().casefold(), card.id)
    for actor, fields in state["characters"].items():
        name = fields.get("display_name")
        if isinstance(name, str) and name.strip():
            names.setdefault(name.strip().casefold(), actor)
    if not names:
        return []
    found = (match[0] for match in _pattern(tuple(names)).finditer(text.casefold()))
    return list(dict.fromkeys(names[name] for name in found if name in names))


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for all names; a name that begins or ends with a Latin letter must not be part of a longer word."""
    parts = []
    for name in sorted(names, key=len, reverse=True):
        start = r"(?<![a-z0-9])" if re.match(r"[a-z0-9]", name) else ""
        end = r"(?![a-z0-9])" if re.search(r"[a-z0-9]\Z", name) else ""
        parts.append(f"{start}{re.escape(name)}{end}")
    return re.compile("|".join(parts))


def fill_slots(check: Check, state: State, named: Iterable[str]) -> dict[str, str]:
    """Fill every slot that a check names: whoever stands first acts, then those named, then the rest of the stage.

    A slot that nobody is left for stays free, so a contest never collapses onto one person.
    """
    stage: list[str] = state["present"]
    hero = stage[0] if stage else None
    others = list(dict.fromkeys(actor for actor in (*named, *stage) if actor != hero and actor in state["characters"]))
    order = sorted(check.slots, key=lambda slot: slot not in _HERO_SLOTS)
    people = ([hero] if hero is not None and hero in state["characters"] else []) + others
    return dict(zip(order, people, strict=False))
