"""Parameters in containers that the function only reads: dicts, lists, tuples, records."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from .registry import Program

Layer = namedtuple("Layer", ["w", "b"])


@dataclass
class Oscillator:
    mass: float
    stiffness: np.ndarray


class Model:
    def __init__(self, w, b):
        self.w = w
        self.b = b
        self.name = "a model"


def dict_of_arrays(params, x):
    h = np.tanh(x @ params["w"] + params["b"])
    return np.sum(h * h)


def nested_dict(params, x):
    h = np.tanh(params["first"]["w"] @ x + params["first"]["b"])
    return np.sum(params["second"]["w"] * h) * params["scale"]


def dict_written_as_loop(params):
    s = 0.0
    for key in ["a", "b"]:
        s = s + np.sum(params[key] ** 2) * (1.0 + s)
    return s


def dict_items(params):
    s = 1.0
    for name, value in params.items():
        if name != "skip":
            s = s + np.sum(value * value) * s
    return s


def layers_loop(layers, x):
    for w, b in layers:
        x = np.tanh(x @ w + b)
    return np.sum(x)


def layers_but_last(layers, x):
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0.01 * x.sum())
    w, b = layers[-1]
    return np.sum(x @ w + b)


def list_by_index(arrays):
    s = arrays[0]
    for i in range(1, len(arrays)):
        s = s * arrays[i] + arrays[i - 1]
    return np.sum(s)


def tuple_unpacked(pair, x):
    w, (b, scale) = pair
    return np.sum((w * x + b) * scale)


def same_leaf_often(params):
    w = params["w"]
    return np.sum(w * params["w"]) + params["w"][0]


def namedtuple_fields(layer, x):
    return np.sum(np.sin(layer.w @ x + layer.b))


def dataclass_fields(system, x):
    return 0.5 * np.sum(system.stiffness * x * x) / system.mass


def object_attributes(model, x):
    return np.sum(np.tanh(model.w @ x + model.b))


def local_containers(x, y):
    state = {"position": x, "velocity": y}
    pair = [state["position"] * 2.0, state["velocity"]]
    left, right = pair
    box = (left, [right, left * right])
    return np.sum(box[0] * box[1][1] + box[1][0])


PROGRAMS = [
    Program(
        dict_of_arrays,
        lambda rng: (
            {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=2)},
            rng.normal(size=(4, 3)),
        ),
    ),
    Program(
        nested_dict,
        lambda rng: (
            {
                "first": {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=3)},
                "second": {"w": rng.normal(size=3)},
                "scale": 1.5,
            },
            rng.normal(size=2),
        ),
        (0, 1),
    ),
    Program(
        dict_written_as_loop,
        lambda rng: ({"a": rng.normal(size=2), "b": rng.normal(size=3)},),
    ),
    Program(
        dict_items,
        lambda rng: ({"a": rng.normal(size=2), "skip": np.ones(2), "b": rng.normal(size=3)},),
    ),
    Program(
        layers_loop,
        lambda rng: (
            [
                (rng.normal(size=(3, 4)), rng.normal(size=4)),
                (rng.normal(size=(4, 2)), rng.normal(size=2)),
            ],
            rng.normal(size=(5, 3)),
        ),
        (0, 1),
    ),
    Program(
        layers_but_last,
        lambda rng: (
            [
                (rng.normal(size=(3, 3)), rng.normal(size=3)),
                (rng.normal(size=(3, 2)), rng.normal(size=2)),
            ],
            rng.normal(size=3),
        ),
    ),
    Program(list_by_index, lambda rng: ([rng.normal(size=3) for _ in range(4)],)),
    Program(
        tuple_unpacked,
        lambda rng: ((rng.normal(size=3), (rng.normal(size=3), 0.7)), rng.normal(size=3)),
    ),
    Program(same_leaf_often, lambda rng: ({"w": rng.normal(size=3)},)),
    Program(
        namedtuple_fields,
        lambda rng: (Layer(rng.normal(size=(2, 3)), rng.normal(size=2)), rng.normal(size=3)),
        (0, 1),
    ),
    Program(
        dataclass_fields,
        lambda rng: (Oscillator(1.3, rng.normal(size=3)), rng.normal(size=3)),
        (0, 1),
    ),
    Program(
        object_attributes,
        lambda rng: (Model(rng.normal(size=(2, 3)), rng.normal(size=2)), rng.normal(size=3)),
        (0, 1),
    ),
    Program(local_containers, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
]
