"""Builds the example cards: ``python examples/build_cards.py`` writes a PNG and a JSON file for every card folder.

The sources are the folders beside the results: ``card.yaml`` is the skeleton, ``{file: NAME}`` stands for the text of
that file. ``--check`` writes nothing and fails when a committed file is out of date.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import math
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import yaml

CARDS = Path(__file__).resolve().parent / "cards"
SIZE = (400, 600)
_V2_ONLY_DEFAULTS: dict[str, Any] = {"extensions": {}, "case_sensitive": False, "priority": 10, "secondary_keys": []}


def names() -> list[str]:
    """The card folders, in order."""
    return sorted(folder.name for folder in CARDS.iterdir() if (folder / "card.yaml").is_file())


def build_json(name: str) -> dict[str, Any]:
    """The card as V3 JSON, with the V2 fields that older readers look for."""
    folder = CARDS / name
    source = _inline(yaml.safe_load((folder / "card.yaml").read_text("utf-8")), folder)
    source.pop("picture")
    book = source.pop("character_book")
    scripts = source.pop("scripts")
    data = {
        **source,
        "nickname": "",
        "group_only_greetings": [],
        "character_book": {
            "name": book["name"],
            "extensions": {},
            "entries": [_entry(index, entry) for index, entry in enumerate(book["entries"])],
        },
        "extensions": {"tavern_helper": {"scripts": [_script(name, index, s) for index, s in enumerate(scripts)]}},
    }
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def _inline(value: Any, folder: Path) -> Any:
    """Replace every ``{file: NAME}`` by the text of that file."""
    if isinstance(value, dict):
        if set(value) == {"file"}:
            return (folder / value["file"]).read_text("utf-8").rstrip("\n")
        return {key: _inline(item, folder) for key, item in value.items()}
    return [_inline(item, folder) for item in value] if isinstance(value, list) else value


def _entry(index: int, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": index,
        "keys": entry.get("keys", []),
        "comment": entry["comment"],
        "name": entry["comment"],
        "content": entry["content"],
        "enabled": entry.get("enabled", True),
        "constant": entry.get("constant", False),
        "selective": False,
        "insertion_order": 100 + index,
        "position": "after_char",
        "use_regex": False,
        **_V2_ONLY_DEFAULTS,
    }


def _script(card: str, index: int, script: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "script",
        "enabled": script.get("enabled", True),
        "name": script["name"],
        "id": f"{card}-{index}",
        "content": script["content"].rstrip("\n"),
        "info": "",
        "button": {"enabled": False, "buttons": []},
        "data": {},
    }


def json_bytes(name: str) -> bytes:
    """The committed JSON file."""
    return (json.dumps(build_json(name), ensure_ascii=False, indent=2) + "\n").encode()


def png_bytes(name: str, picture: bytes) -> bytes:
    """``picture`` with the card in a ``chara`` chunk (V2) and a ``ccv3`` chunk (V3)."""
    third = build_json(name)
    second = {"spec": "chara_card_v2", "spec_version": "2.0", "data": third["data"]}
    end = picture.rindex(b"IEND") - 4
    chunks = b"".join(_text_chunk(key, card) for key, card in (("chara", second), ("ccv3", third)))
    return picture[:end] + chunks + picture[end:]


def _text_chunk(keyword: str, card: dict[str, Any]) -> bytes:
    text = base64.b64encode(json.dumps(card, ensure_ascii=False, separators=(",", ":")).encode())
    body = b"tEXt" + keyword.encode() + b"\0" + text
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def without_text(data: bytes) -> bytes:
    """A PNG without its text chunks: the picture of a committed card."""
    kept, offset = [data[:8]], 8
    while offset < len(data):
        length = struct.unpack(">I", data[offset : offset + 4])[0]
        if data[offset + 4 : offset + 8] != b"tEXt":
            kept.append(data[offset : offset + 12 + length])
        offset += 12 + length
    return b"".join(kept)


def main(arguments: list[str] | None = None) -> int:
    """Write the cards, or check that they are up to date. Existing pictures are kept unless ``--draw`` is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    parser.add_argument("--draw", action="store_true", help="draw the pictures again")
    options = parser.parse_args(arguments)
    stale = []
    for name in names():
        png = CARDS / f"{name}.png"
        fresh = options.draw or not png.is_file()
        picture = draw(name) if fresh else without_text(png.read_bytes())
        for path, data in ((CARDS / f"{name}.json", json_bytes(name)), (png, png_bytes(name, picture))):
            if not path.is_file() or path.read_bytes() != data:
                stale.append(path.name)
                if not options.check:
                    path.write_bytes(data)
    if options.check and stale:
        print(f"out of date: {', '.join(stale)}; run python examples/build_cards.py", file=sys.stderr)
        return 1
    print(f"{'up to date' if not stale else 'written'}: {', '.join(stale or names())}")
    return 0


# --- pictures -------------------------------------------------------------------------------------------------------


def draw(name: str) -> bytes:
    """Draw the picture of a card; needs Pillow, which only this generator uses."""
    import io

    from PIL import Image

    scale = 3  # drawn large and reduced, for smooth edges
    image = Image.new("RGB", (SIZE[0] * scale, SIZE[1] * scale))
    {"lighthouse": _lighthouse, "wayhouse": _wayhouse}[name](image)
    small = image.resize(SIZE, Image.Resampling.LANCZOS)
    # Pillow dithers only towards a palette that it is given, so the palette is made first.
    small = small.quantize(palette=small.quantize(200), dither=Image.Dither.FLOYDSTEINBERG)
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return out.getvalue()


Colour = tuple[int, int, int]


def _mix(a: Colour, b: Colour, t: float) -> Colour:
    return tuple(round(x + (y - x) * t) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def _sky(image: Any, stops: list[tuple[float, Colour]]) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image)
    width, height = image.size
    for y in range(height):
        t = y / height
        for (t0, c0), (t1, c1) in itertools.pairwise(stops):
            if t0 <= t <= t1:
                pen.line([(0, y), (width, y)], fill=_mix(c0, c1, (t - t0) / (t1 - t0)))
                break


def _glow(image: Any, centre: tuple[float, float], radius: float, colour: Colour, strength: float) -> None:
    from PIL import Image

    mask = Image.radial_gradient("L").resize((int(radius * 2), int(radius * 2)))
    mask = mask.point(lambda v: int(max(0.0, 1 - v / 181) ** 2 * 255 * strength))
    image.paste(colour, (int(centre[0] - radius), int(centre[1] - radius)), mask)


def _veil(image: Any, top: float, bottom: float, colour: Colour, strength: float, phase: float) -> None:
    """A bank of mist between two heights."""
    from PIL import Image, ImageDraw, ImageFilter

    width, height = image.size
    mask = Image.new("L", image.size, 0)
    pen = ImageDraw.Draw(mask)
    wave = [
        (x, height * (top + 0.02 * math.sin(x / width * 7 + phase) + 0.012 * math.sin(x / width * 17 + phase * 2)))
        for x in range(0, width + 8, 8)
    ]
    pen.polygon([*wave, (width, height * bottom), (0, height * bottom)], fill=int(255 * strength))
    image.paste(colour, (0, 0), mask.filter(ImageFilter.GaussianBlur(width / 30)))


def _lighthouse(image: Any) -> None:
    from PIL import Image, ImageDraw, ImageFilter

    w, h = image.size
    dusk: list[tuple[float, Colour]] = [
        (0.0, (22, 32, 62)), (0.35, (58, 66, 110)), (0.55, (196, 128, 122)), (0.66, (244, 190, 132)),
        (0.661, (46, 74, 104)), (1.0, (14, 26, 46)),
    ]  # fmt: skip
    _sky(image, dusk)
    pen = ImageDraw.Draw(image)
    for index in range(46):  # stars, placed by a fixed rule so that the picture is always the same
        x, y = (index * 7919 % 997) / 997 * w, (index * 104729 % 887) / 887 * h * 0.34
        r = 1.5 + index % 3
        pen.ellipse([x - r, y - r, x + r, y + r], fill=(214, 220, 240))
    for index in range(60):  # light on the water
        y = h * (0.675 + 0.3 * (index / 60) ** 1.3)
        x = w * (0.5 + 0.42 * math.sin(index * 2.3))
        half = w * (0.02 + 0.05 * abs(math.sin(index)))
        pen.line([(x - half, y), (x + half, y)], fill=_mix((240, 196, 150), (40, 66, 96), 0.25 + index / 80), width=5)
    lamp = (w * 0.62, h * 0.315)
    beam = Image.new("L", image.size, 0)
    ray = ImageDraw.Draw(beam)
    ray.polygon([lamp, (-w * 0.1, h * 0.13), (-w * 0.1, h * 0.36)], fill=150)
    ray.polygon([lamp, (w * 1.1, h * 0.27), (w * 1.1, h * 0.36)], fill=110)
    image.paste((255, 238, 190), (0, 0), beam.filter(ImageFilter.GaussianBlur(w / 60)))
    _veil(image, 0.58, 0.72, (206, 196, 204), 0.5, 0.4)
    pen = ImageDraw.Draw(image)
    rock = [
        (0.28, 0.86),
        (0.4, 0.79),
        (0.46, 0.755),
        (0.56, 0.735),
        (0.7, 0.735),
        (0.79, 0.77),
        (0.9, 0.81),
        (1.02, 0.9),
    ]
    pen.polygon([*((w * x, h * y) for x, y in rock), (w * 1.02, h * 1.02), (w * 0.2, h * 1.02)], fill=(20, 24, 38))
    stripes = 6
    for index in range(stripes):  # the tower narrows towards the top
        t0, t1 = index / stripes, (index + 1) / stripes
        y0, y1 = h * (0.37 + 0.37 * t0), h * (0.37 + 0.37 * t1)
        x0, x1 = w * (0.045 + 0.03 * t0), w * (0.045 + 0.03 * t1)
        colour: Colour = (232, 226, 216) if index % 2 else (176, 62, 58)
        pen.polygon([(lamp[0] - x0, y0), (lamp[0] + x0, y0), (lamp[0] + x1, y1), (lamp[0] - x1, y1)], fill=colour)
        shade = _mix(colour, (20, 24, 46), 0.35)
        pen.polygon(
            [(lamp[0] + x0 * 0.3, y0), (lamp[0] + x0, y0), (lamp[0] + x1, y1), (lamp[0] + x1 * 0.3, y1)], fill=shade
        )
    pen.rectangle([lamp[0] - w * 0.066, h * 0.358, lamp[0] + w * 0.066, h * 0.374], fill=(34, 36, 52))
    pen.rectangle([lamp[0] - w * 0.036, h * 0.285, lamp[0] + w * 0.036, h * 0.358], fill=(255, 232, 168))
    for x in (-0.036, -0.012, 0.012, 0.036):
        pen.line([(lamp[0] + w * x, h * 0.285), (lamp[0] + w * x, h * 0.358)], fill=(40, 40, 54), width=5)
    pen.polygon(
        [(lamp[0] - w * 0.05, h * 0.287), (lamp[0] + w * 0.05, h * 0.287), (lamp[0], h * 0.243)], fill=(120, 44, 48)
    )
    _glow(image, lamp, w * 0.3, (255, 240, 196), 0.85)
    pen = ImageDraw.Draw(image)
    x, y = w * 0.2, h * 0.7  # the boat that is still out
    pen.polygon(
        [(x - w * 0.055, y), (x + w * 0.055, y), (x + w * 0.038, y + h * 0.016), (x - w * 0.04, y + h * 0.016)],
        fill=(26, 30, 46),
    )
    pen.polygon([(x, y - h * 0.05), (x, y - h * 0.004), (x + w * 0.038, y - h * 0.004)], fill=(52, 54, 74))
    _glow(image, (x - w * 0.03, y - h * 0.006), w * 0.05, (255, 206, 120), 0.95)
    _veil(image, 0.82, 1.05, (150, 158, 182), 0.45, 2.1)


def _wayhouse(image: Any) -> None:
    from PIL import ImageDraw

    w, h = image.size
    _sky(image, [(0.0, (30, 40, 72)), (0.4, (76, 96, 138)), (0.62, (170, 178, 200)), (1.0, (206, 212, 226))])
    pen = ImageDraw.Draw(image)
    ranges: list[tuple[float, float, Colour, float]] = [
        (0.40, 0.13, (96, 112, 150), 0.7), (0.50, 0.10, (74, 90, 126), 2.2), (0.60, 0.07, (54, 70, 100), 4.0),
    ]  # fmt: skip
    for base, height, colour, phase in ranges:
        ridge = [
            (
                w * i / 24,
                h
                * (
                    base
                    - height * (0.45 + 0.55 * abs(math.sin(i * 0.71 + phase)) ** 0.8)
                    - 0.02 * math.sin(i * 2.9 + phase)
                ),
            )
            for i in range(25)
        ]
        pen.polygon([*ridge, (w, h), (0, h)], fill=colour)
        for (x0, y0), (x1, y1), (x2, y2) in zip(ridge, ridge[1:], ridge[2:], strict=False):
            if y1 < y0 and y1 < y2:  # snow on the peaks
                cap = 0.42
                left, right = (x1 + (x0 - x1) * cap, y1 + (y0 - y1) * cap), (x1 + (x2 - x1) * cap, y1 + (y2 - y1) * cap)
                pen.polygon(
                    [(x1, y1), right, (x1 + w * 0.006, y1 + h * 0.02), left], fill=_mix(colour, (240, 244, 250), 0.75)
                )
    _veil(image, 0.55, 0.72, (196, 204, 222), 0.6, 1.3)
    pen = ImageDraw.Draw(image)
    for index in range(15):  # firs along the road
        x = w * ((index * 0.618) % 1.0)
        y, size = h * (0.69 + 0.05 * ((index * 0.37) % 1.0)), w * (0.045 + 0.02 * ((index * 0.53) % 1.0))
        for tier in range(3):
            top = y - size * (3.1 - tier * 0.85)
            half = size * (0.5 + tier * 0.26)
            pen.polygon([(x, top), (x - half, top + size * 1.25), (x + half, top + size * 1.25)], fill=(38, 56, 66))
            pen.polygon(
                [(x, top), (x - half * 0.4, top + size * 0.5), (x + half * 0.3, top + size * 0.42)],
                fill=(222, 230, 240),
            )
    ground = [(0.0, 0.745), (0.25, 0.725), (0.5, 0.74), (0.75, 0.72), (1.0, 0.74)]
    pen.polygon([*((w * x, h * y) for x, y in ground), (w, h), (0, h)], fill=(226, 232, 242))
    pen.polygon([(w * 0.46, h * 0.80), (w * 0.56, h * 0.80), (w * 0.80, h), (w * 0.22, h)], fill=(196, 206, 224))
    left, right, floor, eave = w * 0.2, w * 0.8, h * 0.80, h * 0.63
    pen.rectangle([left, eave, right, floor], fill=(104, 72, 54))
    for index in range(1, 7):
        y = eave + (floor - eave) * index / 7
        pen.line([(left, y), (right, y)], fill=(82, 56, 44), width=4)
    pen.rectangle([left, h * 0.765, right, floor], fill=(110, 108, 116))
    pen.rectangle([w * 0.64, h * 0.475, w * 0.7, h * 0.57], fill=(96, 92, 100))
    pen.polygon(
        [(w * 0.13, h * 0.645), (w * 0.27, h * 0.5), (w * 0.73, h * 0.5), (w * 0.87, h * 0.645)], fill=(62, 66, 84)
    )
    pen.polygon(
        [
            (w * 0.15, h * 0.624),
            (w * 0.27, h * 0.494),
            (w * 0.73, h * 0.494),
            (w * 0.85, h * 0.624),
            (w * 0.7, h * 0.575),
            (w * 0.5, h * 0.6),
            (w * 0.32, h * 0.57),
        ],
        fill=(236, 240, 248),
    )
    for x in (0.27, 0.64):
        _window(image, w * x, h * 0.665, w * 0.1, h * 0.07)
    pen = ImageDraw.Draw(image)
    pen.rectangle([w * 0.455, h * 0.675, w * 0.565, floor], fill=(70, 44, 34))
    pen.pieslice([w * 0.455, h * 0.645, w * 0.565, h * 0.715], 180, 360, fill=(70, 44, 34))
    pen.ellipse([w * 0.543, h * 0.738, w * 0.555, h * 0.746], fill=(226, 180, 96))
    pen.line([(w * 0.605, h * 0.655), (w * 0.605, h * 0.675)], fill=(60, 48, 44), width=5)
    pen.pieslice([w * 0.585, h * 0.668, w * 0.625, h * 0.708], 180, 360, fill=(214, 164, 72))
    _glow(image, (w * 0.42, h * 0.7), w * 0.08, (255, 214, 140), 0.9)
    for index in range(7):  # smoke
        _glow(
            image,
            (w * (0.672 + 0.02 * math.sin(index * 1.1) + 0.012 * index), h * (0.465 - 0.033 * index)),
            w * (0.035 + 0.011 * index),
            (214, 218, 230),
            0.6 - index * 0.06,
        )
    pen = ImageDraw.Draw(image)
    for index in range(150):  # snow
        x, y = (index * 7919 % 1009) / 1009 * w, (index * 104729 % 991) / 991 * h
        r = 2.5 + index % 5
        pen.ellipse([x - r, y - r, x + r, y + r], fill=(250, 252, 255))


def _window(image: Any, x: float, y: float, width: float, height: float) -> None:
    from PIL import ImageDraw

    _glow(image, (x + width / 2, y + height / 2), width * 1.2, (255, 206, 128), 0.8)
    pen = ImageDraw.Draw(image)
    pen.rectangle([x, y, x + width, y + height], fill=(255, 218, 144), outline=(58, 38, 30), width=9)
    pen.line([(x + width / 2, y), (x + width / 2, y + height)], fill=(58, 38, 30), width=7)
    pen.line([(x, y + height / 2), (x + width, y + height / 2)], fill=(58, 38, 30), width=7)
    pen.rectangle([x - width * 0.08, y + height, x + width * 1.08, y + height * 1.1], fill=(240, 244, 250))


if __name__ == "__main__":
    sys.exit(main())
