"""Every real sample is read, with so many papers and so many records set aside, its quirks included."""

from pathlib import Path

import pytest

from ingest.gather import Gathered, gather
from ingest.read import detect
from ingest.record import Reading

SAMPLES = Path(__file__).parent.parent.parent / "shared" / "data" / "samples"

pytestmark = pytest.mark.skipif(not SAMPLES.exists(), reason="NO ../shared: the real samples are NOT read")

EXPECTED = {
    "arxiv_atom.xml": ("atom", 10, 0),
    "arxiv_atom_missing_id.xml": ("atom", 1, 0),
    "arxiv_daily.jsonl": ("jsonl", 18, 0),
    "arxiv_kaggle_snapshot.jsonl": ("json", 1, 0),
    "asreview_duplicate_records.csv": ("csv", 0, 14),
    "asreview_generic_semicolon.csv": ("csv", 2, 0),
    "asreview_generic_tab.tsv": ("csv", 2, 0),
    "asreview_missing_values.csv": ("csv", 2, 2),
    "embase.csv": ("csv", 4, 0),
    "icmlcc_download_2024.json": ("json", 2, 8),
    "icmlcc_events_2026.csv": ("csv", 0, 16),
    "icmlcc_posters_2026_html.json": ("json", 9, 0),
    "miniconf_emnlp2020_main_papers.csv": ("csv", 6, 0),
    "miniconf_iclr2020_papers.json": ("json", 4, 0),
    "openalex_works.reencoded.json": ("json", 5, 1),
    "openreview_api2_notes.reencoded.json": ("json", 5, 2),
    "openreview_iclr2021.tsv": ("csv", 9, 0),
    "openreview_iclr2026_bom_crlf.csv": ("csv", 8, 0),
    "openreview_neurips2023.csv": ("csv", 4, 5),
    "ovid_psycinfo.ris": ("ris", 3, 0),
    "papercopilot_iclr2018.json": ("json", 8, 4),
    "papercopilot_icml2019.json": ("json", 6, 1),
    "papercopilot_kdd2024_no_abstracts.json": ("json", 0, 5),
    "plain_seed.txt": ("plain", 19, 0),
    "pmlr_colt2025.bib": ("bibtex", 11, 1),
    "pmlr_posts/2025-07-02-agrawal25a.md": ("pmlr", 1, 0),
    "pmlr_posts/2025-07-02-akbari25a.md": ("pmlr", 1, 0),
    "pmlr_posts/2025-07-02-aliakbarpour25a.md": ("pmlr", 1, 0),
    "pmlr_posts/2025-07-02-appel25a.md": ("pmlr", 1, 0),
    "pubmed_endnote.txt": ("ris", 2, 0),
    "pubmed_zotero.ris": ("ris", 3, 0),
    "scopus.ris": ("ris", 2, 0),
    "semantic_scholar_batch.json": ("json", 3, 1),
    "semantic_scholar_paper.json": ("json", 1, 0),
    "web_of_science.txt": ("wos", 2, 0),
    "zotero.ris": ("ris", 8, 0),
}
"""File -> form found, papers, records set aside."""


def read(name: str, **how: object) -> Gathered:
    return gather([SAMPLES / name], Reading.model_validate(how))


def test_no_sample_is_forgotten() -> None:
    assert set(EXPECTED) == {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_gives_its_papers_and_says_what_it_set_aside(name: str) -> None:
    came = read(name)
    text = (SAMPLES / name).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    assert (detect.form(text, {}, name), len(came.papers), len(came.rejected)) == EXPECTED[name]
    for paper in came.papers:
        assert "<p>" not in paper.abstract
        assert "&lt;" not in paper.abstract
        assert "\r" not in paper.abstract + (paper.title or "")


@pytest.mark.parametrize(
    ("name", "kept"),
    [("icmlcc_events_2026.csv", 16), ("papercopilot_kdd2024_no_abstracts.json", 5), ("papercopilot_icml2019.json", 7),
     ("icmlcc_download_2024.json", 2)],
)  # fmt: skip
def test_titles_alone_are_kept_where_one_asks_for_them(name: str, kept: int) -> None:
    assert len(read(name, keep_title_only=True).papers) == kept


def test_the_users_list_is_kept_to_the_letter() -> None:
    raw = (SAMPLES / "plain_seed.txt").read_text("utf-8")
    papers = read("plain_seed.txt").papers
    assert "\n\n".join(["ICML 2026 论文列表", *(p.abstract for p in papers)]) == raw.strip()
    assert {(p.venue, p.year, p.title_derived) for p in papers} == {("ICML", 2026, True)}


def test_html_of_the_conference_becomes_markdown_with_its_paragraphs() -> None:
    paper = read("icmlcc_posters_2026_html.json").papers[0]
    assert (paper.id, paper.authors[0], len(paper.authors)) == ("68773", "Viet-Hung Tran", 7)
    assert "\n\nSpecifically, our novel" in paper.abstract
    assert "reconstructing private training data" in paper.abstract
    assert "collectively degrade MI" in paper.abstract


def test_addresses_of_the_conference_tell_venue_year_and_id() -> None:
    came = read("icmlcc_download_2024.json")
    paper = came.papers[0]
    assert (paper.id, paper.venue, paper.year) == ("icml2024-35005", "ICML", 2024)
    assert paper.url == "https://icml.cc/virtual/2024/poster/35005"
    assert [r.reason for r in came.rejected].count("no paper but another event (Tutorial)") == 4
    assert all(r.final for r in came.rejected)


def test_withdrawn_and_rejected_are_named() -> None:
    reasons = [r.reason for r in read("papercopilot_iclr2018.json").rejected]
    assert reasons == ["rejected (decision: Reject)"] * 2 + ["withdrawn (decision: Withdraw)"] * 2
    notes = read("openreview_api2_notes.reencoded.json")
    assert [r.reason[:18] for r in notes.rejected] == ["withdrawn (status:", "no usable abstract"]
    assert {(p.venue, p.year, p.extra["decision"]) for p in notes.papers} == {("ICML", 2026, "regular")}


def test_broken_rows_are_named_by_line_and_columns() -> None:
    came = read("openreview_neurips2023.csv")
    assert [r.where for r in came.rejected] == [f"line {n}" for n in range(6, 11)]
    assert came.rejected[2].reason == "13 columns where the header has 5"
    assert came.papers[0].id == "vq11gurmUY"


def test_a_byte_order_mark_and_line_breaks_in_cells_do_no_harm() -> None:
    paper = read("openreview_iclr2026_bom_crlf.csv").papers[0]
    assert (paper.id, paper.venue, paper.year) == ("248ysaRatx", "ICLR", 2026)
    assert (paper.topic, paper.extra["decision"]) == ("learning theory", "Poster")


def test_bibtex_has_accents_decoded_and_the_venue_of_its_volume() -> None:
    came = read("pmlr_colt2025.bib")
    paper = came.papers[2]
    assert paper.authors[2] == "Clément Canonne"
    assert (paper.id, paper.venue, paper.year) == ("v291-aliakbarpour25", "COLT", 2025)
    assert r"\textit{both average reward and episodic} settings" in came.papers[0].abstract
    assert came.rejected[0].reason == "no paper but front matter"


def test_a_post_of_pmlr_names_its_own_page() -> None:
    paper = read("pmlr_posts/2025-07-02-akbari25a.md").papers[0]
    assert (paper.authors, paper.venue, paper.year) == (("Syed Akbari", "Matthew Harrison-Trainor"), "COLT", 2025)
    assert paper.url == "https://proceedings.mlr.press/v291/akbari25a.html"


def test_every_variant_of_ris_gives_title_abstract_names_and_year() -> None:
    for name in ("zotero.ris", "scopus.ris", "ovid_psycinfo.ris", "pubmed_zotero.ris", "pubmed_endnote.txt",
                 "web_of_science.txt"):  # fmt: skip
        for paper in read(name).papers:
            assert not paper.title_derived
            assert paper.id.startswith("10.")
            assert paper.year
            assert paper.authors
            assert "," not in paper.authors[0]
    assert read("ovid_psycinfo.ris").papers[0].authors[0] == "Ines A Trindade"


def test_papers_of_apis_are_read_and_what_they_cite_is_not() -> None:
    (turing,) = read("semantic_scholar_paper.json").papers
    assert (turing.title, turing.year, turing.authors) == ("Computing Machinery and Intelligence", 1950, ("A. Turing",))
    assert "references" not in turing.extra
    work = read("openalex_works.reencoded.json").papers[0]
    assert work.abstract.startswith("This paper describes a new online convex optimization method which incorporates a")
    assert (work.venue, work.year) == ("ICML", 2013)


def test_arxiv_in_all_its_forms_has_number_year_and_page() -> None:
    (old,) = read("arxiv_kaggle_snapshot.jsonl").papers
    assert (old.id, old.year, old.authors[0]) == ("0704.0001", 2007, "C. Balázs")
    assert old.title == "Calculation of prompt diphoton production cross sections at Tevatron and LHC energies"
    assert "quantum chromodynamics is presented for" in old.abstract
    atom, daily = read("arxiv_atom.xml").papers[0], read("arxiv_daily.jsonl").papers
    assert (atom.id, atom.venue, atom.url) == ("2202.12139", "arXiv", "https://arxiv.org/abs/2202.12139")
    assert len({p.id for p in daily}) < len(daily)  # the same paper twice
    assert all("\n" not in p.abstract for p in daily)


def test_rows_that_share_a_number_and_no_title_are_two_papers() -> None:
    one, two = read("asreview_generic_semicolon.csv").papers
    assert (one.id, one.authors) == ("12345", ("Marx, Karl", "Lindgren, Astrid"))
    assert len(two.id) == 16
    assert [p.id for p in read("asreview_generic_tab.tsv").papers] == [one.id, two.id]
