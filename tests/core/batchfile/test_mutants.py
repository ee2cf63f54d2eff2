"""Whatever is done to a batch file, it is read or refused, and never more than that."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.errors import BadInput
from tests.core.batchfile.test_reading import INTERFACE
from tests.support.length import so_many

SCRAPS = [
    *(
        "\x00",
        "\ufeff",
        "\t",
        "&a ",
        "*a",
        "!!python/object:os.system ",
        "<<: ",
        "? ",
        "- ",
        "'",
        '"',
    ),
    *("{", "}", "[", "]", "|", ">", "%", "@", "`", "#", ":", "{{", "}}", "{%", "%}", "\r", "\n\n"),
    *(
        "NO",
        "017",
        "1e3",
        ".inf",
        "-1",
        "2026-13-45",
        "9" * 5000,
        "null",
        "~",
        "true",
        "é",
        "\u2028",
    ),
    *("---\n", "...\n", "[" * 80, "  ", "max_parallel: ", "tasks:\n", "\x85", "\U0001f469"),
]


def mutant(draw: random.Random) -> bytes:
    content = INTERFACE
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(content))
        kind = draw.randrange(5)
        if kind == 0:
            content = content[:place] + draw.choice(SCRAPS) + content[place:]
        elif kind == 1:
            content = content[:place] + content[place + draw.randint(1, 30) :]
        elif kind == 2:
            lines = content.split("\n")
            one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            content = "\n".join(lines)
        elif kind == 3:
            length = draw.randint(1, 200)
            content = content[:place] + content[place : place + length] * 2 + content[place:]
        else:
            content = content[:place]
        content = content or "x"
    damaged = bytearray(content.encode())
    if draw.random() < 0.2:
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


@pytest.mark.parametrize("seed", range(so_many(300, 1_000)))
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "b.yaml"
    file.write_bytes(mutant(random.Random(seed)))

    words = refusal(file)

    assert words is None or str(file) in words


def refusal(file: Path) -> str | None:
    try:
        read_batch(file)
    except BadInput as refused:
        return refused.message
    return None
