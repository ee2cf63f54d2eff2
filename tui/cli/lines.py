"""What happens on a deck, one line each: for logs, and for those who cannot see a screen."""

from __future__ import annotations

from batchdeck.core.model.event import Event
from batchdeck.core.text import clean_line, counted
from batchdeck.core.view import DeckView
from batchdeck.tui.present.ended import Ended, EndedTasks
from batchdeck.tui.present.happenings import clock_time, event_words
from batchdeck.tui.present.headline import mode_words
from batchdeck.tui.present.notice import held_words
from batchdeck.tui.present.scene import active_batches

LONGEST_WORDS = 600


def standing_line(view: DeckView) -> str:
    """How the deck is at this moment, in one line."""
    ended = EndedTasks().of(view, (batch.name for batch in active_batches(view)))
    parts = [mode_words(view), f"{counted(view.running, 'turn')} running", f"{view.queued} queued"]
    parts += [f"{ended.words} of {ended.total}"] if ended.total else []
    parts += [view.banner] if view.banner else []
    parts += ["held: batchdeck release goes on"] if held_words(view) else []
    return clean_line(" · ".join(parts), LONGEST_WORDS)


def plain_words(event: Event, ended: Ended | None) -> str:
    """Every change in words, also those that a log leaves out."""
    known = log_words(event, ended)
    if known is not None:
        return known
    about = "" if event.turn is None else f"#{event.turn}"
    name = (event.task or "").partition("/")[2] or ("" if event.turn else event.batch or "")
    parts = (event.kind.replace(".", " "), about, name, event_words(event))
    return " ".join(part for part in parts if part)


def log_words(event: Event, ended: Ended | None) -> str | None:
    """What a person wants to read of an event in a log; None: nothing.

    `ended`: how the tasks of its batch stood with it, where it tells of an end.
    """
    fields = event.fields
    name = f"#{event.turn} {(event.task or '').partition('/')[2]}".rstrip()
    match event.kind:
        case "turn.claimed":
            return f"{name} {event.agent} started"
        case "turn.finished":
            error = f": {fields['error']}" if fields.get("error") else ""
            progress = f"  ({ended.words} of {ended.total})" if ended and ended.total else ""
            return f"{name} {fields['state']}{error}{progress}"
        case "batch.finished":
            state = str(fields["state"]).replace("_", " ")
            return f"{event.batch} {state}" + (f": {ended.words}" if ended else "")
        case "ask.opened":
            question = str(fields["question"])
            if fields.get("permission"):
                question = question.partition("\n")[0]  # ask show has the rest
            return f"{name} asks: {question}  (batchdeck ask answer {fields['ask']} …)"
        case "permission.used":
            return f"{name} {event.agent} may always: {fields['wanted']}"
        case "hold" | "release" | "audit.violation":
            reason = f": {fields['reason']}" if fields.get("reason") else ""
            what = str(fields.get("what", ""))
            what = f"#{event.turn}" if what.startswith("turn:") else what
            return f"{event.kind} {what} by {event.by}{reason}"
        case "account.cooling":
            until = clock_time(fields.get("until_ms") or 0)
            return f"account {fields['account']} cools down until {until}: {fields['reason']}"
        case "budget.reached":
            stop = ": nothing of it starts any more" if fields["hard"] else ""
            used = f"{fields['used']:g} of {fields['budget']:g} {fields['unit']}"
            return f"{event.batch} has used {used}{stop}"
        case "budget.raised":
            return f"{event.batch} may use {fields['times']} times its budget, says {event.by}"
        case "account.ready":
            return f"account {fields['account']} may be used again"
        case "limit.changed" if fields.get("before") is not None:
            return f"limit {fields['name']} {fields['before']} → {fields['after']}"
    return None
