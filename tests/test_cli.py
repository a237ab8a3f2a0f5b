"""The front door: verbs, JSON bodies, exit codes, help that is quick. In this process but where processes matter."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rag.cli import VERBS, main, usage
from rag.engine import QueryEngine
from rag.settings import Settings, env_name
from rag.store import Store
from rag.types import Answer, Filter, Paper, SearchResult
from tests import servers
from tests.corpus import ROWS, write
from tests.fakes import FakeServer
from tests.hashed import MODEL
from tests.servers import CONFAB, environment
from tests.test_store import cut, folder

COFT = "How much does COFT reduce standard bias metrics?"
HEAVY = ("numpy", "pydantic", "chromadb", "llama_index", "tantivy", "onnxruntime", "openai", "fastapi", "tiktoken")


class Terminal:
    """`confab` with some settings, in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str], environ: pytest.MonkeyPatch) -> None:
        self._capture, self._environ = capture, environ
        self.err = ""

    def set(self, settings: Settings) -> None:
        self._environ.setenv("CONFAB_DATA_DIR", str(settings.data_dir))
        self._environ.setenv("CONFAB_EMBED_MODEL", settings.embed_model)

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What is printed. `code` is the exit code that it should end with."""
        try:
            ended = main(arguments)
        except SystemExit as exit_:  # argparse
            ended = int(exit_.code or 0)
        out, self.err = self._capture.readouterr()
        assert ended == code, f"{ended}: {self.err}"
        return out

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code))


@pytest.fixture
def confab(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Terminal:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # no .env of the repository
    return Terminal(capsys, monkeypatch)


@pytest.fixture
def on_sample(confab: Terminal, sample: Settings) -> Terminal:
    confab.set(sample)
    return confab


@pytest.fixture
def on_small(confab: Terminal, small: Settings) -> Terminal:
    confab.set(small)
    return confab


# help


def test_help_names_every_verb_and_exit_code(confab: Terminal) -> None:
    assert confab("--help") == confab("-h") == confab("help") == confab(code=2) == usage()
    assert all(f"\n  {name} " in usage() and verb.help in usage() for name, verb in VERBS.items())
    assert all(f"  {code}  " in usage() for code in range(9))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from rag.cli import main; main(sys.argv[1:]); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_takes_json(confab: Terminal, verb: str) -> None:
    said = confab(verb, "--help")
    assert said.startswith(f"usage: confab {verb}")
    if verb not in ("index", "eval"):  # theirs is an option of each action
        assert "--json" in said


def test_the_version_is_told(confab: Terminal) -> None:
    assert confab("--version").startswith("confab 0.")


def test_a_misspelt_verb_is_refused_with_the_one_that_was_meant(confab: Terminal) -> None:
    confab("serach", "x", code=2)
    assert "did you mean `confab search`?" in confab.err
    confab("qqq", code=2)
    assert "`confab --help` lists the verbs" in confab.err


def test_wrong_usage_ends_with_2(on_sample: Terminal) -> None:
    for wrong in (
        ["ask"], ["search", "x", "-k", "0"], ["search", "x", "-k", "101"], ["ask", " "], ["ask", "x" * 4001],
        ["ask", "x", "--top-k", "51"], ["search", "x", "--year", "soon"], ["search", "x", "--year", "2026-2024"],
        ["ingest"], ["index"], ["index", "burn"], ["config"], ["search", "x", "--nonsense"],
    ):  # fmt: skip
        on_sample(*wrong, code=2)
        assert on_sample.err, wrong


# settings


def test_config_shows_every_setting_with_secrets_masked(confab: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("CONFAB_CHROMA_API_KEY", "ck-very-secret")
    plain, shown = confab("config", "show"), confab.json("config", "show")
    assert "very-secret" not in plain + json.dumps(shown)
    assert shown.keys() == {env_name(field) for field in Settings.model_fields}
    assert all(f"{name}=" in plain for name in shown)
    assert shown["OPENAI_API_KEY"] == "**********"


def test_an_unknown_setting_ends_any_verb_with_2(confab: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFAB_TOPK", "3")
    confab("config", "show", code=2)
    assert "did you mean CONFAB_TOP_K?" in confab.err


def test_the_env_file_of_the_folder_counts(confab: Terminal) -> None:
    Path(".env").write_text("CONFAB_TOP_K=3\n")
    assert confab.json("config", "show")["CONFAB_TOP_K"] == 3


# asking


def test_ask_prints_the_answer_with_its_sources(on_sample: Terminal) -> None:
    said = on_sample("ask", COFT)
    assert "38" in said
    assert any(line.startswith("[1] ") and "ICML 2026; confab show " in line for line in said.splitlines())


def test_ask_prints_the_body_that_chat_answers(on_sample: Terminal, engine: QueryEngine) -> None:
    answer = Answer.model_validate(on_sample.json("ask", COFT, "--top-k", "3"))
    assert answer.answered
    assert len(answer.retrieved) == 3
    [first, *_] = answer.citations
    assert engine.paper(first.paper.id).abstract[first.start : first.end] == first.quote


def test_ask_reads_a_question_from_standard_input(on_sample: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("question").open("w+") as file:
        file.write(COFT)
        file.seek(0)
        monkeypatch.setattr(sys, "stdin", file)
        assert "38" in on_sample("ask", "-")


def test_ask_names_the_nearest_papers_where_none_tells(on_sample: Terminal) -> None:
    assert "Nearest papers (reading, not sources):" in on_sample("ask", "Who won the 2022 football world cup?")


def test_search_prints_the_body_that_search_answers(on_sample: Terminal, engine: QueryEngine) -> None:
    body = SearchResult.model_validate(on_sample.json("search", "bias of language models", "-k", "4"))
    assert body == asyncio.run(engine.search("bias of language models", k=4))
    assert body.hits[0].paper.id in on_sample("search", "bias of language models")


def test_filters_are_the_same_as_over_http(on_sample: Terminal, engine: QueryEngine) -> None:
    [first, second, *_] = [hit.paper.id for hit in asyncio.run(engine.search("bias")).hits]
    hits = on_sample.json("search", "bias", "--id", first, "--id", second, "--venue", "icml", "--year", "2025-2027")
    assert {hit["paper"]["id"] for hit in hits["hits"]} == {first, second}
    assert on_sample("search", "bias", "--year", "1999") == "No paper matches.\n"
    assert asyncio.run(engine.search("bias", filter=Filter(year=(1999, 1999)))).hits == ()


def test_show_prints_a_paper_to_the_letter(on_sample: Terminal, engine: QueryEngine) -> None:
    paper = next(engine.papers())
    assert Paper.model_validate(on_sample.json("show", paper.id)) == paper
    assert paper.abstract in on_sample("show", paper.id)
    on_sample("show", "no such", code=4)
    assert "'no such'" in on_sample.err


# ingesting


def test_ingest_reports_what_it_did(confab: Terminal, empty: Settings, tmp_path: Path) -> None:
    confab.set(empty)
    list_ = str(write(tmp_path / "list.jsonl"))
    assert "gen-000001 is served now: 4 papers" in confab("ingest", list_)
    assert "Nothing new; gen-000001 stays." in confab("ingest", list_)
    assert confab.json("ingest", list_)["kept"] == 4
    assert confab.json("ingest", "--if-empty", list_) == {"generation": "gen-000001"}
    write(tmp_path / "less.jsonl", ROWS[1:])
    assert "1 dropped" in confab("ingest", "--sync", "--dry-run", str(tmp_path / "less.jsonl"))


def test_records_that_are_not_usable_end_with_3_unless_one_is_lenient(on_small: Terminal, tmp_path: Path) -> None:
    list_ = write(tmp_path / "list.jsonl")
    list_.write_text(list_.read_text() + "{broken\n")
    assert "set aside: list.jsonl, line 5: not JSON" in on_small("ingest", str(list_), code=3)
    on_small("ingest", "--lenient", str(list_))
    report = on_small.json("ingest", str(list_), code=3)
    assert report["rejected"][0]["where"] == "line 5"


def test_a_list_that_cannot_be_read_is_named(on_small: Terminal, tmp_path: Path) -> None:
    on_small("ingest", str(tmp_path / "none.txt"), code=4)
    assert "none.txt" in on_small.err
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    on_small("ingest", str(tmp_path / "latin.txt"), code=3)
    assert "latin.txt, line 1: not UTF-8" in on_small.err


def test_a_second_writer_ends_with_7(on_small: Terminal, small: Settings, tmp_path: Path) -> None:
    with Store(small).writer():
        on_small("ingest", str(write(tmp_path / "list.jsonl")), code=7)
        assert f"process {os.getpid()}" in on_small.err
        on_small("index", "purge", code=7)


# the index


def test_generations_are_listed_verified_rolled_back_and_purged(
    on_small: Terminal, small: Settings, tmp_path: Path
) -> None:
    on_small("ingest", "--sync", str(write(tmp_path / "list.jsonl", ROWS[1:])))
    assert [(row["generation"], row["current"], row["papers"]) for row in on_small.json("index", "list")] == [
        ("gen-000001", False, 4),
        ("gen-000002", True, 3),
    ]
    assert "* gen-000002" in on_small("index", "list")
    assert on_small.json("index", "verify") == {"generation": "gen-000002", "problems": []}
    assert on_small.json("index", "rollback") == {"generation": "gen-000001"}
    assert on_small("index", "purge") == "Removed: gen-000002.\n"
    assert on_small("index", "purge") == "Removed: nothing.\n"
    on_small("index", "rollback", code=2)
    on_small("index", "verify", "gen-000009", code=4)
    cut("passages.npy")(folder(small))
    assert "passages.npy does not match the manifest" in on_small("index", "verify", code=6)


def test_without_an_index_every_reader_ends_with_6_and_the_cure(confab: Terminal, empty: Settings) -> None:
    confab.set(empty)
    for verb in (["ask", "x"], ["search", "x"], ["show", "x"], ["index", "verify"], ["ingest", "--rebuild"]):
        confab(*verb, code=6)
        assert "confab ingest PATH" in confab.err
    assert "confab ingest PATH" in confab("index", "list")


def test_an_error_with_json_is_json_on_stderr(confab: Terminal, empty: Settings) -> None:
    confab.set(empty)
    assert confab("ask", "x", "--json", code=6) == ""
    assert json.loads(confab.err)["error"]["type"] == "NoIndex"


# doctor


def test_doctor_says_what_works(on_small: Terminal) -> None:
    checks = {check["name"]: check for check in on_small.json("doctor")}
    assert all(check["ok"] for check in checks.values())
    assert "gen-000001, 4 papers" in checks["index"]["detail"]
    assert "extractive" in checks["answers"]["detail"]


def test_doctor_says_what_does_not_and_what_to_do(
    confab: Terminal, empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    confab.set(empty)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("CONFAB_CHAT_MAX_CALLS", "1")
    said = confab("doctor", code=1)
    assert "ILL  index: there is no index" in said
    assert "ILL  answers: " in said


def test_doctor_asks_the_model_for_one_word(on_small: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer("OK") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert "answers" in on_small("doctor")
        assert len(server.history) == 1


# the pipe


@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"], ["index", "list", "--json"]])
def test_a_reader_of_the_output_who_goes_away_is_no_error(small: Settings, arguments: list[str]) -> None:
    read, write_ = os.pipe()
    os.close(read)
    environ = environment(small.data_dir)
    ended = subprocess.run([*CONFAB, *arguments], stdout=write_, stderr=subprocess.PIPE, text=True, env=environ)
    os.close(write_)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_terminal_that_lacks_a_character_shows_a_question_mark(small: Settings) -> None:
    environ = environment(small.data_dir, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    ended = subprocess.run([*CONFAB, "show", "birds"], capture_output=True, env=environ)
    assert ended.returncode == 0, ended.stderr
    assert b"Sch?lkopf" in ended.stdout


def test_a_terminal_does_not_obey_an_abstract(tmp_path: Path) -> None:
    row = {"id": "e", "abstract": "\u001b[31mRed\u001b[0m and ringing\u0007 words of an abstract that is long enough."}
    listed = tmp_path / "list.jsonl"
    listed.write_text(json.dumps(row))
    folder = tmp_path / "data"
    assert servers.confab("ingest", str(listed), data_dir=folder, CONFAB_EMBED_MODEL=MODEL).returncode == 0
    shown = servers.confab("show", "e", data_dir=folder, CONFAB_EMBED_MODEL=MODEL)
    assert "ringing" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "\x07" not in shown.stdout
