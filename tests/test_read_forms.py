"""Tiny lists of every form, of our own making: form -> papers. They prove the readers where ../shared is not."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ingest.clean import clean
from ingest.gather import gather
from ingest.read import detect, fields, source
from ingest.record import Reading, Record, Rejected
from rag.types import Paper

ABSTRACT = "We prune large models without retraining and lose nothing. It works on images and on text."
OTHER = "We count birds from space with a small network. It finds nine of ten birds in the far north."


def read(text: str | bytes, **how: Any) -> tuple[list[Paper], list[Rejected]]:
    raw = text.encode() if isinstance(text, str) else text
    made = [entry if isinstance(entry, Rejected) else clean(entry, "list")
            for entry in source.read_bytes(raw, "list", Reading(**how))]  # fmt: skip
    return [m for m in made if isinstance(m, Paper)], [m for m in made if isinstance(m, Rejected)]


def one(text: str | bytes | Any, **how: Any) -> Paper:
    (paper,), aside = read(text if isinstance(text, (str, bytes)) else json.dumps(text), **how)
    assert not aside
    return paper


FORMS = {
    "plain": f"ICML 2026\n\nPruning\n\n{ABSTRACT * 2}",
    "json": json.dumps([{"title": "Pruning", "abstract": ABSTRACT}]),
    "jsonl": json.dumps({"title": "Pruning", "abstract": ABSTRACT}) + "\n" + json.dumps({"title": "Else"}),
    "csv": f'title,abstract\nPruning,"{ABSTRACT}"\n',
    "bibtex": f"% a comment\n@article{{lee, title = {{Pruning}}, abstract = {{{ABSTRACT}}}}}",
    "ris": f"TY  - JOUR\nTI  - Pruning\nAB  - {ABSTRACT}\nER  - \n",
    "wos": f"FN Clarivate\nVR 1.0\nPT J\nTI Pruning\nAB {ABSTRACT}\nER\n\nEF",
    "pubmed": f"\nPMID- 7\nTI  - Pruning\nAB  - {ABSTRACT.replace('. ', '.' + chr(10) + '      ')}\n",
    "endnote": f"%0 Journal Article\n%T Pruning\n%A Lee, Ann\n%X {ABSTRACT}\n",
    "atom": f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/1.2v3</id>'
    f"<title>Pruning</title><summary>{ABSTRACT}</summary></entry></feed>",
    "pmlr": f"---\ntitle: Pruning\nabstract: '{ABSTRACT}'\nvolume: '3'\nid: lee\n---\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_form_is_found_by_its_content_and_read(form: str, packed: bool) -> None:
    assert detect.form(FORMS[form], {}, "list") == form
    raw = FORMS[form].encode()
    papers, _ = read(gzip.compress(raw) if packed else raw)
    assert papers[0].title == "Pruning"
    assert papers[0].abstract.startswith(ABSTRACT)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_can_be_named(form: str) -> None:
    assert read(FORMS[form], form=form)[0][0].title == "Pruning"


# names of fields


@pytest.mark.parametrize(
    ("field", "name"),
    [(field, name) for field, names in fields.ALIASES.items() for name in names if field != "abstract"],
)
def test_a_field_is_known_by_each_of_its_names(field: str, name: str) -> None:
    value = "2024" if field == "year" else "https://a.org/x" if field == "url" else "Ann Lee"
    made = fields.ours({name.upper(): value}, {})
    assert str(made[field]) == value


@pytest.mark.parametrize("name", ["paperAbstract", "Paper Abstract", "summary", "摘要", "ABSTRACT"])
def test_an_abstract_is_known_by_other_names(name: str) -> None:
    assert one([{name: ABSTRACT}]).abstract == ABSTRACT


def test_our_own_name_wins_over_another_and_the_other_is_kept() -> None:
    paper = one([{"summary": "short", "abstract": ABSTRACT, "url": "https://a.org", "link": "https://b.org"}])
    assert (paper.abstract, paper.url, paper.extra) == (
        ABSTRACT,
        "https://a.org",
        {"summary": "short", "link": "https://b.org"},
    )


def test_a_map_tells_names_that_nobody_knows() -> None:
    raw = f"Titel;Kurzfassung\nPruning;{ABSTRACT}\n"
    assert one(raw, mapping={"title": "Titel", "abstract": "Kurzfassung"}).title == "Pruning"


# tables


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_any_sane_delimiter_is_found(mark: str) -> None:
    assert (
        one(mark.join(["title", "year", "abstract"]) + "\n" + mark.join(["Pruning", "2024.0", ABSTRACT])).year == 2024
    )


def test_a_broken_row_costs_itself_and_a_quote_that_never_closes_not_the_rest() -> None:
    good = "\n".join(f"T{n},{ABSTRACT} {n}" for n in range(5))
    papers, aside = read(f'title,abstract\nA,B,C\nX,"open\n{good}\n')
    assert len(papers) == 5
    assert [r.where for r in aside] == ["line 2", "line 3"]
    assert "never closed" in aside[1].reason


def test_tabs_without_quoting_keep_their_quotes() -> None:
    assert one(f'title\tabstract\n"Open\t{ABSTRACT}\n').title == '"Open'
    assert one(f'title\tabstract\n"Two\nlines"\t{ABSTRACT}\n').title == "Two lines"


# JSON


@pytest.mark.parametrize("around", ["results", "papers", "data", "anything"])
def test_a_list_within_an_object_is_found(around: str) -> None:
    assert one({"count": 1, around: [{"title": "Pruning", "abstract": ABSTRACT}]}).title == "Pruning"


def test_papers_by_their_ids_are_a_list_too() -> None:
    assert one({"p1": {"title": "Pruning", "abstract": ABSTRACT}}).id == "p1"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_break_in_a_json_list_costs_one_paper(indent: int | None) -> None:
    rows = [json.dumps({"title": f"T{n}", "abstract": f"{ABSTRACT} {n}"}, indent=indent) for n in range(4)]
    rows[1] = rows[1].replace('"abstract":', '"abstract"')
    papers, aside = read("[\n" + ",\n".join(rows) + "\n]")
    assert [p.title for p in papers] == ["T0", "T2", "T3"]
    assert aside[0].where.startswith("record 2 (line")


def test_a_json_list_that_was_cut_off_keeps_what_came_before() -> None:
    text = json.dumps([{"title": f"T{n}", "abstract": ABSTRACT} for n in range(3)])[:-40]
    papers, aside = read(text)
    assert ([p.title for p in papers], len(aside)) == (["T0", "T1"], 1)
    assert "cannot be read" in aside[0].reason


# sources


def test_notes_of_openreview_are_read_and_marked() -> None:
    def note(id_: str, **content: Any) -> dict[str, Any]:
        told = {"title": "Pruning", "abstract": ABSTRACT, "authors": ["Ann Lee"], **content}
        return {"id": id_, "forum": id_, "content": {name: {"value": value} for name, value in told.items()}}

    marks = ("", "/Withdrawn_Submission", "/Rejected_Submission", "/Desk_Rejected_Submission")
    marks = tuple(f"ICLR.cc/2025/Conference{mark}" for mark in marks)
    papers, aside = read(json.dumps({"notes": [note(f"id{n}aaaa", venueid=mark) for n, mark in enumerate(marks)]}))
    assert [(p.venue, p.year, p.url) for p in papers] == [("ICLR", 2025, "https://openreview.net/forum?id=id0aaaa")]
    assert [r.reason.split(" (")[0] for r in aside] == ["withdrawn", "rejected", "desk-rejected"]
    assert all(r.final for r in aside)


def test_a_conference_site_is_read_with_addresses_that_lack_the_host() -> None:
    paper = one({"results": [{"id": 93, "name": "Pruning", "abstract": f"<p>{ABSTRACT}</p>", "eventtype": "Poster",
                              "authors": [{"fullname": "Ann Lee"}], "virtualsite_url": "/virtual/2024/poster/93",
                              "sourceurl": "https://openreview.net/group?id=NeurIPS.cc/2024/Conference"}]})  # fmt: skip
    assert (paper.id, paper.venue, paper.year, paper.authors) == ("neurips2024-93", "NeurIPS", 2024, ("Ann Lee",))
    assert paper.url == "https://neurips.cc/virtual/2024/poster/93"


def test_openalex_semantic_scholar_papercopilot_and_arxiv_are_known_by_their_fields() -> None:
    words = ABSTRACT.split()
    places = {word: [n for n, w in enumerate(words) if w == word] for word in words}
    assert (
        one([{"id": "https://openalex.org/W1", "title": "P", "abstract_inverted_index": places}]).abstract == ABSTRACT
    )
    assert one([{"paperId": "abc", "title": "P", "abstract": ABSTRACT, "journal": {"name": "J"}}]).venue == "J"
    assert one([{"track": "main", "status": "Oral", "author": "Ann Lee;Bo Wu", "title": "P", "abstract": ABSTRACT,
                 "id": "7", "site": "https://iclr.cc/virtual/2020/poster/7"}]).id == "iclr2020-7"  # fmt: skip
    paper = one([{"id": "2501.00001", "authors_parsed": [["Lee", "Ann", ""]], "title": "P", "abstract": ABSTRACT}])
    assert (paper.authors, paper.year, paper.venue) == (("Ann Lee",), 2025, "arXiv")


def test_bibtex_takes_strings_crossrefs_and_twice_used_keys() -> None:
    papers, aside = read(
        '@string{icml = "International Conference on Machine Learning"}\n'
        f"@inproceedings{{a, title={{The {{{{GAN}}}} Zoo}}, author={{Sch\\\"olkopf, Bernhard and {{\\'E}}va Tar}},"
        f" booktitle=icml, year=2019, abstract={{{ABSTRACT}}}}}\n"
        f"@inproceedings{{a, title={{Other}}, abstract={{{OTHER}}}}}\n"
        "@article{broken, title={never closed"
    )
    assert [(p.title, p.authors, p.venue, p.year) for p in papers] == [
        ("The GAN Zoo", ("Bernhard Schölkopf", "Éva Tar"), "ICML", 2019),
        ("Other", (), None, None),
    ]
    assert papers[0].id == "a" != papers[1].id
    assert aside[0].reason.startswith("no BibTeX entry")


def test_ris_without_an_end_or_with_other_blanks_is_read() -> None:
    papers, _ = read(f"TY - JOUR\nT1 - One\nN2 - {ABSTRACT}\nTY - JOUR\nT1 - Two\nAB - {OTHER}\nPY - 2019//\n")
    assert [(p.title, p.year) for p in papers] == [("One", None), ("Two", 2019)]


def test_entities_of_xml_and_yaml_that_refers_to_itself_are_refused() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><feed><entry>&a;</entry></feed>'
    with pytest.raises(source.InputError, match="entities"):
        read(bomb)
    _, aside = read("---\ntitle: &a [x, x]\nabstract: [*a, *a]\n---\n")
    assert "refers to itself" in aside[0].reason


def test_records_keep_the_place_they_had() -> None:
    entries = [e for e in source.read_bytes(FORMS["jsonl"].encode(), "list") if isinstance(e, Record)]
    assert [e.where for e in entries] == ["line 1", "line 2"]


def test_one_broken_line_among_ten_thousand_costs_one_paper(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"p{n}", "title": f"T{n}", "abstract": f"{ABSTRACT} {n}"}) for n in range(10_000)]
    lines[6000] = lines[6000][:-3]
    path = tmp_path / "list.jsonl"
    path.write_text("\n".join(lines))
    came = gather([path])
    assert (len(came.papers), [r.where for r in came.rejected]) == (9_999, ["line 6001"])
