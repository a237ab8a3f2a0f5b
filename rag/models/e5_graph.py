"""The encoder of multilingual-e5-small as an ONNX graph in 8-bit integers.

Weights: the 4-bit ones of the file, rounded to int8 with one scale an output. Activations: uint8 with one
scale a token, so that a text's vector does not depend on its neighbours. On two cores with VNNI this takes
240 us of CPU a token (abstracts of 300 tokens), MatMulNBits over the 4-bit weights 500 in float32 and 455 at
accuracy level 4, because products of whole rows keep to integers. Cosine to the package's engine: 0.998 at
worst, 0.9994 on abstracts (`tests/test_e5.py`). Ranks do not suffer: MRR 0.790 against 0.785 of the more exact
4-bit graph, on the 56 questions of `icml_dev.jsonl` among 1,037 abstracts.
"""

from typing import Any, Final

import numpy as np

from rag.models.e5_file import Weights, dequantise

VARIANT: Final = "int8-rows"
"""Part of the revision: change it with the arithmetic, so that cached vectors are made anew."""
OPSET: Final = 20
FUSED: Final = "com.microsoft"
ZERO: Final = 128
"""The uint8 that stands for 0.0."""


class _Graph:
    """Collects nodes and constants; a method adds an operator or two and returns the name of the output."""

    def __init__(self, weights: Weights, exact: bool) -> None:
        self.weights, self.exact = weights, exact
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def floats(self, *names: str) -> str:
        """Tensors of the file, end to end."""
        return self.constant("+".join(names), np.concatenate([self.weights.floats(name) for name in names]))

    def node(self, op: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def start(self) -> str:
        """`embedded` [batch, tokens, hidden] -> [batch * tokens, hidden], and the constants of all layers."""
        self.constant("rows", np.array([-1, self.weights.shape.hidden]))
        self.constant("1", np.array([1]))
        self.constant("1.0", np.float32(1))
        self.constant("1/127", np.float32(1 / 127))
        self.constant("zero", np.uint8(ZERO))
        self.node("Shape", ["embedded"], "shape")
        state = self.node("Reshape", ["embedded", "rows"], "flat")
        self.node("ReduceMax", [state, "1"], "any a row", keepdims=0)
        self.node("Expand", ["zero", self.node("Shape", ["any a row"], "count")], "zeros")
        return self.norm("emb.ln", state, "l-1.out")

    def quantise(self, source: str) -> tuple[str, str]:
        """float [rows, columns] -> uint8 [rows, columns], scales [rows, 1]."""
        largest = self.node("ReduceMax", [self.node("Abs", [source], f"{source}.abs"), "1"], f"{source}.max")
        scales = self.node("Mul", [largest, "1/127"], f"{source}.scales")
        flat = self.node("Squeeze", [scales, "1"], f"{source}.scale")
        return self.node("QuantizeLinear", [source, flat, "zeros"], f"{source}.q", axis=0), scales

    def linear(self, names: list[str], source: str, columns: int) -> str:
        """source [rows, columns] times the transposed matrices `names`, which lie one below the other; no bias."""
        values = np.concatenate([dequantise(self.weights.blocks(f"{name}.w", columns)) for name in names])
        output = "+".join(names)
        if self.exact:
            return self.node("MatMul", [source, self.constant(f"{output}.float", values.T)], f"{output}.y")
        steps = np.abs(values).max(axis=1) / 127
        matrix = self.constant(f"{output}.int8", np.rint(values / steps[:, None]).astype(np.int8).T)
        quantised, scales = self.quantise(source)
        inputs = [quantised, matrix, "1.0", self.constant(f"{output}.steps", steps), "zero"]
        product = self.node("MatMulIntegerToFloat", inputs, f"{output}.product", domain=FUSED)
        return self.node("Mul", [product, scales], f"{output}.y")

    def norm(self, name: str, source: str, output: str) -> str:
        inputs = [source, self.floats(f"{name}.w"), self.floats(f"{name}.b")]
        return self.node("LayerNormalization", inputs, output, epsilon=self.weights.shape.epsilon)

    def residual(self, part: str, source: str, skip: str, columns: int) -> str:
        """source through one matrix with its bias, plus what went in before."""
        biased = self.node("Add", [self.linear([part], source, columns), self.floats(f"{part}.b")], f"{part}.biased")
        return self.node("Add", [biased, skip], f"{part}.sum")

    def attention(self, at: str, source: str) -> str:
        names = [f"{at}.q", f"{at}.k", f"{at}.v"]
        biases = self.floats(*(f"{name}.b" for name in names))
        merged = self.node("Add", [self.linear(names, source, self.weights.shape.hidden), biases], f"{at}.qkv")
        self.node("Split", [merged], *names, axis=1, num_outputs=3)
        texts = [self.node("Reshape", [name, "shape"], f"{name}.texts") for name in names]
        heads = self.weights.shape.heads
        mixed = self.node("MultiHeadAttention", texts, f"{at}.mixed", domain=FUSED, num_heads=heads)
        return self.node("Reshape", [mixed, "rows"], f"{at}.context")

    def layer(self, at: str, source: str) -> str:
        shape = self.weights.shape
        total = self.residual(f"{at}.ao", self.attention(at, source), source, shape.hidden)
        inner = self.norm(f"{at}.aln", total, f"{at}.inner")
        wide = self.linear([f"{at}.fi"], inner, shape.hidden)
        active = self.node("BiasGelu", [wide, self.floats(f"{at}.fi.b")], f"{at}.active", domain=FUSED)
        return self.norm(f"{at}.oln", self.residual(f"{at}.fo", active, inner, shape.feed_forward), f"{at}.out")


def build(weights: Weights, exact: bool = False) -> bytes:
    """The model: `embedded` float32 [batch, tokens, hidden] -> `pooled` float32 [batch, hidden], not of unit length.

    All texts of a batch have the same length, so there is no padding and no mask. `exact` multiplies in
    float32 and is there to measure what the rounding costs.
    """
    from onnx import TensorProto, helper

    graph, hidden = _Graph(weights, exact), weights.shape.hidden
    state = graph.start()
    for number in range(weights.shape.layers):
        state = graph.layer(f"l{number}", state)
    graph.node("ReduceMean", [graph.node("Reshape", [state, "shape"], "texts"), "1"], "pooled", keepdims=0)
    given = helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["batch", "tokens", hidden])
    taken = helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", hidden])
    body = helper.make_graph(graph.nodes, "e5", [given], [taken], list(graph.constants.values()))
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="confab")
    return bytes(model.SerializeToString())
