"""What a person can be asked in the dialog for answers, and what an answer becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from batchdeck.core.answer_check import fitting_words
from batchdeck.core.commands import AnswerAsk, AnswerBlocker, BlockTask, Command
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.blocker import Blocker, is_open
from batchdeck.core.model.task import Task
from batchdeck.core.view import DeckView


@dataclass(frozen=True, slots=True)
class Question:
    """Args:
    command: What an answer becomes.
    done: Said once it is given.
    is_open: Whether it still wants an answer.
    draft: What an answer that is not given is kept as.
    """

    title: str
    words: str
    command: Callable[[str], Command]
    done: str
    draft: str
    is_open: Callable[[DeckView], bool] = lambda view: True
    choices: tuple[str, ...] = ()
    suggested: str | None = None
    needs_a_choice: bool = False
    """Nothing is chosen before somebody has chosen it: an answer lets something happen."""

    @property
    def first_choice(self) -> int | None:
        """0-based, what enter answers with at first; None: nothing."""
        if self.needs_a_choice or not self.choices:
            return None
        return self.choices.index(self.suggested) if self.suggested in self.choices else 0


def of_ask(ask: Ask, who: str) -> Question:
    """`who`: the turn that asks, as people call it."""
    return Question(
        f"{who} asks",
        "\n".join([ask.question, *fitting_words(ask)]),
        command=lambda answer: AnswerAsk(ask=ask.id, answer=answer),
        done=f"{who} is answered",
        draft=f"answer:{ask.id}",
        is_open=lambda view: ask.id in view.asks,
        choices=ask.choices,
        suggested=ask.default,
        needs_a_choice=ask.is_permission,
    )


def of_blocker(blocker: Blocker, task: Task) -> Question:
    """A question that a person has asked about a task."""
    name, number = task.name, blocker.id
    return Question(
        f"{task.key} waits for an answer",
        blocker.question,
        command=lambda text: AnswerBlocker(task=name, answer=text, blocker=number),
        done=f"{task.key} is answered",
        draft=f"answer:{name}:{number}",
        is_open=lambda view: is_open(view.blockers.get(number)),
    )


def to_block(task: Task) -> Question:
    """What a task is to wait for."""
    name = task.name
    return Question(
        f"block {task.key}",
        f"What must be answered before {task.key} may start?",
        command=lambda text: BlockTask(task=name, question=text),
        done=f"{task.key} is BLOCKED; ! answers it",
        draft=f"block:{name}",
    )
