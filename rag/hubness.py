"""Papers that are near every question, and how near: what a cosine must be corrected by. Pure.

In a space of many dimensions some vectors are near everything (Radovanović et al. 2010, "Hubs in space"), and
e5's narrow cone makes it worse: one abstract of the sample list stood first for four questions that it has nothing
to do with. A paper's nearness to questions about anything at all is measured once, at ingest, with the questions below
(none is from a question set), and taken off when papers are compared.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

QUESTIONS = {
    "latin": """\
Which method makes training of large models cheaper?
How can a robot learn from only a few demonstrations?
What is known about the convergence rate of stochastic gradient descent?
Is there a benchmark for reasoning about long documents?
Why do neural networks forget old tasks, and what helps?
How much faster is the proposed approach than the baselines?
Which papers study privacy when many hospitals share data?
Can a diffusion model produce images in a single step?
What are the limits of in-context learning?
How do graph neural networks deal with heterophily?
Does the theory hold without convexity?
Who uses reinforcement learning to design molecules?
How can hallucinations of a chatbot be noticed early?
What does the paper say about attacks on language models?
Which attention mechanism is linear in the length of the text?
How is uncertainty of predictions calibrated?
Are there guarantees for bandits with delayed feedback?
How can weather be forecast with learned models?
Which dataset covers low-resource languages?
What happens when test data differ from training data?
How are experts chosen in a mixture-of-experts model?
Can models be shrunk to two bits without losing accuracy?
What improves protein structure prediction?
How do people judge the answers of AI assistants?
Which algorithm finds causes from observational data?
How are videos generated that obey physics?
What makes a reward model robust?
How can unfair treatment of groups be reduced?
Does pretraining help for tabular data?
How do agents coordinate without talking to each other?
Which approach speeds up decoding of text?
How is code written by models tested?
What can brain recordings tell about learned features?
How do you remove a piece of knowledge from a trained model?
Can images and text be searched together?
What is the sample complexity of learning the optimal policy?
How can data for training be chosen well?
Which models understand speech and music?
How is a 3D scene rebuilt from a few photos?
What explains why overparameterised models generalise?""",
    "cjk": """\
哪种方法可以降低大模型的训练成本？
机器人如何从少量示范中学习？
随机梯度下降的收敛速度有什么理论结果？
有没有评测长文本推理能力的基准？
神经网络为什么会遗忘旧任务，如何缓解？
所提方法比基线快多少？
扩散模型能否一步生成图像？
如何发现聊天机器人的幻觉？
有哪些针对语言模型的攻击和防御？
如何校准模型预测的不确定性？
哪些工作研究了多智能体协作？
模型能否压缩到两比特而不损失精度？
如何从观测数据中发现因果关系？
奖励模型如何做到稳健？
怎样减少对不同群体的不公平？
图神经网络如何处理异配图？
分布外数据上的表现如何提升？
哪些数据集覆盖了低资源语言？
如何加速文本解码？
蛋白质结构预测有哪些改进？""",
}
STRANGERS = {
    "latin": """\
Who won the football world cup?
What is the capital of Australia?
Give me a recipe for apple pie.
How tall is the highest mountain on earth?
What will the weather be like in Berlin tomorrow?
Who is the prime minister of Canada?
Recommend a good Italian restaurant.
When was Beethoven born?
How do I fix a leaking tap?
Tell me a funny story.
How long does a flight to Tokyo take?
What helps against a sore throat?
How much does a new bicycle cost?
Write a poem about the sea.
Which shares should I buy?
How do I get a stain out of a shirt?
Who wrote the novel about the white whale?
What time does the museum open on Sunday?
How old are you?
Which breed of dog is best for children?
When did the Roman empire fall?
How do I renew my passport?
What should I wear to a wedding?
Where can I park near the station?""",
    "cjk": """\
足球世界杯的冠军是谁？
澳大利亚的首都是哪里？
明天上海的天气怎么样？
推荐一家好吃的川菜馆。
红烧排骨怎么做？
世界上最高的山有多高？
讲一个有趣的故事。
嗓子疼吃什么药好？
去东京的机票多少钱？
唐朝是哪一年灭亡的？
怎样才能学会游泳？
博物馆星期天几点开门？
哪种狗最适合有孩子的家庭？
护照怎么换？
衬衫上的油渍怎么洗掉？
写一首关于大海的诗。
现在买哪只股票好？
参加婚礼穿什么合适？
贝多芬是哪一年出生的？
车站附近哪里可以停车？""",
}
"""Questions that no collection of papers answers: how well they do tells what "found" must beat (`rag.gate`)."""
BANKS = tuple(QUESTIONS)
WEIGHT = 0.5
"""How much of its hubness is taken off a paper's nearness (tuned as the rest of the second stage, `rag.retrieve`)."""
CHUNK = 2_000
"""Passages compared at a time."""

Floats = NDArray[np.floating]


def questions() -> list[str]:
    """All background questions: first those about anything, bank by bank, then the strangers."""
    return [line for banks in (QUESTIONS, STRANGERS) for bank in banks.values() for line in bank.splitlines()]


def measure(
    asked: Floats, vectors: Floats, sentences: Floats, owners: Sequence[range]
) -> tuple[NDArray[np.float32], dict[str, tuple[float, float]]]:
    """How near each passage is to any question, and how near strangers come: mean and deviation of their best.

    `asked` float [questions, d] in the order of `questions()`; `owners[i]` are the sentence rows of passage i;
    The first is float32 [passages, banks, 2], the mean cosine of the
    passage and that of its best sentence. The best of a stranger is cosine + best sentence - WEIGHT * hubness.
    """
    parts = _parts()
    hubs = np.zeros((len(vectors), len(BANKS), 2), dtype=np.float32)
    best = np.full(len(asked), -np.inf)
    for first in range(0, len(vectors), CHUNK):
        rows = slice(first, min(first + CHUNK, len(vectors)))
        cosines = np.asarray(vectors[rows] @ asked.T)
        spoken = _best_sentences(asked, sentences, owners[rows])
        for number, bank in enumerate(BANKS):
            known, strange = parts[bank]
            hubs[rows, number] = np.stack([cosines[:, known].mean(axis=1), spoken[:, known].mean(axis=1)], axis=1)
            reached = (cosines + spoken)[:, strange] - WEIGHT * hubs[rows, number].sum(axis=1, keepdims=True)
            best[strange] = np.maximum(best[strange], reached.max(axis=0))
    return hubs, {
        bank: (float(best[strange].mean()), float(best[strange].std())) for bank, (_, strange) in parts.items()
    }


def _parts() -> dict[str, tuple[slice, slice]]:
    """Where the questions of each bank stand in `questions()`: those about anything, and the strangers."""
    out: dict[str, list[slice]] = {bank: [] for bank in BANKS}
    first = 0
    for banks in (QUESTIONS, STRANGERS):
        for bank, text in banks.items():
            out[bank].append(slice(first, first + len(text.splitlines())))
            first = out[bank][-1].stop
    return {bank: (known, strange) for bank, (known, strange) in out.items()}


def _best_sentences(asked: Floats, sentences: Floats, owners: Sequence[range]) -> Floats:
    """float [passages, questions]: the cosine of each passage's best sentence; 0 where it has none."""
    out = np.zeros((len(owners), len(asked)), dtype=np.float32)
    for at, rows in enumerate(owners):
        if len(rows):
            out[at] = (np.asarray(sentences[rows.start : rows.stop], dtype=np.float32) @ asked.T).max(axis=0)
    return out
