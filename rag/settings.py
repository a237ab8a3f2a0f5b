"""Every setting, once: its name, default, meaning. The only reader of the environment.

Order: keyword > environment > `.env` of the working directory > default. An unknown `CONFAB_*` name
is an error, because a misspelt setting that is silently ignored is worse than none. Settings are read
in the cli rooms and handed down as values; they never build anything.
"""

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from dotenv import dotenv_values
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from rag.errors import SettingsError

PREFIX = "CONFAB_"
STANDARD = {"openai_api_key": "OPENAI_API_KEY", "openai_base_url": "OPENAI_BASE_URL"}


def _decode(value: object) -> object:
    """A table in the environment is written as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else {}
    except ValueError:
        raise ValueError('expected JSON such as {"model": [0.4, 1.6]}') from None


def _none_if_blank(value: object) -> object:
    """`NAME=` in a `.env` file means "not set"."""
    return None if isinstance(value, str) and not value.strip() else value


Secret = Annotated[SecretStr | None, BeforeValidator(_none_if_blank)]
Text = Annotated[str | None, BeforeValidator(_none_if_blank)]
Number = Annotated[float | None, BeforeValidator(_none_if_blank)]


Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    data_dir: Path = Field(Path(".confab"), description="Folder of all state: generations of the index, caches, locks.")
    embed_model: str = Field(
        "e5",
        description="Embedding model: `e5` (ships in a package), `openai:NAME`, `fastembed:NAME`, "
        "`llama-index:module.Class`.",
    )
    embed_base_url: Text = Field(None, description="Server for `openai:` embeddings, where it is not OPENAI_BASE_URL.")
    embed_api_key: Secret = Field(None, description="Its key, where it is not OPENAI_API_KEY.")
    embed_batch_tokens: int = Field(4096, ge=256, description="Tokens in one batch of texts to embed.")
    chunk_tokens: int = Field(
        512, ge=64, le=8192, description="Longest passage in tokens; an abstract is normally one."
    )
    chat_model: str = Field(
        "gpt-4.1-mini", min_length=1, description="Model that answers, once a key or base URL is set."
    )
    openai_api_key: Secret = Field(None, description="Key of the OpenAI-protocol server that answers.")
    openai_base_url: Text = Field(
        None,
        description="Its address, for vLLM, Ollama, llama.cpp and others (OpenAI's own where unset).",
    )
    chat_first_token_seconds: float = Field(30, gt=0, le=86_400, description="Longest wait for a model's first token.")
    chat_idle_seconds: float = Field(15, gt=0, le=86_400, description="Longest silence between two tokens.")
    chat_total_seconds: float = Field(120, gt=0, le=86_400, description="Longest time for one answer of the model.")
    chat_max_calls: int = Field(3, ge=1, le=3, description="Most calls to the model's server for one question.")
    prompt_tokens: int = Field(6000, ge=500, description="Token budget for the abstracts shown to the model.")
    answer_tokens: int = Field(800, ge=50, description="Most tokens the model may say in one answer.")
    judge_model: Text = Field(
        None, description="Model that judges answers in `confab eval judge` (CONFAB_CHAT_MODEL where unset)."
    )
    judge_base_url: Text = Field(None, description="Its server, where it is not OPENAI_BASE_URL.")
    judge_api_key: Secret = Field(None, description="Its key, where it is not OPENAI_API_KEY.")
    prices: Annotated[dict[str, tuple[Price, Price]], BeforeValidator(_decode)] = Field(
        {}, description='Price per million tokens: `{"model": [prompt, completion]}`. Unpriced models cost `null`.'
    )
    top_k: int = Field(8, ge=1, le=50, description="Papers retrieved for a question.")
    legs: Literal["hybrid", "dense", "lexical"] = Field(
        "hybrid", description="Search legs in use: `hybrid`, `dense` or `lexical`."
    )
    sentence_stage: bool = Field(True, description="Second stage: candidates scored again by their best sentence.")
    abstain_below: Number = Field(
        None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Evidence below which Confab abstains (calibrated default where unset; 0 never abstains).",
    )
    chroma_url: Text = Field(None, description="Chroma server that holds the vectors, in place of the data folder.")
    chroma_api_key: Secret = Field(None, description="Key for Chroma Cloud.")
    chroma_tenant: str = Field("default_tenant", description="Tenant on the Chroma server.")
    chroma_database: str = Field("default_database", description="Database on the Chroma server.")
    host: str = Field("127.0.0.1", description="Address that `confab serve` listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that `confab serve` listens on (0: any free one).")
    max_body_bytes: int = Field(1_000_000, ge=1000, description="Largest request body.")
    max_question_chars: int = Field(4000, ge=10, description="Longest question, in characters.")
    search_threads: int = Field(2, ge=1, le=64, description="Threads that embed questions and search.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What goes to stderr.")

    @property
    def has_llm(self) -> bool:
        return self.openai_api_key is not None or self.openai_base_url is not None


def env_name(field: str) -> str:
    return STANDARD.get(field, PREFIX + field.upper())


def load(environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env"), **given: Any) -> Settings:
    """Settings from keyword arguments, environment and `.env`. Raises SettingsError."""
    known = {env_name(field): field for field in Settings.model_fields}
    found: dict[str, Any] = {}
    for source, values in _sources(os.environ if environ is None else environ, dotenv):
        for name, value in values.items():
            if name in known and not value.strip():
                found.pop(known[name], None)  # `NAME=` means "not set", also where an earlier source sets it
            elif name in known:
                found[known[name]] = value
            elif name.startswith(PREFIX):
                raise SettingsError(f"{source} sets {name}, which is no setting of Confab{_hint(name, known)}")
    try:
        return Settings(**(found | given))
    except ValidationError as error:
        raise SettingsError(_explain(error)) from None


def _sources(environ: Mapping[str, str], dotenv: Path | None) -> Iterator[tuple[str, Mapping[str, str]]]:
    if dotenv is not None and dotenv.is_file():
        try:
            values = dotenv_values(dotenv, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{dotenv} cannot be read ({error}); it should be UTF-8 lines of NAME=value") from None
        yield str(dotenv), {name: value or "" for name, value in values.items()}
    yield "the environment", environ


def _hint(name: str, known: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else "; `confab config show` lists them all"


def _explain(error: ValidationError) -> str:
    parts = []
    for problem in error.errors(include_url=False, include_input=True):
        field = str(problem["loc"][0])
        shown = "" if field.endswith("key") else f" (it is {problem['input']!r})"
        parts.append(f"{env_name(field)}: {problem['msg']}{shown}")
    return "; ".join(parts)


def shown(settings: Settings) -> dict[str, Any]:
    """Name -> value of every setting, secrets masked: what `config show` prints."""
    values = settings.model_dump(mode="json")
    return {env_name(field): _masked(values[field]) for field in Settings.model_fields}


def _masked(value: Any) -> Any:
    """An address without the user and password that may stand in it."""
    return re.sub(r"//[^/@\s]*@", "//**********@", value) if isinstance(value, str) else value


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None or value == {}:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def example() -> str:
    """The text of `.env.example`: every setting, commented out, with its default."""
    lines = ["# Every setting of Confab with its default. Copy to .env and take away the # where you change one."]
    for name, field in Settings.model_fields.items():
        lines += ["", f"# {field.description}", f"#{env_name(name)}={_default(field)}"]
    return "\n".join(lines) + "\n"


def table() -> str:
    """The settings table of the README, Markdown."""
    rows = ["| setting | default | meaning |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = _default(field)
        rows.append(f"| `{env_name(name)}` | {f'`{default}`' if default else ''} | {field.description} |")
    return "\n".join(rows) + "\n"
