"""One random story: every step is done on the product and on the model, every look is predicted (design §11)."""

from __future__ import annotations

import copy
import random
from typing import Any

from runtime.values.rows import InnkeeperError
from tests.mvu.stage import Stage
from tests.simulation.model import OPENINGS, Line, Reply, change, fits, reply_text

BLOCK = "<UpdateVariable><JSONPatch>{}</JSONPatch></UpdateVariable>"
CARD: dict[str, Any] = {
    "initvar": "hp: 100\nbag: []\n",
    "schema": "z.object({ hp: z.number().int().min(0).max(200), bag: z.array(z.string()).max(6) })",
    "greetings": (
        "First opening.",
        "Second. "
        + BLOCK.format('[{"op":"replace","path":"/hp","value":60},{"op":"insert","path":"/bag/-","value":"key"}]'),
    ),
}
STEPS = (
    "turn",
    "turn",
    "turn",
    "bad",
    "failed",
    "swipe",
    "fork",
    "abort",
    "retry",
    "edit",
    "stale",
    "write",
    "greeting",
    "activate",
    "look",
    "replay",
)


class Difference(AssertionError):
    """The product and the model disagree; the message names seed, step and what was seen."""


class Story:
    """One story on a stage that may be shared by many."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.seed = seed
        self.random = random.Random(seed)
        self.log: list[str] = []
        self.moment = 0
        begun = stage.begin("story")
        self.lines = [Line(begun["sessionId"], begun["playthroughId"], copy.deepcopy(OPENINGS[0]))]

    def run(self, steps: int) -> None:
        """Play; a difference says how to see it again."""
        for number in range(steps):
            name = self.random.choice(STEPS)
            line = self.random.choice(self.lines)
            self.moment += 1
            self.log.append(f"{number}:{name}@{self.lines.index(line)}")
            try:
                getattr(self, f"do_{name}")(line)
                self.check(line)
            except InnkeeperError as error:
                raise Difference(f"seed {self.seed}, {' '.join(self.log)}: unexpected {error}") from error
            except AssertionError as error:
                raise Difference(f"seed {self.seed}, {' '.join(self.log)}: {error}") from error
        for line in self.lines:
            try:
                self.check(line)
                self.look_back(line)
            except AssertionError as error:
                raise Difference(
                    f"seed {self.seed}, {' '.join(self.log)}, line {self.lines.index(line)}: {error}"
                ) from error

    def check(self, line: Line) -> None:
        """The current state and revision of a session."""
        record = self.stage.record(line.session)
        found = (record["content"]["stat_data"], record["revision"])
        assert found == (line.state, line.revision), (
            f"session {self.lines.index(line)}: found {found}, expected {(line.state, line.revision)}"
        )

    def look_back(self, line: Line) -> None:
        """The state at every reply."""
        for reply in line.replies:
            found = self.stage.data(line.session, endEventId=reply.end_event)
            assert found == reply.after, f"at event {reply.end_event}: found {found}, expected {reply.after}"

    # -- steps ----------------------------------------------------------------------------------------------------

    def commands(self) -> list[tuple[Any, ...]]:
        """A few literal commands."""
        made: list[tuple[Any, ...]] = []
        for _ in range(self.random.randint(0, 3)):
            kind = self.random.choice(("add", "add", "set", "append", "drop"))
            if kind == "add":
                made.append((kind, self.random.randint(-90, 60)))
            elif kind == "set":
                made.append((kind, self.random.randint(-20, 230)))
            elif kind == "append":
                made.append((kind, f"item{self.random.randint(0, 99)}"))
            else:
                made.append((kind,))
        return made

    def do_turn(self, line: Line) -> None:
        """A reply with literal commands, some of which the declaration refuses."""
        commands = self.commands()
        self.complete(line, reply_text(commands), change(line.state, commands), failed=False)

    def do_bad(self, line: Line) -> None:
        """A reply whose one command names nothing."""
        self.complete(line, "_.add('nothing.here', 1);", line.state, failed=False)

    def do_failed(self, line: Line) -> None:
        """A reply that is fatal: nothing of it is kept."""
        self.complete(line, "_.add('hp', -5); _.explode('hp');", line.state, failed=True)

    def complete(self, line: Line, text: str, after: Any, *, failed: bool) -> None:
        turn = self.stage.turn(line.session, text)
        status = turn["receipts"][0]["status"]
        assert (status == "failed") == failed, f"receipt {turn['receipts'][0]}"
        place = (turn["nodeId"], turn["variantId"])
        stood = [(self.moment, copy.deepcopy(after))]
        reply = Reply(copy.deepcopy(line.state), self.moment, stood, turn["endEventId"], turn["turn"], failed, place)
        line.replies.append(reply)
        line.state = copy.deepcopy(after)
        line.revision += 1
        line.started = True
        line.aborted = None
        if not failed:
            line.anchor = len(line.replies) - 1

    def do_swipe(self, line: Line) -> None:
        """A child before a random reply."""
        if not line.replies or len(self.lines) >= 8:
            return
        index = self.random.randrange(len(line.replies))
        reply = line.replies[index]
        child = self.stage.branch(line.session, "reply-swipe", reply.end_event)
        made = line.clone(child["sessionId"], line.playthrough, reply.before, index, reply.began)
        made.anchor = None
        self.lines.append(made)
        self.check(made)

    def do_fork(self, line: Line) -> None:
        """A story of its own after a random reply."""
        if not line.replies or len(self.lines) >= 8:
            return
        index = self.random.randrange(len(line.replies))
        reply = line.replies[index]
        child = self.stage.branch(line.session, "fork", reply.end_event)
        made = line.clone(child["sessionId"], child["playthroughId"], reply.after, index + 1, self.moment)
        made.anchor = index
        self.lines.append(made)
        self.check(made)

    def do_abort(self, line: Line) -> None:
        """A turn that was stopped before it had a reply."""
        turn = (self.stage.rt.sessions.session(line.session)["lastTurn"] or 0) + 1
        before = copy.deepcopy(line.state)
        self.stage.start_turn(line.session, turn)
        end = self.stage.end_turn(line.session, turn, kind="aborted")
        line.aborted = (end["nextSeq"] - 2, before, self.moment)
        line.started = True

    def do_retry(self, line: Line) -> None:
        """A child before the stopped turn, whatever was edited since."""
        if line.aborted is None or len(self.lines) >= 8:
            return
        at, before, moment = line.aborted
        child = self.stage.branch(line.session, "request-retry", at)
        made = line.clone(child["sessionId"], line.playthrough, before, len(line.replies), moment)
        made.anchor = None
        self.lines.append(made)
        self.check(made)

    def do_edit(self, line: Line) -> None:
        """A player's edit; one that the declaration refuses changes nothing."""
        data = {"hp": self.random.randint(-10, 220), "bag": [f"e{n}" for n in range(self.random.randint(0, 7))]}
        try:
            self.stage.edit(line.session, data)
        except InnkeeperError as error:
            assert error.code == "MVU_SCHEMA", str(error)
            assert not fits(data), f"refused {data}"
            return
        assert fits(data), f"accepted {data}"
        self.moved(line, data)

    def moved(self, line: Line, data: Any) -> None:
        line.state = copy.deepcopy(data)
        line.revision += 1
        if line.anchor is None and line.replies:
            line.anchor = len(line.replies) - 1  # without a version of its own, an edit stands on the last reply
        if line.anchor is not None:
            line.replies[line.anchor].stood.append((self.moment, copy.deepcopy(data)))

    def do_stale(self, line: Line) -> None:
        """An edit that saw an older revision."""
        try:
            self.stage.edit(line.session, {"hp": 1, "bag": []}, revision=line.revision + 1)
        except InnkeeperError as error:
            assert error.code == "REVISION_CONFLICT", str(error)
            assert error.details["currentRevision"] == line.revision, str(error.details)
            return
        raise AssertionError("a stale edit was accepted")

    def do_write(self, line: Line) -> None:
        """A card's write on the newest reply, where that is the head of its timeline."""
        reply = line.replies[-1] if line.replies else None
        if reply is None or reply.failed or reply.place is None or line.aborted is not None:
            return
        node, variant = reply.place
        scope = {
            "playthroughId": line.playthrough,
            "sessionId": line.session,
            "nodeId": node,
            "variantId": variant,
            "endEventId": reply.end_event,
        }
        timeline = self.stage.rt.playthroughs.read(line.playthrough)["timeline"]
        own = next((v["sessionId"] for n in timeline for v in n["variants"] if v["variantId"] == variant), None)
        head = [n for n in timeline if n["active"] is not None][-1]
        if own != line.session or head["active"] != variant or line.anchor != len(line.replies) - 1:
            return
        grant = self.stage.grant(scope)
        bound = self.stage.bind(scope, grant)
        amount = self.random.randint(-40, 40)
        answer = self.stage.write(bound, [{"op": "delta", "path": "/hp", "value": amount}], line.revision)
        self.moved(line, change(line.state, [("add", amount)]))
        assert answer["variables"]["stat_data"] == line.state, f"receipt {answer['variables']['stat_data']}"
        self.stage.rt.mvu.revoke_card_binding(bound["capability"])
        self.stage.rt.mvu.grants.revoke(grant["grantId"])

    def do_greeting(self, line: Line) -> None:
        """Another opening, before the first turn."""
        if line is not self.lines[0] or line.started:
            return
        index = 1 - line.greeting
        self.stage.rt.playthroughs.select_greeting(line.playthrough, line.session, index, self.stage.op())
        line.copies[line.greeting] = copy.deepcopy(line.state)
        line.greeting = index
        line.state = copy.deepcopy(line.copies.get(index, OPENINGS[index]))
        line.revision += 1

    def do_activate(self, line: Line) -> None:
        """Walk the timeline; no state moves."""
        timeline = self.stage.rt.playthroughs.read(line.playthrough)["timeline"]
        if timeline:
            node = self.random.choice(timeline)
            variant = self.random.choice(node["variants"])
            self.stage.rt.playthroughs.activate(line.playthrough, node["nodeId"], variant["variantId"], self.stage.op())

    def do_look(self, line: Line) -> None:
        """The state at a random reply."""
        if line.replies:
            reply = self.random.choice(line.replies)
            found = self.stage.data(line.session, endEventId=reply.end_event)
            assert found == reply.after, f"at event {reply.end_event}: found {found}, expected {reply.after}"

    def do_replay(self, line: Line) -> None:
        """Ingesting again changes nothing."""
        self.stage.rt.mvu.ingest(line.session)
