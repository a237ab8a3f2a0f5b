"""The plain LlamaIndex starter: a VectorStoreIndex over the same abstracts, with the same model and the same vectors.

    python -m evals.peers.starter PAPERS.jsonl VECTORS.npy QUESTIONS.json

Prints one JSON object: seconds to build and persist, seconds to load, milliseconds of each search, peak memory.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.schema import TextNode

from rag.models.embedding import build
from rag.settings import load


def main(papers: Path, vectors: Path, questions: Path) -> None:
    model = build(load()).model
    rows = [json.loads(line) for line in papers.read_text("utf-8").split("\n") if line]
    given = np.load(vectors)
    started = time.perf_counter()
    nodes = [
        TextNode(id_=row["id"], text=row["abstract"], metadata={"title": row["title"]}, embedding=vector.tolist())
        for row, vector in zip(rows, given, strict=True)
    ]
    index = VectorStoreIndex(nodes, embed_model=model)
    with tempfile.TemporaryDirectory() as folder:
        index.storage_context.persist(folder)
        built = time.perf_counter() - started
        started = time.perf_counter()
        stored = StorageContext.from_defaults(persist_dir=folder)
        retriever = load_index_from_storage(stored, embed_model=model).as_retriever(similarity_top_k=8)
        opened = time.perf_counter() - started
    asked = json.loads(questions.read_text("utf-8"))
    retriever.retrieve("warm up")
    searches = []
    for question in asked:
        started = time.perf_counter()
        retriever.retrieve(question)
        searches.append(1000 * (time.perf_counter() - started))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"built": built, "opened": opened, "searches": searches, "peak_mib": peak}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
