"""What `fakes.FakeServer` puts on the wire: replies and their misbehaviours, byte by byte."""

import asyncio
import base64
import hashlib
import json
import re
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Mode = Literal[
    "whole", "no_finish", "cut", "reset", "reset_first", "half_open", "silent", "stall", "drip", "stall_drip",
    "error_event", "cut_utf8", "garbage", "html", "no_choices", "wrong_shape",
]  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """One answer. `pieces` fixes the chunking of the stream (words where it is None)."""

    text: str = "Half of this is said."
    mode: Mode = "whole"
    pieces: tuple[str, ...] | None = None
    finish: str = "stop"
    usage: bool = True
    tokens_per_second: float | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None

    @property
    def deltas(self) -> tuple[str, ...]:
        return self.pieces if self.pieces is not None else tuple(re.findall(r"\s*\S+|\s+$", self.text))


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


async def read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, json.loads(body) if body else {})


async def send(writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    fields = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} Fake\r\n{head}\r\n".encode() + body)
    await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() now sends RST, not FIN
    writer.transport.abort()


async def stream(writer: asyncio.StreamWriter, reply: Reply, body: dict[str, Any]) -> None:
    head = (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    writer.write(head.encode())
    async for data in _events(reply, body):
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()
    if reply.mode == "reset":
        reset(writer)
    elif reply.mode != "cut":
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _events(reply: Reply, body: dict[str, Any]) -> AsyncIterator[bytes]:
    mode = reply.mode
    if mode in ("silent", "drip"):
        async for comment in _wait_for_ever(comments=mode == "drip"):
            yield comment
    if mode == "wrong_shape":
        yield _event({"result": "hello"})
        return
    if mode == "no_choices":
        yield _event(frame(body) | {"choices": []})
        yield b"data: [DONE]\n\n"
        return
    yield _chunk(body, {"role": "assistant", "content": ""})
    deltas = reply.deltas
    whole = mode in ("whole", "no_finish")
    for delta in deltas if whole else deltas[: max(1, len(deltas) // 2)]:
        if reply.tokens_per_second:
            await asyncio.sleep(1 / reply.tokens_per_second)
        yield _chunk(body, {"content": delta})
    async for data in _ending(reply, body):
        yield data


async def _ending(reply: Reply, body: dict[str, Any]) -> AsyncIterator[bytes]:
    if reply.mode in ("stall", "stall_drip"):
        async for comment in _wait_for_ever(comments=reply.mode == "stall_drip"):
            yield comment
    if reply.mode == "error_event":
        yield _event({"error": {"message": "secret upstream words", "type": "server_error"}})
    if reply.mode == "garbage":
        yield b'data: {"choices": [{"delta": {"conte\n\n'
    if reply.mode == "cut_utf8":
        yield _chunk(body, {"content": "é"}, ascii=False).replace("é".encode(), "é".encode()[:1])
    if reply.mode == "whole":
        yield _event(frame(body) | {"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
        if reply.usage and (body.get("stream_options") or {}).get("include_usage"):
            yield _event(frame(body) | {"choices": [], "usage": usage(reply)})
    if reply.mode in ("whole", "no_finish"):
        yield b"data: [DONE]\n\n"


async def _wait_for_ever(*, comments: bool) -> AsyncIterator[bytes]:
    while True:
        await asyncio.sleep(0.05)
        if comments:
            yield b": keep-alive\n\n"


def _event(value: dict[str, Any], *, ascii: bool = True) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=ascii)}\n\n".encode()


def _chunk(body: dict[str, Any], delta: dict[str, str], *, ascii: bool = True) -> bytes:
    return _event(frame(body) | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}, ascii=ascii)


def frame(body: dict[str, Any], kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": 1, "model": body.get("model", "fake-model")}


def usage(reply: Reply) -> dict[str, int]:
    said = len(reply.deltas)
    return {"prompt_tokens": 11, "completion_tokens": said, "total_tokens": 11 + said}


def vector(text: str, dimension: int) -> np.ndarray:
    """float32 [dimension], unit length: the sum of one hashed direction a word, the same on every machine."""
    words = re.findall(r"\w+", text.lower()) or [text]
    drawn = [
        np.frombuffer(hashlib.shake_256(word.encode("utf-8", "replace")).digest(dimension), np.uint8) for word in words
    ]
    total = np.sum([one.astype(np.float32) - 127.5 for one in drawn], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


def embeddings(body: dict[str, Any], dimension: int) -> bytes:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    length = body.get("dimensions") or dimension
    rows = [vector(text, length) for text in texts]
    packed = body.get("encoding_format") == "base64"
    values = [base64.b64encode(row.tobytes()).decode() if packed else row.tolist() for row in rows]
    data = [{"object": "embedding", "index": place, "embedding": value} for place, value in enumerate(values)]
    used = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": used, "total_tokens": used}
    return json.dumps({"object": "list", "model": body.get("model"), "data": data, "usage": usage}).encode()
