"""The encoder of multilingual-e5-small as an ONNX graph over 4-bit weights.

The weights are those of the file, bit for bit; activations are rounded to int8 in blocks of 32
(MatMulNBits, accuracy level 4), as the package's own engine does.
"""

from typing import Any, Final

import numpy as np

from rag.models.e5_file import BLOCK, Weights, unpack

VARIANT: Final = "int8"
OPSET: Final = 20


class _Graph:
    """Collects nodes and weights; a method adds one operator and returns the name of its output."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def weight(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def copy(self, name: str) -> str:
        return self.weight(name, self.weights.floats(name))

    def node(self, op: str, inputs: list[str], *outputs: str, domain: str = "com.microsoft", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def linear(self, names: list[str], source: str, output: str, columns: int, bias: bool = False) -> str:
        """source [.., columns] times the transposed matrices `names`, which lie one below the other."""
        nibbles, scales = unpack(np.concatenate([self.weights.blocks(f"{name}.w", columns) for name in names]))
        packed = self.weight(f"{output}.w", nibbles[..., 0::2] | nibbles[..., 1::2] << 4)
        inputs = [source, packed, self.weight(f"{output}.s", scales.reshape(-1))]
        if bias:
            floats = np.concatenate([self.weights.floats(f"{name}.b") for name in names])
            inputs += ["", "", self.weight(f"{output}.b", floats)]
        size: dict[str, Any] = {"K": columns, "N": len(nibbles), "bits": 4, "block_size": BLOCK}
        return self.node("MatMulNBits", inputs, output, **size, accuracy_level=4)

    def norm(self, name: str, source: str, skip: str, bias: str, output: str) -> str:
        """LayerNorm(source + skip + bias)."""
        inputs = [source, skip, self.copy(f"{name}.w"), self.copy(f"{name}.b"), self.copy(bias)]
        return self.node("SkipLayerNormalization", inputs, output, epsilon=self.weights.shape.epsilon)

    def layer(self, at: str, source: str) -> str:
        shape = self.weights.shape
        merged = self.linear([f"{at}.q", f"{at}.k", f"{at}.v"], source, f"{at}.qkv", shape.hidden, bias=True)
        parts = [f"{at}.query", f"{at}.key", f"{at}.value"]
        self.node("Split", [merged], *parts, domain="", axis=2, num_outputs=3)
        mixed = self.node("MultiHeadAttention", parts, f"{at}.mixed", num_heads=shape.heads)
        out = self.linear([f"{at}.ao"], mixed, f"{at}.ao", shape.hidden)
        inner = self.norm(f"{at}.aln", out, source, f"{at}.ao.b", f"{at}.inner")
        wide = self.linear([f"{at}.fi"], inner, f"{at}.fi", shape.hidden)
        active = self.node("BiasGelu", [wide, self.copy(f"{at}.fi.b")], f"{at}.active")
        out = self.linear([f"{at}.fo"], active, f"{at}.fo", shape.feed_forward)
        return self.norm(f"{at}.oln", out, inner, f"{at}.fo.b", f"{at}.out")


def build(weights: Weights) -> bytes:
    """The model: `embedded` float32 [batch, tokens, hidden] -> `pooled` float32 [batch, hidden], not of unit length.

    All texts of a batch have the same length, so there is no padding and no mask.
    """
    from onnx import TensorProto, helper

    graph, shape = _Graph(weights), weights.shape
    first = ["embedded", graph.copy("emb.ln.w"), graph.copy("emb.ln.b")]
    state = graph.node("LayerNormalization", first, "normed", domain="", epsilon=shape.epsilon)
    for number in range(shape.layers):
        state = graph.layer(f"l{number}", state)
    axes = graph.weight("axes", np.array([1], dtype=np.int64))
    graph.node("ReduceMean", [state, axes], "pooled", domain="", keepdims=0)
    given = helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["batch", "tokens", shape.hidden])
    taken = helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", shape.hidden])
    body = helper.make_graph(graph.nodes, "e5", [given], [taken], graph.initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="confab")
    return bytes(model.SerializeToString())
