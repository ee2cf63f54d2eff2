"""Values become words: limits, durations, gates, headline, rows."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from rich.cells import cell_len

from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.event import Event
from batchdeck.core.model.gate import Gate, GateName, Holder
from batchdeck.core.model.hold import OURSELVES, Hold
from batchdeck.core.model.task import Because, Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import AgentTally, Pulse
from batchdeck.tui.present.activity import activity_bar
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.columns import Column, place_columns
from batchdeck.tui.present.durations import rough, stopwatch, waited
from batchdeck.tui.present.ended import Ended, EndedTasks
from batchdeck.tui.present.estimate import estimate_words
from batchdeck.tui.present.filtering import read_filter
from batchdeck.tui.present.fitting import fit, in_lines, short_path
from batchdeck.tui.present.gates import frees_line, gate_words, reason_line, why_lines
from batchdeck.tui.present.happenings import event_words
from batchdeck.tui.present.headline import headline
from batchdeck.tui.present.limits import limit_cell, limit_words
from batchdeck.tui.present.needs import needs, urgent_count
from batchdeck.tui.present.notice import held_words, notice_lines
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.statuses import resting_words, status_rows
from batchdeck.tui.present.turns import SYMBOLS, turn_row, what
from tests.support.stub_deck import NOW_MS, agent, batch, task, turn, view_of
from tests.tui.examples import busy_view, held

DECK = "/data/project/.batchdeck"


@pytest.mark.parametrize(
    ("used", "limit", "words"),
    [
        (5, 5, "5/5   full"),
        (0, 0, "0     closed"),
        (2, 0, "2/0   closed"),
        (1, None, "1 ∞"),
        (4, 2, "4/2   over by 2"),
        (1, 3, "1/3"),
    ],
)
def test_a_limit_says_what_its_numbers_mean(used: int, limit: int | None, words: str) -> None:
    assert limit_cell(used, limit).text == words


def test_a_serial_agent_says_so_beside_its_slots() -> None:
    assert limit_cell(1, 1, "serial").text == "1/1   full serial"


def test_a_closed_limit_is_never_a_bare_zero() -> None:
    assert limit_words(0, 0) == "closed"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(252_000, "04:12"), (3_730_000, "1:02:10"), (183_600_000, "2d 03h"), (-5, "00:00")],
)
def test_what_runs_is_timed_to_the_second(milliseconds: int, words: str) -> None:
    assert stopwatch(milliseconds) == words


def test_what_waits_is_timed_so_that_it_does_not_flicker() -> None:
    assert [waited(ms) for ms in (0, 59_000, 580_000)] == ["<1 min", "<1 min", "9 min"]
    assert [rough(ms) for ms in (40_000, 7_200_000, 259_200_000)] == ["40 s", "2 h", "3 d"]


def test_a_reason_names_the_place_and_every_shut_gate() -> None:
    gates = (
        Gate(GateName.AGENT, False, "coder", 2, 2),
        Gate(
            GateName.FOLDER,
            False,
            "/data/project/docs",
            1,
            1,
            (Holder(412, "T-114", NOW_MS),),
        ),
    )
    assert reason_line(3, gates, DECK) == "3rd · agent coder 2/2 · folder docs busy (#412)"


def test_a_turn_with_every_gate_open_starts_next() -> None:
    assert reason_line(1, (), DECK) == "1st · starts next"


@pytest.mark.parametrize("name", list(GateName))
def test_every_gate_has_words_whatever_it_knows(name: GateName) -> None:
    gate = Gate(name, False, "x", None, None, (), "when y")
    assert gate_words(gate, DECK)
    assert why_lines([gate], DECK, NOW_MS)[0].gate == name.replace("_", " ")


def test_a_hold_of_a_turn_names_who_holds_it() -> None:
    gate = Gate(GateName.HOLD, False, "this turn, by op; the deck, by ann: lunch")
    assert gate_words(gate, DECK) == "held by op; held: the deck, by ann: lunch"


def test_a_folder_that_is_occupied_above_or_below_says_where() -> None:
    def gate(path: str, place: str = "") -> Gate:
        holder = (Holder(11, "T1", 0),)
        return Gate(GateName.FOLDER, False, path, 1, 1, holder, "when #11 ends", place=place)

    docs, api = "/data/project/docs", "/data/project/docs/api"
    assert gate_words(gate(docs), DECK) == "folder docs busy (#11)"
    assert gate_words(gate(api, docs), DECK) == "folder under docs (#11)"
    assert gate_words(gate(docs, api), DECK) == "folder over docs/api (#11)"
    (line,) = why_lines([gate(api, docs)], DECK, NOW_MS)
    assert line.words == "docs/api, under docs (#11)"


def test_what_frees_a_turn_is_said_once_for_gates_that_open_together() -> None:
    gates = [
        Gate(GateName.AGENT, False, frees="when #412 ends"),
        Gate(GateName.FOLDER, False, frees="when #412 ends"),
    ]
    assert frees_line(gates) == "when #412 ends (agent, folder)"


def test_every_state_has_a_symbol_of_its_own() -> None:
    assert set(SYMBOLS) == set(TurnState)
    assert len(set(SYMBOLS.values())) == len(TurnState)
    assert all(cell_len(symbol) == 1 for symbol in SYMBOLS.values())


def test_a_running_turn_tells_its_last_line() -> None:
    view = busy_view()
    assert (
        what(view.turns[412], Scene(view, NOW_MS))
        == "312 lines, last 2 s ago: rewriting links in guide.md"
    )


def test_a_silent_turn_is_quiet_and_nothing_else() -> None:
    view = busy_view(pulses={412: Pulse(312, NOW_MS - 600_000, "tests …")})
    assert what(view.turns[412], Scene(view, NOW_MS)) == "quiet for 10 min: tests …"


def test_a_turn_that_is_being_stopped_says_how_many_processes_are_left() -> None:
    view = busy_view(pulses={412: Pulse(312, NOW_MS, "tests …", processes=3)})
    stopping = replace(view.turns[412], state=TurnState.STOPPING)
    assert what(stopping, Scene(view, NOW_MS)).startswith("stopping (3 left) · 312 lines")


def test_a_forced_turn_says_what_it_passed_and_by_whom() -> None:
    view = busy_view()
    row = turn_row(view.turns[419], Scene(view, NOW_MS))
    assert row[3].text == "coder !"
    assert row[7].text.startswith("forced past agent by op")


def test_a_turn_that_asks_shows_the_question() -> None:
    view = busy_view()
    row = turn_row(view.turns[408], Scene(view, NOW_MS))
    assert (row[0].text, row[4].text) == ("?", "asks")
    assert row[7].text == 'asks: may I run "make deploy"?'


def test_a_held_turn_is_marked_by_sign_and_word() -> None:
    view = busy_view()
    row = turn_row(view.turns[433], Scene(view, NOW_MS))
    assert (row[0].text, row[4].text) == ("‖", "held")
    assert "held by op" in row[7].text


def test_the_place_in_the_queue_is_the_agents_own() -> None:
    view = busy_view()
    assert what(view.turns[435], Scene(view, NOW_MS)).startswith("4th · target issue-12: 1 before")
    assert what(view.turns[440], Scene(view, NOW_MS)).startswith("1st · agent reviewer 1/1")


def test_one_batch_gives_one_row_for_each_lane() -> None:
    rows = status_rows(busy_view())
    assert list(rows) == ["READY", "IN_PROGRESS", "BLOCKED", "FAILED"]
    assert [cell.text for cell in rows["READY"].cells] == ["READY", "4/4   full", "5", "5"]
    assert rows["BLOCKED"].cells[1].text == "0     closed"
    assert resting_words(busy_view()) == "BACKLOG 1  DONE 2"


def test_several_batches_give_sums_with_a_row_for_each_that_is_used() -> None:
    view = view_of(
        [turn(1, TurnState.RUNNING), turn(2, batch="site", agent="coder")],
        [task(1, Status.IN_PROGRESS), task(2, batch="site")],
        [agent()],
        [batch("docs"), batch("site", 2)],
        {"status:docs/READY": 3},
    )
    rows = status_rows(view)
    assert rows["READY"].batch is None
    assert rows["READY"].cells[1].text == "1"
    assert rows["docs/READY"].cells[1].text == "1/3"
    assert rows["site/READY"].cells[2].text == "1"
    assert "site/FAILED" not in rows


def test_the_headline_holds_everything_where_there_is_room() -> None:
    text = "".join(cell.text for cell in headline(Scene(busy_view(), NOW_MS), 120))
    for words in ("docs", "running", "slots 4/8", "queued 5", "done 2 of 13", "15%", "! 1 needs"):
        assert words in text
    assert len(text) <= 120


def test_the_headline_counts_what_failed_apart_from_what_was_cancelled() -> None:
    tasks = [task(n, Status.DONE) for n in range(58)]
    tasks += [task(100, Status.FAILED, error="exit 2"), task(101, Status.FAILED, error="exit 1")]
    tasks += [task(102, Status.FAILED, because=Because.CANCELLED)]
    view = view_of([], tasks, [agent()], [batch("docs")])
    for width in (80, 120):
        text = "".join(cell.text for cell in headline(Scene(view, NOW_MS), width))
        assert "done 58 of 61  2 failed  1 cancelled" in text
    assert "2 failed" in "".join(cell.text for cell in headline(Scene(view, NOW_MS), 50))


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ([], ""),
        ([BatchState.COMPLETED], "1 batch before"),
        ([BatchState.COMPLETED_WITH_ERRORS], "1 batch before, with errors"),
        ([BatchState.FAILED, BatchState.COMPLETED], "2 batches before, 1 with errors"),
    ],
)
def test_the_headline_of_an_idle_deck_says_how_the_batches_before_the_latest_ended(
    before: list[BatchState], words: str
) -> None:
    others = [batch(f"b{number}", state=state) for number, state in enumerate(before)]
    latest = batch("docs", state=BatchState.COMPLETED)
    view = view_of([], [task(1, Status.DONE)], [agent()], [*others, latest])
    text = "".join(cell.text for cell in headline(Scene(view, NOW_MS), 120)).rstrip()
    assert text.endswith(f"100%  {words}" if words else "100%")
    at_work = view_of([], [task(1, Status.DONE)], [agent()], [*others, batch("docs")])
    text = "".join(cell.text for cell in headline(Scene(at_work, NOW_MS), 120))
    assert "before" not in text


def test_a_deck_that_was_retried_loses_the_count_of_what_was_cancelled() -> None:
    counting = EndedTasks()
    failed = task(1, Status.FAILED, because=Because.CANCELLED)
    before = view_of([], [failed, task(2, Status.DONE)], [agent()], [batch("docs")])
    assert counting.of(before, ["docs"]) == Ended(done=1, failed=0, cancelled=1, total=2)
    after = view_of([], [task(1), task(2, Status.DONE)], [agent()], [batch("docs")])
    assert counting.of(after, ["docs"]) == Ended(done=1, failed=0, cancelled=0, total=2)


def test_a_deck_that_came_up_held_says_how_it_goes_on_and_needs_a_person() -> None:
    hold = Hold("deck", OURSELVES, "the last supervisor did not stop in order", NOW_MS)
    view = busy_view(holds={"deck": hold}, banner="The last supervisor did not stop in order.")
    assert held_words(view) == "held until you release it (p, or ! then h)"
    assert urgent_count(needs(view)) == 2
    assert held_words(busy_view(holds=held("deck"))) == ""
    assert urgent_count(needs(busy_view(holds=held("deck", reason="lunch")))) == 1


def test_a_long_name_of_a_batch_is_shortened_before_it_goes() -> None:
    long = [batch("documentation-migration")]
    tasks = [task(n, batch=long[0].name) for n in range(9)]
    view = view_of([], tasks, [agent()], long)
    text = ["".join(c.text for c in headline(Scene(view, NOW_MS), w)) for w in (100, 60)]
    assert "documentation-migration  idle" in text[0]
    assert text[1].startswith(" documentation-mi")
    assert "…  idle" in text[1]
    assert "done 0 of 9" in text[1]


def test_what_is_wrong_with_a_file_is_told_and_not_where_the_deck_lies() -> None:
    words = "agents.coder.parallelism_limit: 12 is more than 10, the most an agent may have"
    for path, short in (
        ("/data/project/.batchdeck/config.yaml", ".batchdeck/config.yaml"),
        ("/usr/share/operators/batchdeck/config.yaml", "…/batchdeck/config.yaml"),
    ):
        view = busy_view(banner=f"{path}:12:3: {words}. What was good before stays in force.")
        lines = notice_lines(Scene(view, NOW_MS), 80, 24)
        assert lines[0].startswith(f" {short}:12:3: agents.coder.parallelism_limit: 12 is more")
        assert len(lines) == 2
        assert " ".join(line.strip() for line in lines).endswith("stays in force.")


def test_a_notice_has_as_many_lines_as_the_screen_can_spare() -> None:
    view = busy_view(fault="it went wrong " * 40)
    heights = {height: notice_lines(Scene(view, NOW_MS), 60, height) for height in (5, 15, 36)}
    assert {height: len(lines) for height, lines in heights.items()} == {5: 1, 15: 2, 36: 3}
    assert all(lines[-1].endswith("… (!)") for lines in heights.values())
    assert all(len(line) <= 60 for lines in heights.values() for line in lines)
    assert not notice_lines(Scene(busy_view(), NOW_MS, remark="x " * 99), 60, 5)[-1].endswith("(!)")


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("書き換えています", 8, "書き換…"),
        ("書き換えています", 9, "書き換え…"),
        ("ab書き換え", 5, "ab書…"),
    ],
)
def test_words_of_wide_characters_are_cut_without_a_hole(text: str, width: int, cut: str) -> None:
    assert fit(text, width) == cut + " " * (width - cell_len(cut))
    assert cell_len(fit(text, width, right=True)) == width


def test_a_text_is_broken_between_words_and_says_where_it_goes_on() -> None:
    assert in_lines("one two three", 7, 9) == ["one two", "three"]
    assert in_lines("one two three four", 7, 2) == ["one two", "three …"]
    assert in_lines("abcdefghij", 4, 9) == ["abcd", "efgh", "ij"]
    assert in_lines("漢字漢字", 5, 9) == ["漢字", "漢字"]
    assert in_lines("", 5, 2) == [""]


@pytest.mark.parametrize("width", range(8, 130))
def test_the_headline_fits_any_width_and_keeps_what_needs_you(width: int) -> None:
    text = "".join(cell.text for cell in headline(Scene(busy_view(), NOW_MS), width))
    assert cell_len(text) <= max(width, 12)
    assert "! 1" in text


def test_an_estimate_follows_what_ended_lately() -> None:
    ends = tuple(NOW_MS - n * 10_000 for n in range(6, 0, -1))
    view = busy_view(agent_tallies={"coder": AgentTally(6, 0, ends)})
    assert estimate_words(view, 60, NOW_MS) == "~10 min"
    assert estimate_words(busy_view(agent_tallies={}), 60, NOW_MS) == ""


def test_activity_is_anchored_at_zero_and_drawn_to_one_scale() -> None:
    assert activity_bar((), NOW_MS, 12, 4) == ""
    bar = activity_bar((NOW_MS - 1_000,), NOW_MS, 12, 4)
    assert (len(bar), bar.strip()) == (12, "▂")


def test_what_needs_you_is_oldest_first_and_known_holds_come_last() -> None:
    holds = held("agent:coder") | held("folder:1:2/x", "batchdeck", "the folder is missing")
    view = busy_view(holds=holds, fault="the store cannot be written")
    kinds = [(need.kind.value, need.urgent) for need in needs(view)]
    assert kinds == [("fault", True), ("ask", True), ("hold", True), *[("hold", False)] * 2]
    assert [need.hold for need in needs(view)][-2:] == ["agent:coder", "#433"]
    assert urgent_count(needs(view)) == 3


def test_a_lost_turn_needs_you_until_its_task_has_another() -> None:
    lost = turn(1, TurnState.LOST)
    assert urgent_count(needs(view_of([lost], [task(1, Status.FAILED)]))) == 1
    assert urgent_count(needs(view_of([lost, turn(9, task=1)], [task(1, turn=9)]))) == 0


@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("", 11),
        ("status:READY", 9),
        ("agent:reviewer", 2),
        ("status:ready agent:coder", 6),
        ("!agent:coder", 4),
        ("state:queued", 5),
        ("#431", 1),
        ("API", 1),
        ("!api", 10),
        ("target:issue-12", 2),
        ("status:", 11),
        ("http://x", 0),
        ("!", 11),
    ],
)
def test_a_filter_reads_as_the_help_says(text: str, passing: int) -> None:
    view, chosen = busy_view(), read_filter(text)
    found = [t for t in view.turns.values() if chosen.passes(t, view.tasks.get(t.task or -1))]
    assert len(found) == passing


def test_columns_go_by_priority_and_the_rest_is_given_to_the_one_that_stretches() -> None:
    columns = (Column("a", 5), Column("b", 5, drop=2), Column("c", 5, drop=1, most=40))
    assert [placed.number for placed in place_columns(columns, 40)] == [0, 1, 2]
    assert [placed.width for placed in place_columns(columns, 40)] == [5, 5, 26]
    assert [placed.number for placed in place_columns(columns, 13)] == [0, 2]
    assert [placed.number for placed in place_columns(columns, 3)] == [0]


@pytest.mark.parametrize(
    "text", ["", "plain", "日本語のタイトル", "a" + "\u0301" * 1_000, "👩‍💻👩‍💻", "\x1b[2J"]
)
@pytest.mark.parametrize("width", [0, 1, 2, 5, 30])
def test_fitted_text_is_exactly_as_wide_as_it_should_be(text: str, width: int) -> None:
    fitted = fit(text, width)
    assert cell_len(fitted) == width
    assert "\x1b" not in fitted
    assert len(fitted) <= 8 * width + 8


def test_a_folder_is_named_from_the_decks_own() -> None:
    assert short_path("/data/project/docs/api", DECK) == "docs/api"
    home = os.path.expanduser("~")
    assert short_path(f"{home}/notes", DECK) == "~/notes"
    assert short_path(f"{home}/a/b/c/d", DECK) == "…/c/d"
    assert short_path("/very/long/path/to/x", DECK) == "…/to/x"


def test_no_tone_is_the_only_carrier_of_a_state() -> None:
    view = busy_view(holds={"agent:coder": Hold("agent:coder", "op")})
    rows = [turn_row(t, Scene(view, NOW_MS)) for t in view.turns.values()]
    by_symbol = {row[0].text: row[0].tone for row in rows}
    assert len(by_symbol) >= len({tone for tone in by_symbol.values() if tone is not Tone.PLAIN})


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            Event(
                1,
                NOW_MS,
                "limit.changed",
                by="op",
                fields={"name": "global", "before": 4, "after": 6},
            ),
            "global 4 → 6 · by op",
        ),
        (
            Event(1, NOW_MS, "limit.changed", fields={"name": "agent:coder", "after": None}),
            "agent:coder none → none",
        ),
        (
            Event(1, NOW_MS, "task.status", fields={"before": "READY", "status": "DONE"}),
            "READY → DONE",
        ),
        (
            Event(1, NOW_MS, "turn.claimed", agent="coder", fields={"attempt": "3a8cd4"}),
            "coder",
        ),
        (
            Event(
                1,
                NOW_MS,
                "turn.finished",
                agent="coder",
                fields={"state": "failed", "exit_code": 1},
            ),
            "coder · state failed · exit code 1",
        ),
    ],
)
def test_an_event_says_what_changed_and_not_what_only_programs_need(
    event: Event, words: str
) -> None:
    assert event_words(event) == words
