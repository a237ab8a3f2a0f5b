"""Everything that goes wrong on purpose, split by what the caller can do about it.

    ConfabError                     status  exit  whose move
    ├── UsageError                     422     2  the caller's: the request or the command is wrong
    │   ├── SettingsError              500     2  the operator's: a setting is unknown or unusable
    │   ├── NotFound                   404     4  no such paper, generation or file
    │   └── InputError                 422     3  a list cannot be read (names file and record)
    ├── IndexUnavailable               503     6  no index yet, or it does not fit this configuration
    │   ├── NoIndex                    503     6  nothing was ingested yet
    │   ├── ModelMismatch              503     6  built with another embedding model
    │   └── Corrupt                    503     6  files do not match their manifest
    ├── Busy                           503     7  another writer holds the lock, or all places are taken
    ├── StorageError                   503     9  the disk is full, or a file cannot be read or written
    ├── UpstreamError                  502     8  a model or server we call failed
    │   └── UpstreamTimeout            504     8  it was too slow
    └── Internal                       500     1  ours: a bug

A message names the thing, what was expected, and what to do next. `retry_after` (seconds) is set
where trying again helps.
"""


class ConfabError(Exception):
    """Root of the tree. `status` is the HTTP status, `exit_code` the command's exit code."""

    status = 500
    exit_code = 1
    title = "Something went wrong"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class UsageError(ConfabError):
    status = 422
    exit_code = 2
    title = "The request cannot be understood"


class SettingsError(UsageError):
    status = 500
    title = "A setting is wrong"


class NotFound(UsageError):
    status = 404
    exit_code = 4
    title = "Not found"


class InputError(UsageError):
    exit_code = 3
    title = "The input cannot be read"


class IndexUnavailable(ConfabError):
    status = 503
    exit_code = 6
    title = "The index cannot be used"


class NoIndex(IndexUnavailable):
    title = "There is no index yet"


class ModelMismatch(IndexUnavailable):
    title = "The index was built with another embedding model"


class Corrupt(IndexUnavailable):
    title = "The index does not match its manifest"


class Busy(ConfabError):
    status = 503
    exit_code = 7
    title = "Busy"


class StorageError(ConfabError):
    status = 503
    exit_code = 9
    title = "The disk or a file failed"


class UpstreamError(ConfabError):
    status = 502
    exit_code = 8
    title = "An upstream service failed"


class UpstreamTimeout(UpstreamError):
    status = 504
    title = "An upstream service was too slow"


class Internal(ConfabError):
    title = "Internal error"
