"""From what an attempt left behind to its outcome."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from batchdeck.core.agents.adapter import Assignment, Outcome
from batchdeck.core.agents.dialects.registry import Reading
from batchdeck.core.agents.pricing import priced
from batchdeck.core.agents.question import with_question
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.executor import (
    Alive,
    Died,
    Ended,
    Evidence,
    Never,
    Record,
    SpawnFailure,
)
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.text import clean_line, decode, one_line

_ENDED_BY_OTHERS = "lost: its runner was told to end, and not by a person's stop"
"""As a machine does that shuts down."""
NOT_A_PROGRAM = frozenset({126, 127})
"""Exit codes of shells and wrappers whose program is missing or may not be executed."""


@dataclass(frozen=True, slots=True)
class Settling:
    """One attempt whose end is to be judged."""

    assignment: Assignment
    reading: Reading
    stop_asked: bool

    def outcome(self, evidence: Evidence) -> Outcome:
        """How the attempt ended."""
        match evidence:
            case Ended(record):
                return replace(self._recorded(record), leftovers=record.leftovers)
            case Died():
                return self._lost()
            case Never(fenced):
                return self._never(fenced)
            case Alive():
                raise AssertionError("an attempt is settled when it has ended")

    def _recorded(self, record: Record) -> Outcome:
        if record.spawn_failure is not None:
            return self._not_started(record.spawn_failure)
        if record.code is None:
            return _stopped() if self.stop_asked else self._fenced()
        if record.end is AttemptEnd.EXITED:
            return self._exited(record.code)
        so_far = self.reading.outcome(record.code)
        if self.reading.dialect.final and not self.stop_asked:
            return self._exited(0)  # it had said its last word, and was ended because it stayed
        if record.end is AttemptEnd.TIMED_OUT:
            return self._timed_out(so_far)
        ended = replace(priced(so_far, self.assignment.agent), question=None, limited=None)
        if not self.stop_asked:
            return replace(
                ended, state=TurnState.LOST, end=AttemptEnd.INTERRUPTED, error=_ENDED_BY_OTHERS
            )
        return replace(ended, state=TurnState.CANCELLED, end=AttemptEnd.STOPPED, error="stopped")

    def _exited(self, code: int) -> Outcome:
        outcome = priced(self.reading.outcome(code), self.assignment.agent)
        asked = with_question(outcome, self.assignment.run / attempt_files.ASK)
        if asked is outcome and code in NOT_A_PROGRAM:
            return replace(outcome, surroundings="agent")
        return asked

    def _timed_out(self, so_far: Outcome) -> Outcome:
        seconds = self.assignment.agent.timeout_seconds or 0
        return replace(
            priced(so_far, self.assignment.agent),
            state=TurnState.FAILED,
            end=AttemptEnd.TIMED_OUT,
            limited=None,
            error=f"timed out after {seconds:g} s",
        )

    def _not_started(self, failure: SpawnFailure) -> Outcome:
        in_folder = failure.stage == "folder"
        return Outcome(
            TurnState.FAILED,
            error=self._in_words(failure),
            surroundings="folder" if in_folder else "agent",
        )

    def _in_words(self, failure: SpawnFailure) -> str:
        program = clean_line(self.assignment.agent.command[0])
        match failure.stage, failure.name:
            case "folder", "ESTALE":
                return f"{self.assignment.folder} is not the folder it was"
            case "folder", "ENOENT":
                return f"the folder {self.assignment.folder} is missing"
            case "folder", name:
                return f"the folder {self.assignment.folder} cannot be entered ({name})"
            case "exec", "ENOENT" if os.path.exists(program):
                return f"{program} names an interpreter in its first line that is missing"
            case "exec", "ENOENT":
                return f"the command {program} was not found"
            case "exec", "EACCES":
                return f"{program} may not be executed"
            case "exec", "ENOEXEC":
                return f"{program} is not a program (a script needs a first line with #!)"
            case "exec", "E2BIG":
                return f"the arguments and the environment of {program} are too long"
            case _, name:
                return f"{program} could not be started ({failure.stage}: {name})"

    def _lost(self) -> Outcome:
        so_far = self.reading.outcome(0)
        words = "lost: its runner died and left no record"
        return Outcome(TurnState.LOST, AttemptEnd.LOST, text=so_far.text, error=words)

    def _never(self, fenced: bool) -> Outcome:
        if self.stop_asked:
            return _stopped()
        if fenced:
            return self._fenced()
        words = f"its runner could not work: {self._runner_log() or 'it left no word'}"
        return Outcome(TurnState.FAILED, error=words, surroundings="agent")

    @staticmethod
    def _fenced() -> Outcome:
        return Outcome(TurnState.QUEUED, AttemptEnd.FENCED, error="fenced before its start")

    def _runner_log(self) -> str:
        try:
            log = (self.assignment.run / attempt_files.RUNNER_LOG).read_bytes()
        except OSError as error:
            return str(error.strerror)
        return one_line(decode(log[-400:]).strip().rpartition("\n")[2])


def _stopped() -> Outcome:
    return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error="stopped")
