"""A bag of embeddings classifies short sentences: weather, kitchen or railway.

Words are rows of an embedding table, a sentence is the mean of its words, then a ReLU layer
and a softmax. The adjoint of the table lookup adds where a word is repeated.

    python examples/text_classifier.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl

CORPUS = {
    "weather": """
        rain is expected in the north tonight
        a cold wind brings snow to the hills
        the morning fog clears and the sun comes out
        heavy clouds and a little rain in the evening
        tomorrow stays dry with a light wind
        thunder and heavy rain over the coast
        the sun shines but the wind is cold
        frost in the morning and sun at noon
        snow falls all night on the hills
        warm and dry with few clouds""",
    "kitchen": """
        chop the onions and fry them in butter
        add a little salt and stir the soup
        bake the bread until the crust is brown
        boil the potatoes and drain them
        whisk the eggs with sugar and flour
        stir the flour into the melted butter
        season the soup with pepper and salt
        slice the bread and fry it in butter
        pour the milk over the flour and the eggs
        let the potatoes and onions simmer""",
    "railway": """
        the train to the coast leaves from platform two
        passengers change trains at the next station
        the express stops at every second station
        tickets are checked on board the train
        the night train is late at platform four
        a ticket for the express costs more
        the station is closed and no train stops
        board the train at platform one
        the conductor checks the tickets of all passengers
        trains to the north leave every hour""",
}
HELD_OUT = """
    weather: cold wind and snow in the evening
    weather: the sun comes out and the clouds clear
    kitchen: fry the potatoes in butter and add salt
    kitchen: stir the eggs and the milk into the soup
    railway: the express train leaves from platform one
    railway: passengers show tickets at the station
"""
LABELS = tuple(CORPUS)


def loss(table, w1, b1, w2, b2, sentences, labels):
    total = 0.0
    for words, label in zip(sentences, labels):
        x = np.mean(table[words], axis=0)
        h = np.maximum(x @ w1 + b1, 0.0)
        z = h @ w2 + b2
        m = np.max(z)
        total = total + m + np.log(np.sum(np.exp(z - m))) - z[label]
    return total / len(sentences)


WEIGHTS = ("table", "w1", "b1", "w2", "b2")


def sentences_and_labels() -> tuple[list[list[str]], list[int]]:
    words, labels = [], []
    for label, text in enumerate(CORPUS.values()):
        for line in text.strip().splitlines():
            words.append(line.split())
            labels.append(label)
    return words, labels


def held_out() -> tuple[list[list[str]], list[int]]:
    pairs = [line.split(": ") for line in HELD_OUT.strip().splitlines()]
    return [text.split() for _, text in pairs], [LABELS.index(name.strip()) for name, _ in pairs]


def vocabulary() -> dict[str, int]:
    words = sorted({word for sentence in sentences_and_labels()[0] for word in sentence})
    return {word: k for k, word in enumerate(words)}


def encoded(sentences: list[list[str]]) -> list[np.ndarray]:
    """Sentences as rows of the table; words never seen are left out."""
    known = vocabulary()
    return [np.array([known[w] for w in words if w in known]) for words in sentences]


def initial_weights(width: int, hidden: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        0.5 * rng.normal(size=(len(vocabulary()), width)),
        rng.normal(size=(width, hidden)) / np.sqrt(width),
        np.zeros(hidden),
        rng.normal(size=(hidden, len(LABELS))) / np.sqrt(hidden),
        np.zeros(len(LABELS)),
    ]


def train(steps: int, seed: int = 0) -> tuple[list[np.ndarray], list[float]]:
    """Plain gradient descent over the whole corpus."""
    words, labels = sentences_and_labels()
    sentences = encoded(words)
    gradient = tl.value_and_grad(loss, wrt=WEIGHTS)
    weights = initial_weights(12, 16, seed)
    losses = []
    for _ in range(steps):
        value, bars = gradient(*weights, sentences, labels)
        for w, g in zip(weights, bars, strict=True):
            w -= 0.8 * g
        losses.append(float(value))
    return weights, losses


def accuracy(weights: Sequence[np.ndarray], words: list[list[str]], labels: list[int]) -> float:
    table, w1, b1, w2, b2 = weights
    right = 0
    for sentence, label in zip(encoded(words), labels, strict=True):
        h = np.maximum(np.mean(table[sentence], axis=0) @ w1 + b1, 0.0)
        right += int(np.argmax(h @ w2 + b2) == label)
    return right / len(labels)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    print(tl.grad(loss, wrt=WEIGHTS).source)
    weights, losses = train(options.steps, options.seed)
    if losses:
        print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f} in {len(losses)} steps")
    print(f"accuracy on the corpus {accuracy(weights, *sentences_and_labels()):.1%}")
    print(f"accuracy on held-out sentences {accuracy(weights, *held_out()):.1%}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
