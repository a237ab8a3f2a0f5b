"""The encoder of multilingual-e5-small as an ONNX graph over 4-bit weights, written once into a cache file."""

from typing import Any

import numpy as np

from rag.models.e5_file import BLOCK, Floats, Weights, unpack

OPSET = 20


class _Graph:
    """Collects nodes and weights; a method adds one fused operator and returns the name of its output."""

    def __init__(self, weights: Weights, level: int, bits: int = 4, fuse=True, block=32) -> None:
        self.weights, self.level, self.bits, self.fuse, self.block = weights, level, bits, fuse, block
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def weight(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, domain: str = "com.microsoft", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def linear(self, names: list[str], source: str, output: str, columns: int, bias: bool) -> str:
        """source [.., columns] x W.T, the matrices of `names` one below the other."""
        blocks = np.concatenate([self.weights.blocks(f"{name}.w", columns) for name in names])
        nibbles, scales = unpack(blocks)
        rows = len(blocks)
        block = self.block
        if self.bits == 32:
            w = ((nibbles.astype(np.float32) - 8) * scales[..., None]).reshape(rows, -1)
            out = self.node("MatMul", [source, self.weight(f"{output}.w", w.T)], output, domain="")
            if bias:
                b = self.weight(f"{output}.b", np.concatenate([self.weights.floats(f"{n}.b") for n in names]))
                return self.node("Add", [out, b], output + ".a", domain="")
            return out
        if self.bits == 4:
            data = nibbles[..., 0::2] | nibbles[..., 1::2] << 4
        elif block == 32:
            data = nibbles + 120
        else:
            w = ((nibbles.astype(np.float32) - 8) * scales[..., None]).reshape(rows, columns // block, block)
            scales = np.abs(w).max(-1) / 127
            data = (np.rint(w / scales[..., None]) + 128).astype(np.uint8)
        inputs = [source, self.weight(f"{output}.w", data), self.weight(f"{output}.s", scales.reshape(-1).astype(np.float32))]
        if bias:
            floats = np.concatenate([self.weights.floats(f"{name}.b") for name in names])
            inputs += ["", "", self.weight(f"{output}.b", floats)]
        size = {"K": columns, "N": rows, "bits": self.bits, "block_size": block}
        return self.node("MatMulNBits", inputs, output, **size, accuracy_level=self.level)

    def norm(self, name: str, source: str, skip: str, bias: str, output: str) -> str:
        """LayerNorm(source + skip + bias)."""
        inputs = [source, skip, self._copy(f"{name}.w"), self._copy(f"{name}.b"), self._copy(bias)]
        return self.node("SkipLayerNormalization", inputs, output, epsilon=self.weights.shape.epsilon)

    def _copy(self, name: str) -> str:
        return self.weight(name, self.weights.floats(name))

    def layer(self, at: str, source: str) -> str:
        shape = self.weights.shape
        hidden = shape.hidden
        if self.fuse:
            qkv = self.linear([f"{at}.q", f"{at}.k", f"{at}.v"], source, f"{at}.qkv", hidden, bias=True)
            parts = [f"{at}.query", f"{at}.key", f"{at}.value"]
            from onnx import helper

            self.nodes.append(helper.make_node("Split", [qkv], parts, axis=2, num_outputs=3))
        else:
            parts = [self.linear([f"{at}.{p}"], source, f"{at}.{p}", hidden, bias=True) for p in "qkv"]
        mixed = self.node("MultiHeadAttention", parts, f"{at}.mixed", num_heads=shape.heads)
        out = self.linear([f"{at}.ao"], mixed, f"{at}.ao", hidden, bias=False)
        inner = self.norm(f"{at}.aln", out, source, f"{at}.ao.b", f"{at}.inner")
        wide = self.linear([f"{at}.fi"], inner, f"{at}.fi", hidden, bias=False)
        active = self.node("BiasGelu", [wide, self._copy(f"{at}.fi.b")], f"{at}.active")
        out = self.linear([f"{at}.fo"], active, f"{at}.fo", shape.feed_forward, bias=False)
        return self.norm(f"{at}.oln", out, inner, f"{at}.fo.b", f"{at}.out")


def build(weights: Weights, level: int, bits=4, fuse=True, block=32) -> bytes:
    """ONNX model: `embedded` float32 [batch, tokens, hidden] -> `pooled` float32 [batch, hidden], not yet unit length.

    All texts of a batch have the same length, so there is no padding and no mask.
    """
    from onnx import TensorProto, helper

    graph, shape = _Graph(weights, level, bits, fuse, block), weights.shape
    first = [graph._copy("emb.ln.w"), graph._copy("emb.ln.b")]
    state = graph.node("LayerNormalization", ["embedded", *first], "l", domain="", epsilon=shape.epsilon)
    for layer in range(shape.layers):
        state = graph.layer(f"l{layer}", state)
    axes = graph.weight("axes", np.array([1], dtype=np.int64))
    graph.node("ReduceMean", [state, axes], "pooled", domain="", keepdims=0)
    given = helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["batch", "tokens", shape.hidden])
    taken = helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", shape.hidden])
    body = helper.make_graph(graph.nodes, "e5", [given], [taken], graph.initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="confab")
    return bytes(model.SerializeToString())
