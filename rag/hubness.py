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
BANKS = tuple(QUESTIONS)

Floats = NDArray[np.floating]


def questions() -> list[str]:
    """All background questions, bank by bank."""
    return [line for bank in QUESTIONS.values() for line in bank.splitlines()]


def measure(asked: Floats, vectors: Floats, sentences: Floats, owners: Sequence[range]) -> NDArray[np.float32]:
    """How near each passage is to any question: float32 [passages, banks, 2].

    The last axis holds the mean cosine of the passage, and the mean of the best sentence's cosine. `asked`
    float [questions, d] in the order of `questions()`; `owners[i]` are the sentence rows of passage i.
    """
    out = np.zeros((len(vectors), len(BANKS), 2), dtype=np.float32)
    first = 0
    for number, bank in enumerate(QUESTIONS.values()):
        last = first + len(bank.splitlines())
        out[:, number, 0] = np.asarray(vectors @ asked[first:last].T).mean(axis=1)
        if len(sentences):
            out[:, number, 1] = [_best(asked[first:last], sentences[rows.start : rows.stop]) for rows in owners]
        first = last
    return out


def _best(asked: Floats, spoken: Floats) -> float:
    """Mean over the questions of the cosine of the best sentence; 0 for a paper without one."""
    return float((spoken.astype(np.float32) @ asked.T).max(axis=0).mean()) if len(spoken) else 0.0
