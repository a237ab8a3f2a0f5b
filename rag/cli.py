"""The front door `confab`: a table verb -> room, loaded when called, so that help is quick."""

import argparse
import difflib
import importlib
import io
import json
import os
import sqlite3
import sys
from collections.abc import Sequence
from typing import NamedTuple

from rag.errors import ConfabError, Corrupt, StorageError, UsageError


class Verb(NamedTuple):
    """`room` is a module with ``add_arguments(parser)`` and ``run(args, settings) -> exit code``."""

    room: str
    help: str


VERBS = {
    "ingest": Verb("ingest.cli", "bring paper lists into the index: PATH..."),
    "ask": Verb("rag.terminal.ask", "answer a question, with citations"),
    "search": Verb("rag.terminal.search", "find papers"),
    "show": Verb("rag.terminal.show", "print a paper with its abstract"),
    "serve": Verb("api.cli", "answer over HTTP, with a web page"),
    "index": Verb("rag.terminal.index", "list, verify, roll back or purge generations of the index"),
    "eval": Verb("evals.cli", "measure answers and retrieval on question sets"),
    "doctor": Verb("rag.terminal.doctor", "what is configured, what works, what to do"),
    "config": Verb("rag.terminal.config", "show the settings, secrets masked"),
}

EXIT_CODES = """exit codes:
  0  done                         5  an evaluation gate failed
  1  a bug, or doctor found ills  6  the index is missing or unusable
  2  wrong usage or setting       7  another process is writing
  3  some input was not usable    8  a model or server we call failed
  4  not found                    9  the disk is full or failed
                                130  interrupted"""


def usage() -> str:
    rows = "\n".join(f"  {name:8} {verb.help}" for name, verb in VERBS.items())
    return (
        "usage: confab VERB [ARGUMENTS]\n\nCited answers to questions about machine-learning papers, or an honest "
        f"'the corpus does not tell'.\n\nverbs:\n{rows}\n\n`confab VERB --help` tells the rest. Every verb takes "
        f"--json. Results go to stdout,\nprogress and logs to stderr. Settings: `confab config show`.\n\n{EXIT_CODES}\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character shows ?
    try:
        code = _answer(arguments)
        if sys.stdout:  # None where it was closed
            sys.stdout.flush()
        return code
    except ConfabError as error:
        return _complain(error, "--json" in arguments)
    except sqlite3.OperationalError as error:
        return _complain(_of_storage(error), "--json" in arguments)
    except sqlite3.DatabaseError as error:
        return _complain(_torn(error), "--json" in arguments)
    except KeyboardInterrupt:
        print("confab: interrupted; what was served before is served still", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(_of_storage(error), "--json" in arguments)


def _of_storage(error: Exception) -> StorageError:
    why = getattr(error, "strerror", None) or str(error)
    return StorageError(
        f"the disk or a file failed: {why}; what was served is served still. Make room (`confab index purge` removes "
        "old generations) or set CONFAB_DATA_DIR to another disk, and run it again: no vector is computed twice"
    )


def _torn(error: Exception) -> Corrupt:
    return Corrupt(
        f"the index cannot be read ({error}); `confab index verify` tells what is torn, `confab index rollback` serves "
        "an older generation, `confab ingest --rebuild PATH` makes a new one"
    )


def _answer(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0 if arguments else UsageError.exit_code
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"confab {version('confab')}")
        return 0
    return _call(arguments[0], arguments[1:])


def _call(name: str, arguments: Sequence[str]) -> int:
    verb = VERBS.get(name)
    if verb is None:
        close = difflib.get_close_matches(name, VERBS, n=1)
        hint = f"did you mean `confab {close[0]}`?" if close else "`confab --help` lists the verbs"
        raise UsageError(f"there is no verb {name!r}; {hint}")
    room = importlib.import_module(verb.room)
    parser = argparse.ArgumentParser(
        prog=f"confab {name}", description=verb.help[0].upper() + verb.help[1:].rstrip(".") + "."
    )
    room.add_arguments(parser)
    args = parser.parse_args(arguments)
    from rag.settings import load

    code: int = room.run(args, load())
    return code


def _complain(error: ConfabError, as_json: bool) -> int:
    if as_json:
        problem = {"error": {"type": type(error).__name__, "title": error.title, "detail": error.message}}
        print(json.dumps(problem, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"confab: {error.message}", file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
