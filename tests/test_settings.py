"""Every setting once: where it comes from, what is refused, what is shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from rag import settings
from rag.errors import SettingsError
from rag.settings import Settings, env_name, load, shown

ROOT = Path(__file__).parent.parent
SECRETS = [name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)]


def test_the_example_file_is_complete() -> None:
    assert (ROOT / ".env.example").read_text("utf-8") == settings.example(), (
        "write it anew: python -c 'from rag.settings import example; print(example(), end=\"\")' > .env.example"
    )


def test_the_example_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(settings.example())
    assert load({}, tmp_path / ".env") == Settings()


def test_the_example_with_every_line_taken_in_is_the_defaults_too(tmp_path: Path) -> None:
    lines = settings.example().splitlines()
    (tmp_path / ".env").write_text("\n".join(line[1:] if line[:2] in ("#C", "#O") else line for line in lines[1:]))
    assert load({}, tmp_path / ".env") == Settings()


def test_the_table_names_every_setting() -> None:
    rows = settings.table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [env_name(field) for field in Settings.model_fields]


def test_every_setting_says_what_it_means() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_a_keyword_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("CONFAB_TOP_K=3\nCONFAB_PORT=1\nCONFAB_HOST=::1\n")
    found = load({"CONFAB_TOP_K": "4", "CONFAB_PORT": "2"}, file, top_k=5)
    assert (found.top_k, found.port, found.host, found.legs) == (5, 2, "::1", "hybrid")


def test_no_file_is_no_error(tmp_path: Path) -> None:
    assert load({}, tmp_path / ".env") == Settings()


def test_a_misspelt_name_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(SettingsError, match=r"the environment sets CONFAB_TOPK.*did you mean CONFAB_TOP_K\?"):
        load({"CONFAB_TOPK": "4"}, None)


def test_an_unknown_name_in_the_file_is_refused_naming_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CONFAB_QQQQQQ=1\n")
    with pytest.raises(SettingsError, match=r"\.env sets CONFAB_QQQQQQ.*config show"):
        load({}, tmp_path / ".env")


def test_names_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ALLOW_RESET=TRUE\nAWS_REGION=x\n")
    assert load({"PATH": "/bin"}, tmp_path / ".env") == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONFAB_TOP_K", "0"),
        ("CONFAB_TOP_K", "many"),
        ("CONFAB_PORT", "70000"),
        ("CONFAB_LEGS", "both"),
        ("CONFAB_PRICES", "cheap"),
        ("CONFAB_CHUNK_TOKENS", "3"),
        ("CONFAB_SENTENCE_STAGE", "perhaps"),
    ],
)
def test_an_unusable_value_is_one_sentence_with_name_and_value(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({name: value}, None)
    assert name in caught.value.message
    assert value in caught.value.message


def test_a_price_that_lacks_its_half_is_refused() -> None:
    with pytest.raises(SettingsError, match="CONFAB_PRICES"):
        load({"CONFAB_PRICES": '{"m": [1]}'}, None)


def test_a_blank_means_not_set() -> None:
    assert load({"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": "", "CONFAB_ABSTAIN_BELOW": ""}, None) == Settings()


@pytest.mark.parametrize("field", Settings.model_fields)
def test_any_blank_is_the_default_also_over_what_a_file_sets(tmp_path: Path, field: str) -> None:
    (tmp_path / ".env").write_text(f"{env_name(field)}=1\n")
    assert load({env_name(field): " "}, tmp_path / ".env") == Settings()


def test_prices_are_written_as_json() -> None:
    assert load({"CONFAB_PRICES": '{"m": [0.4, 1.6]}'}, None).prices == {"m": (0.4, 1.6)}


def test_a_file_that_is_no_utf8_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"CONFAB_HOST=\xff\xfe\n")
    with pytest.raises(SettingsError, match=r"\.env cannot be read.*UTF-8"):
        load({}, tmp_path / ".env")


def test_a_key_or_an_address_sets_the_model_up() -> None:
    assert not Settings().has_llm
    assert Settings(openai_api_key=SecretStr("sk-1")).has_llm
    assert Settings(openai_base_url="http://127.0.0.1:1/v1").has_llm


@given(st.sampled_from(SECRETS), st.text("abcdefghijklmnop-123456", min_size=6).filter(lambda s: s.strip("*")))
def test_a_secret_is_never_shown(field: str, secret: str) -> None:
    made = load({env_name(field): f"sk-{secret}"}, None)
    assert f"sk-{secret}" not in f"{shown(made)} {made!r} {made} {made.model_dump(mode='json')}"
    assert shown(made)[env_name(field)] == "**********"


def test_a_secret_that_is_refused_is_not_in_the_message() -> None:
    with pytest.raises(SettingsError) as caught:
        load({}, None, openai_api_key=["sk-very-secret"])
    assert "sk-very" not in caught.value.message


def test_every_secret_is_named_key() -> None:
    assert len(SECRETS) >= 3
    assert all(name.endswith("key") for name in SECRETS)  # by which messages know what not to show
