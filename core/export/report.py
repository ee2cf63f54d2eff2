"""A report for people: one HTML file that needs no network."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from batchdeck.core.export.record import History, Record
from batchdeck.core.text import counted

_TAIL = 40
"""Lines of output that are shown of a failure."""
_WIDTH, _HEIGHT = 960, 120

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
  color: #1c1f24; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #dde1e7;
  vertical-align: top; }
pre { background: #f4f6f8; padding: .8rem; overflow-x: auto; white-space: pre-wrap; }
.failed { color: #a3171b; } .done { color: #17693a; } .faint { color: #5b6470; }
svg { width: 100%; height: auto; background: #f4f6f8; }
@media (prefers-color-scheme: dark) { body { background: #14171c; color: #e6e9ee; }
  th, td { border-color: #313740; } pre, svg { background: #1d2229; } .failed { color: #ff7b7f; }
  .done { color: #6bd697; } .faint { color: #9aa4b2; } }
"""


def as_html(records: Sequence[Record], history: History, written_ms: int) -> Iterator[str]:
    """The report, piece by piece."""
    yield "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
    yield "<meta name='viewport' content='width=device-width'><title>batchdeck</title>"
    yield f"<style>{_STYLE}</style></head><body><h1>batchdeck report</h1>"
    yield f"<p class='faint'>Written {_moment(written_ms)}.</p>"
    yield from _summary(records)
    yield from _timeline(history)
    for batch in dict.fromkeys(record.batch for record in records):
        yield from _batch(batch, [record for record in records if record.batch == batch])
    yield from _failures([record for record in records if record.status == "FAILED"])
    yield "</body></html>\n"


def _moment(at_ms: int | None) -> str:
    if at_ms is None:
        return ""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _text(value: object) -> str:
    return html.escape("" if value is None else str(value))


def _span(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min"


def _summary(records: Sequence[Record]) -> Iterator[str]:
    statuses = Counter(record.status for record in records)
    costs = [record.cost for record in records if record.cost is not None]
    told = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    yield f"<p><strong>{counted(len(records), 'task')}</strong>: {_text(told) or 'none'}."
    if costs:
        unknown = len(records) - len(costs)
        rest = f" ({unknown} unknown)" if unknown else ""
        yield f" Cost: {sum(costs):.2f}{rest}."
    yield "</p>"


def _timeline(history: History) -> Iterator[str]:
    """Turns that ran at once, over time, with the deck's limit as a line above."""
    if not history.runs:
        return
    first = min(start for start, _, _ in history.runs)
    last = max(end for _, end, _ in history.runs)
    length = max(1, last - first)
    steps = _running(history.runs)
    limits = [(max(first, at), value) for at, value in history.limits if at <= last]
    top = max([count for _, count in steps] + [value for _, value in limits] + [1])
    yield "<h2>Turns at once</h2>"
    yield f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='turns at once over time'>"
    yield f"<path fill='#4a90d9' fill-opacity='.55' d='{_area(steps, first, length, top)}'/>"
    if limits:
        line = _line([*limits, (last, limits[-1][1])], first, length, top)
        yield f"<path fill='none' stroke='#d9822b' stroke-width='2' d='{line}'/>"
    yield "</svg>"
    yield f"<p class='faint'>{_moment(first)} to {_moment(last)}, at most {top} at once."
    yield " The line is the deck's limit.</p>" if limits else "</p>"


def _running(runs: Iterable[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """How many ran from each moment on."""
    changes: Counter[int] = Counter()
    for start, end, _ in runs:
        changes[start] += 1
        changes[end] -= 1
    found: list[tuple[int, int]] = []
    count = 0
    for moment in sorted(changes):
        count += changes[moment]
        found.append((moment, count))
    return found


def _x(moment: int, first: int, length: int) -> float:
    return round((moment - first) / length * _WIDTH, 1)


def _y(value: int, top: int) -> float:
    return round(_HEIGHT - value / top * (_HEIGHT - 8), 1)


def _line(steps: Sequence[tuple[int, int]], first: int, length: int, top: int) -> str:
    path = ""
    for moment, value in steps:
        x, y = _x(moment, first, length), _y(value, top)
        path += f"M{x},{y}" if not path else f"H{x}V{y}"
    return path


def _area(steps: Sequence[tuple[int, int]], first: int, length: int, top: int) -> str:
    path = f"M0,{_HEIGHT}"
    for moment, value in steps:
        path += f"H{_x(moment, first, length)}V{_y(value, top)}"
    return f"{path}V{_HEIGHT}Z"


def _batch(name: str, records: Sequence[Record]) -> Iterator[str]:
    yield f"<h2>{_text(name)}</h2><table><tr><th>task<th>status<th>agent<th>took<th>attempts"
    yield "<th>cost<th>what</tr>"
    for record in records:
        kind = {"FAILED": "failed", "DONE": "done", "MERGED": "done"}.get(record.status, "faint")
        cost = "" if record.cost is None else f"{record.cost:.4f}"
        yield f"<tr><td>{_text(record.task)}<td class='{kind}'>{_text(record.status)}"
        yield f"<td>{_text(record.agent)}<td>{_span(record.seconds)}<td>{record.attempts}"
        yield f"<td>{cost}<td>{_text(record.error or record.title)}</tr>"
    yield "</table>"


def _failures(records: Sequence[Record]) -> Iterator[str]:
    if not records:
        return
    yield "<h2>What failed</h2>"
    for record in records:
        yield f"<h3>{_text(record.batch)}/{_text(record.task)}</h3>"
        yield f"<p class='failed'>{_text(record.error)}</p>"
        if record.output:
            tail = "\n".join(record.output.splitlines()[-_TAIL:])
            yield "<details><summary>the end of its output</summary>"
            yield f"<pre>{_text(tail)}</pre></details>"
