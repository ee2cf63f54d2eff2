"""Changed files of the configuration are taken over while a deck is open; faulty ones are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.batchfile.settings import SettingsFiles
from batchdeck.core.deck import configuring
from batchdeck.tui.cli.context import faults_of_ui
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio

CODER = "agents: {coder: {kind: command, command: [./run], parallelism_limit: 1}}\n"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(configuring, "LOOK_SECONDS", 0.02)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))


async def test_a_changed_file_gives_the_deck_its_new_agents(tmp_path: Path) -> None:
    file = tmp_path / ".batchdeck" / "config.yaml"
    async with bench(tmp_path, configuration=SettingsFiles(file.parent)) as here:
        file.write_text(CODER)
        view = await here.until(lambda view: "coder" in view.agents)
        assert view.limits["agent:coder"].value == 1
        file.write_text(CODER.replace("limit: 1", "limit: 3"))
        await here.until(lambda view: view.limits["agent:coder"].value == 3)


async def test_what_the_screen_does_not_have_is_told_as_other_faults_are(tmp_path: Path) -> None:
    file = tmp_path / ".batchdeck" / "config.yaml"
    files = SettingsFiles(file.parent, faults_of_ui)
    async with bench(tmp_path, configuration=files) as here:
        file.write_text("ui: {theme: zzz, keymap: {foo: a}}\n")
        view = await here.until(lambda view: view.banner)
        assert "zzz" in view.banner
        assert "(and 1 more: batchdeck doctor)" in view.banner
        file.write_text("ui: {mouse: true}\n")
        await here.until(lambda view: view.banner is None)


async def test_a_faulty_file_is_told_and_changes_nothing_until_it_is_mended(tmp_path: Path) -> None:
    file = tmp_path / ".batchdeck" / "config.yaml"
    async with bench(tmp_path, configuration=SettingsFiles(file.parent)) as here:
        file.write_text(CODER)
        await here.until(lambda view: "coder" in view.agents)
        file.write_text("agents: 3\n")
        view = await here.until(lambda view: view.banner)
        assert f"{file}:1:9: " in view.banner
        assert view.banner.endswith("The configuration that was good before stays in force.")
        assert "coder" in view.agents
        file.write_text(CODER)
        await here.until(lambda view: view.banner is None)
