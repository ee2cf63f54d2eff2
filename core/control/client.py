"""The control socket's client: sends a command to whoever supervises a deck."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import httpx

from batchdeck.core.commands import Command
from batchdeck.core.control.http import COMMANDS, HEALTH
from batchdeck.core.control.wire import command_document
from batchdeck.core.errors import NoSupervisor, StoreError

ANSWER_SECONDS = 5.0
PATIENCE_SECONDS = 3.0
"""A supervisor that has the lock opens its socket within this time."""


class Answer:
    """What the supervisor said: the receipt's document and the exit code it stands for."""

    def __init__(self, accepted: bool, exit_code: int, document: dict[str, Any]) -> None:
        self.accepted = accepted
        self.exit_code = exit_code
        self.document = document


def call(path: Path, command: Command) -> Answer:
    """Sends one command, and returns once its effect is on disk.

    Raises:
        NoSupervisor: nobody answers at the socket.
        StoreError: the supervisor went away in the middle; whether it was done is not known.
    """
    _await_listener(path)
    transport = httpx.HTTPTransport(uds=str(path))
    with httpx.Client(transport=transport, base_url="http://deck", timeout=None) as client:
        _ask_whether_it_answers(client, path)
        try:
            return _answer(client.post(COMMANDS, json=command_document(command)))
        except httpx.TransportError as error:
            raise StoreError(
                f"The supervisor went away before it answered ({error}). Look with batchdeck "
                "events whether it was done."
            ) from None


def _ask_whether_it_answers(client: httpx.Client, path: Path) -> None:
    """One that is stopped or stuck takes connections and answers none: better not to send then."""
    try:
        client.get(HEALTH, timeout=ANSWER_SECONDS)
    except httpx.TimeoutException:
        raise NoSupervisor(
            f"The supervisor at {path} does not answer; is its process stopped? Nothing was sent."
        ) from None
    except httpx.TransportError:
        return  # it is leaving: the command itself finds out


def _await_listener(path: Path) -> None:
    """Returns once somebody listens; a supervisor that has just started opens its socket last."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                return attempt.connect(str(path))
            except OSError as error:
                if time.monotonic() > until:
                    raise NoSupervisor(
                        f"The supervisor does not answer at {path} ({error.strerror}). Try again, "
                        "or look at its dashboard."
                    ) from None
        time.sleep(0.05)


def _answer(response: httpx.Response) -> Answer:
    document = response.json()
    if "receipt" in document:
        return Answer(document["accepted"], document["exit_code"], document["receipt"])
    return Answer(False, 2 if response.status_code == 400 else 1, document)
