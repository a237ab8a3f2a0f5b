"""What a run was: enough to run it again, and to refuse to mix two runs in one folder."""

import importlib.metadata
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals import cases as sets
from evals.cases import Case
from evals.run import Plan
from rag import prompts
from rag.errors import UsageError
from rag.settings import Settings, env_name, shown

PACKAGES = (
    "confab", "chromadb", "llama-index-core", "onnxruntime", "tantivy", "tokenizers", "openai", "numpy", "ir-measures",
    "scipy",
)  # fmt: skip
LOCAL = (
    "data_dir", "host", "port", "log_level", "max_body_bytes", "max_question_chars", "search_threads",
    "embed_batch_tokens", "openai_api_key", "judge_model", "judge_base_url", "judge_api_key",
    "embed_api_key", "chroma_api_key",
)  # fmt: skip
"""Settings that say where and how fast, and nothing about what is answered."""
SAME = ("set", "mode", "depth", "generation", "settings", "prompts")
"""What must be equal for a run to be taken up again in its folder."""


def manifest(
    name: str, cases: Sequence[Case], plan: Plan, settings: Settings, engine: Any, **more: Any
) -> dict[str, Any]:
    """Everything of a run but its outcomes. `engine` gives generation and status (models, counts)."""
    return {
        "set": {"name": name, "digest": sets.digest(cases), "questions": len(cases)},
        "mode": "answers" if plan.answers else "retrieval",
        "depth": plan.depth,
        "top_k": plan.top_k,
        "concurrency": plan.concurrency,
        "generation": engine.generation,
        "engine": engine.status(),
        "settings": configuration(settings),
        "prompts": prompts.fingerprint(),
        "git": revision(Path(__file__).parent),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "machine": platform.machine(),
        **more,
    }


def configuration(settings: Settings) -> dict[str, Any]:
    """Settings that bear on answers: no secret and no path of this machine."""
    local = {env_name(field) for field in LOCAL}
    return {name: value for name, value in shown(settings).items() if name not in local}


def refuse_other(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Raises UsageError where `folder` holds a run of something else."""
    differing = [name for name in SAME if old.get(name) != new.get(name)]
    if differing:
        raise UsageError(
            f"{folder} holds a run with another {', '.join(differing)}; save to another folder, or give --fresh "
            "to run it anew"
        )


def revision(folder: Path) -> str | None:
    """The git revision, with "+changes" where files were changed; None outside a repository."""
    git = shutil.which("git")
    if git is None:
        return None
    try:
        head = _git(git, folder, "rev-parse", "HEAD")
        return head + ("+changes" if _git(git, folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (subprocess.SubprocessError, OSError):
        return None


def _git(git: str, folder: Path, *words: str) -> str:
    done = subprocess.run([git, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
