"""Paths that lose derivatives: text that becomes a number, keys, structured arrays, `wrt` without
floats. Each gave zeros, None or too little without a word; they are refused."""

import ast
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 0.7])


def by_f_string(x):
    return float(f"{x}") * 2.0


def by_repr(x):
    return float(repr(x)) * x


def by_format(x):
    return float("{:.17g}".format(x)) * x  # noqa: UP032


def by_percent(x):
    return float("%r" % x) * x  # noqa: UP031


def by_join_and_split(x):
    return sum(map(float, " ".join([str(x), str(x)]).split())) * x


def by_lines(x):
    lines = []
    lines.append(str(x))
    return sum(float(line) for line in lines) * x


def by_literal(x):
    return ast.literal_eval(repr(x)) * x


def by_array_of_text(x):
    return np.array([str(x)], dtype=float)[0] * x


def by_cast_of_text(x):
    return np.array(str(x)).astype(float) * x


def keys_of_display(x):
    total = 0.0
    for key in {x: 1.0, 2 * x: 1.0}:
        total += key
    return total


def keys_stored(x):
    table = {}
    table[x] = 2.0
    table[x * 2] = 3.0
    return sum(key * value for key, value in table.items())


def keys_of_comprehension(x):
    table = {v: v * v for v in (x, 2 * x)}
    return max(table) * x


def keys_of_pairs(x):
    return sum(dict([(x, 1.0)]))  # noqa: C406


def keys_zipped(x):
    return list(dict(zip([x, 2 * x], [1.0, 2.0], strict=True)))[1]


def keys_popped(x):
    table = {x: 1.0}
    key, _ = table.popitem()
    return key * 2.0


def put(table, key, value):
    table[key] = value


def keys_put_by_a_helper(x):
    table = {}
    put(table, x, 1.0)
    total = 0.0
    for key in table:
        total = total + key * key
    return total


def keys_of_a_helper(x):
    return sum(key * value for key, value in table_of(x).items())


def table_of(x):
    return {x: 1.0, 2 * x: 2.0}


class Tally:
    def __init__(self):
        self.counts = {}
        self.lines = []

    def add(self, key):
        self.counts[key] = 2.0

    def log(self, value):
        self.lines.append(f"{value!r}")


def keys_of_an_attribute(x):
    tally = Tally()
    tally.add(x)
    return sum(key * value for key, value in tally.counts.items())


def keys_of_a_dict_in_a_dict(x):
    tables = {"a": {}}
    tables["a"][x] = 3.0
    return sum(key * value for key, value in tables["a"].items())


def keys_under_another_name(x):
    table = {}
    other = table
    other[x] = 1.0
    total = 0.0
    for key in table:
        total += key * key
    return total


def keys_of_updates(x):
    table = {}
    table.update([(x, 1.0)])
    return sum(key * value for key, value in table.items())


def keys_of_pairs_that_are_appended(x):
    pairs = [("a", x)]
    pairs.append((x, 2.0))
    return list(dict(pairs))[1] * x


def shown(x):
    return f"{x:.17g}"


def parsed(text):
    return float(text)


def shown_by_a_helper(x):
    return float(shown(x)) * 2.0


def parsed_by_a_helper(x):
    return parsed(str(x)) * x


def shown_by_percent(x):
    return "%r" % x  # noqa: UP031


def parsed_from_percent(x):
    return float(shown_by_percent(x)) * x


def array_of_shown(x):
    return np.sum(np.array([shown(x), shown(2 * x)]).astype(float))


def text_of_an_attribute(x):
    tally = Tally()
    tally.log(x)
    return float(tally.lines[0]) * x


def text_of_a_key(x):
    shown_by = {}
    shown_by[f"{x:.3f}"] = x
    return float(next(iter(shown_by))) * x


def text_of_a_key_of_a_display(x):
    return sum(float(key) * value for key, value in {str(x): x}.items())


def of_a_comprehension(x):
    return np.sum(np.array([str(v) for v in (x, 2.0)]).astype(float) * x)


def read_by_a_comprehension(x):
    return sum(float(part) for part in [f"{x}", "2.0"]) * x


def cast_where_it_is_made(x):
    return np.sum(np.array([f"{v}" for v in (x, 2.0)], dtype=float)) * x


def as_bytes(x):
    return float(bytes(f"{x}", "ascii")) * x


def through_a_table(x):
    return np.sum(np.genfromtxt([f"{x}", "2.0"])) * x


def through_a_file(x):
    return float(np.loadtxt(io.StringIO(f"{x}"))) * x


def through_csv(x):
    return sum(float(part) for row in csv.reader([f"{x},{x}"]) for part in row) * x


def printed(x):
    lines = io.StringIO()
    print(x, file=lines)
    return float(lines.getvalue()) * x


def as_characters(x):
    return float(np.char.add(str(x), "")) * x


def keys_of_a_comprehension(x):
    table = {str(v): 1 for v in (x, 2.0)}
    return sum(float(key) for key in table) * x


def scaled_by_text(text, x):
    return float(text) * x


READERS = {"scaled": scaled_by_text}


def in_one_branch(x):
    y = parsed(f"{x}") if x > 0 else x
    return y * x


def in_one_iteration(x):
    y = x
    for n in range(2):
        y = parsed(f"{y}") if n == 0 else y * x
    return y


def read_by_a_function_of_a_table(x):
    return READERS["scaled"](f"{x}", x)


def by_words(**words):
    return float(words["text"]) * words["x"]


def given_by_words(x):
    return by_words(text=f"{x}", x=x)


def given_by_stars(x):
    given = {"text": f"{x}", "x": x}
    return scaled_by_text(*given.values())


class Lines:
    def __init__(self, x):
        self.text = f"{x}"

    def __iter__(self):
        return iter([float(self.text)])


def read_by_an_iterator(x):
    return sum(Lines(x)) * x


def where_everything_is_caught(x):
    try:
        y = scaled_by_text(f"{x}", x)
    except:  # noqa: E722
        y = 0.0
    return y * x


def where_what_is_no_number_is_caught(x):
    try:
        y = float(f"{x}")
    except (TypeError, ValueError):
        y = 0.0
    return y * x


def print_into(lines, x):
    print(x, file=lines)


def write_into(lines, x):
    lines.write(f"{x}")


def printed_by_a_helper(x):
    lines = io.StringIO()
    print_into(lines, x)
    return float(lines.getvalue()) * x


def written_by_a_helper(x):
    lines = io.StringIO()
    write_into(lines, x)
    return float(lines.getvalue())


def row_by_a_helper(x):
    lines = io.StringIO()
    writer = csv.writer(lines)
    add_row(writer, x)
    return float(lines.getvalue())


def add_row(writer, x):
    writer.writerow([x])


def by_json(x):
    return json.loads(f"[{x}]")[0] * 2.0


def by_json_both_ways(x):
    return json.loads(json.dumps({"a": float(x)}))["a"] * x


FOLDER = tempfile.TemporaryDirectory()  # (of this process: tests run beside each other)
PLACE = os.path.join(FOLDER.name, "values")


def save_text(x):
    with open(PLACE + ".txt", "w") as file:
        file.write(str(x))


def text_there():
    with open(PLACE + ".txt") as file:
        return file.read()


def number_there():
    return float(text_there())


def by_a_file(x):
    with open(PLACE + ".txt", "w") as file:
        file.write(str(x))
    with open(PLACE + ".txt") as file:
        return float(file.read()) * x


def by_a_file_of_helpers(x):
    save_text(x)
    return float(text_there())


def by_a_file_read_in_a_helper(x):
    save_text(x)
    return number_there() * x


def by_lines_of_a_file(x):
    save_text(x)
    total = 0.0
    with open(PLACE + ".txt") as file:
        for line in file:
            total += float(line)
    return total


def by_a_path(x):
    pathlib.Path(PLACE).write_text(str(x))
    return float(pathlib.Path(PLACE).read_text())


def save_array(x):
    np.savetxt(PLACE + ".txt", np.array([x]))


def by_saved_text(x):
    np.savetxt(PLACE + ".txt", np.array([x]))
    return np.loadtxt(PLACE + ".txt") * x


def by_saved_text_of_a_helper(x):
    save_array(x)
    return 2.0 * np.loadtxt(PLACE + ".txt")


def by_a_saved_array(x):
    np.save(PLACE + ".npy", x)
    return np.load(PLACE + ".npy") * 2.0


def by_bytes_of_an_array(x):
    np.array([x]).tofile(PLACE + ".bin")
    return np.fromfile(PLACE + ".bin")[0]


def in_the_next_round(x):
    y = x
    for k in range(2):
        y = float(np.load(PLACE + ".npy")) if k else y
        np.save(PLACE + ".npy", x * 2.0)
    return y


def by_a_json_file(x):
    with open(PLACE + ".json", "w") as file:
        json.dump([float(x)], file)
    with open(PLACE + ".json") as file:
        return json.load(file)[0] * x


def by_the_environment(x):
    os.environ["TANGENTLIKE_X"] = str(x)
    return float(os.environ["TANGENTLIKE_X"]) * x


def by_another_program(x):
    program = "import sys; print(sys.argv[1])"
    return float(subprocess.check_output([sys.executable, "-c", program, f"{x}"]))


class Simulation:
    """A model that is run with files of its own, as programs in other languages are."""

    def write(self, x):
        np.savetxt(PLACE + ".in", [x])

    def run(self):
        shutil.copy(PLACE + ".in", PLACE + ".out")

    def read(self):
        return np.loadtxt(PLACE + ".out")

    def __call__(self, x):
        self.write(x)
        self.run()
        return self.read()


SIMULATION = Simulation()


def simulated(x):
    return SIMULATION(x) * x


FILES = [
    *(printed_by_a_helper, written_by_a_helper, row_by_a_helper, by_json, by_json_both_ways),
    *(by_a_file, by_a_file_of_helpers, by_a_file_read_in_a_helper, by_lines_of_a_file, by_a_path),
    *(by_saved_text, by_saved_text_of_a_helper, by_a_saved_array, by_bytes_of_an_array),
    *(in_the_next_round, by_a_json_file, by_the_environment, by_another_program, simulated),
]


def saves_and_goes_on(x):
    np.save(PLACE + ".npy", x)
    save_array(x)
    return x * x


def reads_before_it_writes(x):
    np.save(PLACE + ".npy", 2.0)
    k = np.load(PLACE + ".npy")
    np.save(PLACE + ".npy", k * x)
    return float(k) * x


def logs(x):
    with open(PLACE + ".txt", "a") as file:
        print(x, file=file)
        file.write(f"{x}")
    return x * float("2.5")


def saves_each_round(x):
    y = 0.0
    for k in range(3):
        y = y + x * x * k
        np.save(f"{PLACE}{k}.npy", y)
    return y


def writes_what_is_constant(x):
    with open(PLACE + ".txt", "w") as file:
        file.write(f"{tl.stop_gradient(x)}")
    return x * number_there()


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (saves_and_goes_on, 1.0),
        (reads_before_it_writes, 2.0),
        (logs, 2.5),
        (saves_each_round, 3.0),
        (writes_what_is_constant, 0.5),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_what_is_only_written_to_files_is_no_cut(f, slope):
    assert tl.grad(f)(0.5) == slope
    assert tl.jvp(f, 0.5, 1.0)[1] == slope


TEXT = [
    *FILES,
    *(in_one_branch, in_one_iteration, read_by_a_function_of_a_table, given_by_words),
    *(given_by_stars, read_by_an_iterator, where_what_is_no_number_is_caught),
    *(of_a_comprehension, read_by_a_comprehension, cast_where_it_is_made, as_bytes, printed),
    *(through_a_table, through_a_file, through_csv, as_characters, keys_of_a_comprehension),
    *(by_f_string, by_repr, by_format, by_percent, by_join_and_split, by_lines, by_literal),
    *(
        parsed_from_percent,
        by_array_of_text,
        by_cast_of_text,
        shown_by_a_helper,
        parsed_by_a_helper,
        array_of_shown,
    ),
    *(text_of_an_attribute, text_of_a_key, text_of_a_key_of_a_display),
]
KEYS = [
    *(keys_of_display, keys_stored, keys_of_comprehension, keys_of_pairs, keys_zipped),
    *(keys_popped, keys_put_by_a_helper, keys_of_a_helper, keys_of_an_attribute),
    keys_of_pairs_that_are_appended,
    *(keys_of_a_dict_in_a_dict, keys_under_another_name, keys_of_updates),
]


@pytest.mark.parametrize("f", [*TEXT, *KEYS], ids=lambda f: f.__name__)
def test_cut_paths_are_refused(f):
    for derive in (lambda: tl.grad(f)(0.5), lambda: tl.jvp(f, (0.5,), (1.0,))):
        with pytest.raises(tl.UnsupportedError, match="carr(y|ies) derivatives") as error:
            derive()
        assert error.value.place.line > 0


def test_text_where_everything_is_caught():
    """(Forward mode refuses to catch everything around tangents.)"""
    with pytest.raises(tl.UnsupportedError, match="made from text"):
        tl.grad(where_everything_is_caught)(0.5)
    with pytest.raises(tl.UnsupportedError):
        tl.jvp(where_everything_is_caught, (0.5,), (1.0,))


def bounds_of_a_slice(x):
    span = slice(x, 2.0 * x)
    return span.start * span.stop


def one_bound(x):
    return slice(x).stop * x


def of_bounds_in_a_list(x):
    return sum(slice(*bounds).stop for bounds in [[x], [1, x]])


def from_here(x):
    return slice(x, None)


def bounds_of_a_helper(x):
    return from_here(x).start * x


class Spans:
    def __getitem__(self, key):
        return key.start * 2.0


def bounds_for_a_method(x):
    return Spans()[x:] * x


def bounds_beside_arrays(x):
    span = slice(x, None)
    return np.sum(span.start * np.ones(3))  # (no statement of the adjoint needs it)


SLICES = [bounds_of_a_slice, one_bound, of_bounds_in_a_list, bounds_of_a_helper]
SLICES += [bounds_for_a_method, bounds_beside_arrays]


@pytest.mark.parametrize("f", SLICES, ids=lambda f: f.__name__)
def test_numbers_in_slices_are_refused(f):
    for derive in (lambda: tl.grad(f)(0.5), lambda: tl.jvp(f, 0.5, 1.0)):
        with pytest.raises(tl.UnsupportedError, match="slice"):
            derive()


def items_of_a_set(x):
    return np.sum(max({x}) * np.ones(3))


def items_of_a_made_set(x):
    items = set([x, 0.1])  # noqa: C405
    return np.sum(max(items) * np.ones(3))


@pytest.mark.parametrize("f", [items_of_a_set, items_of_a_made_set], ids=lambda f: f.__name__)
def test_sets_beside_arrays_are_refused(f):
    """The question what an item is was left out where nothing else needed the set: zero."""
    for derive in (lambda: tl.grad(f)(0.5), lambda: tl.jvp(f, (0.5,), (1.0,))):
        with pytest.raises(tl.UnsupportedError, match="set|carries"):
            derive()


def parts_by_slices(x):
    first = slice(0, int(x * 4.0))
    return np.sum((x * np.arange(4.0))[first] ** 2) + first.stop * x


def bounds_beside_numbers(x):
    rows, total = [(x, 1), (x * x, 3)], 0.0
    for value, end in rows:
        total = total + np.sum(np.exp(x * np.arange(4.0))[slice(end)]) * value
    return total * np.sum((x * np.arange(4.0))[slice(*[1, 3])])


@pytest.mark.parametrize("f", [parts_by_slices, bounds_beside_numbers], ids=lambda f: f.__name__)
def test_slices_of_integers(f):
    tl.check_grads(f, (0.8,), order=2)


def step(text, value):
    return f"{value}", float(text)


def text_of_the_step_before(x):
    text, total = "1.0", 0.0
    for n in range(3):
        text, number = step(text, x * n)
        total = total + number * x
    return total


def test_text_that_the_next_iteration_reads_is_refused():
    for derive in (tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (1.0,))):
        with pytest.raises(tl.UnsupportedError, match="made from text"):
            derive(text_of_the_step_before)(0.5)


def described(a, verbose=False):
    a += 1.0
    if verbose:
        return f"{a}"
    return a.astype("float64") * 2.0


def shown_and_read_by_one_call(x):
    a = np.array([x, 2.0 * x])
    return np.sum(described(a) ** 2)


class Window:
    def __init__(self, width=None):
        self.width = width

    @staticmethod
    def of(x, **options):
        made = Window(**options)
        made.largest = 2.0 * x
        return made


def table_or_array(x, table):
    return {0: x, 2: 1.0} if table else np.ones(3) * x


def computed_places(x, table=True):
    window = Window.of(x)
    width = 2 if window.width is None else window.width
    made = table_or_array(x, table)
    made[width - 1] = x * x
    if not table:
        made[width : width - 2 : -1] = x**3
    total = 0.0
    for place in made:
        total = total + (place * made[place] if table else place)
    return total


def test_computed_places_of_what_turns_out_to_be_an_array():
    tl.check_grads(computed_places, (0.5, False), wrt=0)


def in_units(x, kind):
    if x.dtype.kind not in "fc":
        raise ValueError(f"{x} is of {x.dtype}")
    shapes = [f"{x.shape}", f"{x.ndim}"]
    return x * float(f"{len(kind)}") * float(shapes[1])


def text_of_what_does_not_vary(x):
    return np.sum(in_units(x, "abc").astype(float) ** 2)


KINDS = {"f": np.float32, "d": np.float64}


def cast_by_a_table(x):
    return np.sum((x * x).astype(KINDS.get(x.dtype.char, float)))


class Block:
    """Holds a name and what it shows of itself beside its numbers, as a transfer function does."""

    def __init__(self, gain, count):
        self.gain = gain
        self.name = f"block{count}"
        self.label = "%s: %s" % (self.name, gain)  # noqa: UP031

    def __call__(self, t):
        return self.gain * np.asarray(t, dtype=float) * np.atleast_1d(t).astype(complex).real


def numbers_of_an_object_with_a_name(x):
    return np.sum(Block(x[0], len(x))([0.7, 0.2]) * x)


def numbers_beside_text(x):
    table = {"v": x[0], "name": f"{x[0]}"}
    return np.sum(by_words(text=table["v"], x=x))


@pytest.mark.parametrize("f", [numbers_of_an_object_with_a_name, numbers_beside_text])
def test_numbers_beside_text_are_differentiated(f):
    """(The run asks whether it is text that a number is made of.)"""
    tl.check_grads(f, (np.array([0.3, 0.7]),), order=2)


@pytest.mark.parametrize("f", [text_of_what_does_not_vary, cast_by_a_table])
def test_a_helper_that_makes_text_of_other_things(f):
    tl.check_grads(f, (np.array([0.3, 0.7]),), order=2)


def text_that_is_shown(x):
    label = f"{x:.3f}"
    shown = float(label)
    assert shown == shown
    scale = float("2.5")
    return scale * x**2 * len(label) / len(label)


def keys_looked_up(x):
    known = {x: x * x, 2 * x: 1.0}
    if x in known:
        known[2 * x] += x
    return known[x] * known.get(2 * x, 0.0) * len(known)


def constant_keys(x):
    total = 0.0
    for key in {0.5: x, 2.0: x}:
        total = total + key * x
    return total


def keys_out_of_tuples(x):
    # At order two, where the text is read again, nothing tells that the keys are integers.
    table, waiting = {}, [(0, x), (1, x * x)]
    while waiting:
        place, value = waiting.pop()
        put(table, place, value * value)
    return sum((place + 1) * value for place, value in table.items())


def keys_of_zipped_names(x):
    table = dict(zip(["w", "b"], [x, x * x], strict=True))
    squares = {}
    for name in table:
        squares[name] = table[name] ** 2
    return sum(squares.values())


def scaled(x, *factors, **named):
    return x * factors[0] * named["w"]


FACTORS, NAMED = (1.0, 2.0), {"w": 3.0}


def starred(x):
    return scaled(x, *FACTORS[1:], **NAMED) + np.asarray(x) ** 2


def names_that_show(x):
    table = {shown(x): x}
    scale = float("2.5")
    return table[shown(x)] ** 2 * scale * parsed("0.5")


@pytest.mark.parametrize(
    "f",
    [
        *(text_that_is_shown, keys_looked_up, constant_keys, keys_out_of_tuples),
        *(keys_of_zipped_names, names_that_show, starred, shown_and_read_by_one_call),
        computed_places,
    ],
)
def test_what_loses_nothing_is_differentiated(f):
    slope = (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6
    assert abs(tl.grad(f)(0.5) - slope) < 1e-7
    assert abs(tl.jvp(f, (0.5,), (1.0,))[1] - slope) < 1e-7
    if f is not keys_looked_up:  # (its text hands a dict with such keys to a helper)
        bend = (tl.grad(f)(0.5 + 1e-5) - tl.grad(f)(0.5 - 1e-5)) / 2e-5
        assert abs(tl.grad(lambda x: tl.grad(f)(x))(0.5) - bend) < 1e-6


FIELDS = [("a", float), ("b", float)]
ROWS = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=FIELDS)


def rows_stored(x):
    rows = np.zeros(2, dtype=[("a", float), ("b", float)])
    for i in range(2):
        rows[i] = (x[i], x[i] ** 2)
    return np.sum(rows["a"] * rows["b"])


def fields_stored(x):
    rows = np.zeros(2, dtype=FIELDS)
    rows["a"] = x
    return np.sum(rows["a"] ** 2)


def rows_made(x):
    rows = np.array([(x[0], x[1])], dtype=FIELDS)
    return rows["a"][0] * rows["b"][0]


def fields_of_copy(x):
    rows = ROWS.copy()
    rows["a"][:] = x
    return np.sum(rows["a"] ** 2)


def row_by_name(x):
    rows = ROWS.copy()
    row = rows[0]
    row["a"] = x[0]
    return rows["a"][0] ** 2


@pytest.mark.parametrize("f", [rows_stored, fields_stored, rows_made, fields_of_copy, row_by_name])
def test_structured_arrays_that_carry_derivatives_are_refused(f):
    for derive in (lambda: tl.grad(f)(X), lambda: tl.jvp(f, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="structured array"):
            derive()


def test_fields_of_constants():
    def f(x, rows):
        return np.sum(x * rows["a"]) + np.sum(x * ROWS["b"])

    assert np.allclose(tl.grad(f)(X, ROWS), [3.0, 7.0])


class Settings:
    def __init__(self):
        self.rounds, self.name = 3, "fast"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.sin, "the ufunc sin"),
        (len, "len"),
        (None, "is None"),
        ("text", "the str"),
        (np, "the module numpy"),
        (Settings(), "a Settings"),
        ([2, 3], "a list"),
        ({"n": 2}, "a dict"),
        ((), r"is \(\)"),
    ],
)
def test_wrt_without_floats_is_an_error(value, words):
    def f(x, p):
        return np.sum(x)

    for derive in (tl.grad(f, wrt="p"), tl.value_and_grad(f, wrt=1)):
        with pytest.raises(tl.TangentlikeError, match=words):
            derive(X, value)


def test_parts_of_wrt_without_floats_have_none():
    def f(x, p):
        return np.sum(x) * p[0] * p[1]

    assert tl.grad(f, wrt="p")(X, [2, 3.0])[0] is None
    x_bar, p_bar = tl.grad(f, wrt=("x", "p"))(X, [2, 3])
    assert np.allclose(x_bar, 6.0) and p_bar == [None, None]


TABLE = {"w": 2.0}
TABLE["me"] = TABLE
LIST = [1.0, 2.0]
LIST.append(LIST)


class Node:
    def __init__(self):
        self.w, self.me = 2.0, self
        self.kids = [self]


NODE = Node()


def test_outer_data_that_contains_itself():
    def f(x):
        return np.sum(x) * len(TABLE) * TABLE["me"]["w"] * len(LIST) * LIST[1]

    def of_object(x):
        return np.sum(x * x) * NODE.w * NODE.me.w * len(NODE.kids)

    def of_argument(x, table):
        return np.sum(x) * table["me"]["w"] * len(table)

    assert np.allclose(tl.grad(f)(X), 24.0)
    tl.check_grads(f, (X,))
    tl.check_grads(of_object, (X,))
    assert np.allclose(tl.grad(of_argument)(X, TABLE), 4.0)


# Arrays of integers, of which nobody tells that they are: NumPy rounds what is put into them, so
# that reverse mode goes on by identity (where integers have no adjoint), and forward mode refuses.


def into_a_list_of_counts(x):
    counts = [1, 2, 3]
    a = np.array(counts)
    a[1] = x[0] * 9.0
    return np.sum(a[:2] * x)


def into_tiles(x):
    a = np.tile([1, 2], 2)
    a[1] = x[0] * 9.0
    return np.sum(a[:2] * x)


def into_an_order(x):
    a = np.argsort(x)
    a[0] = x[1] * 9.0
    return np.sum(a * x)


def into_a_view_of_a_grid(x):
    rows = np.mgrid[0:2, 0:2][0]
    columns = rows.T
    columns[0] = 9.0 * x
    return np.sum(rows @ x)


def into_counts(x):
    a = np.bincount([0, 1, 1])
    a[0] = x[1] * 9.0
    return np.sum(a * x)


def like_a_list(x):
    a = np.zeros_like([1, 2])
    a[:] = 9.0 * x
    return np.sum(a * x)


def put_last(a, v):
    a[-1] = v


def into_integers_and_floats(x):
    arrays = [np.tile([1, 2], 2), np.tile([1.0, 2.0], 2)]
    for a in arrays:
        put_last(a, 9.0 * x[0])
    return np.sum(arrays[0]) * x[0] + np.sum(arrays[1]) * x[1]


INTO_INTEGERS = [
    into_integers_and_floats,
    *(into_a_list_of_counts, into_tiles, into_an_order, into_a_view_of_a_grid, into_counts),
    like_a_list,
]


@pytest.mark.parametrize("f", INTO_INTEGERS, ids=lambda f: f.__name__)
def test_what_is_put_into_integers_carries_no_derivative(f):
    tl.check_grads(f, (X,), modes=("rev",))
    if f in (into_counts, into_an_order):  # (which are known to be such arrays)
        assert tl.jvp(f, (X,), (X,))[1] == pytest.approx(tl.grad(f)(X) @ X)
        return
    with pytest.raises(tl.UnsupportedError, match="array of integers") as error:
        tl.jvp(f, (X,), (X,))
    assert error.value.place.line > 0


def begun_by_an_integer(x):
    return np.max([1, 2], initial=9.0 * x[0]) * x[1]


def begun_by_a_method(x):
    return (X > 0.0).nonzero()[0].sum(initial=9.0 * x[0]) * x[1]


def inserted_into_integers(x):
    return np.sum(np.insert([1, 2], 1, 9.0 * x[0]) * x[1])


@pytest.mark.parametrize("f", [begun_by_an_integer, begun_by_a_method, inserted_into_integers])
def test_what_calls_round_is_refused(f):
    for derive in (lambda: tl.grad(f)(X), lambda: tl.jvp(f, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="array of integers"):
            derive()


def into_floats(x):
    names = [1.0, 2]
    a, b = np.array(names), np.tile([0.5, 1.0], 2)
    a[1], b[1:3] = x[0] ** 2, x
    rows = np.zeros_like([1.0, 2.0])
    rows[:] = x * x
    return np.sum(a * x) + np.sum(b[:2] * rows) + np.max([1, 2.0], initial=9.0 * x[0]) * x[1]


def test_what_is_put_into_floats():
    tl.check_grads(into_floats, (X,), order=2)
    assert "require_floats" not in tl.grad(filled_with_floats).source


def filled_with_floats(x: np.ndarray):
    a, b, c = np.zeros(2), np.empty_like(x), x.copy()
    rows = np.stack([x, x])
    a[0], b[...], c[1:], rows[0] = x[1], x, x[:1], x * x
    return np.sum(a * b * c * rows)


# What is added to entries of integers is rounded as what is stored there, and the entries of a
# result that NumPy makes of what a function gives are of the class of the first.


def added_to_a_count(x, kind="int"):
    a = np.arange(2).astype(kind)
    a[0] += 9.0 * x[0]
    return np.sum(a * x)


def added_to_counts(x, kind="int"):
    a = np.arange(2).astype(kind)
    np.add.at(a, [0], 9.0 * x[0])
    np.subtract.at(a, [1], 4.0 * x[1])
    return np.sum(a * x)


def added_to_one_of_both(x, kind="int"):
    a, b = np.zeros(2), np.arange(2)
    c = a if len(kind) > np.sum(x + 1.0) else b
    c[1] += 9.0 * x[0]
    return np.sum((a + b) * x)


@pytest.mark.parametrize("f", [added_to_a_count, added_to_counts, added_to_one_of_both])
def test_what_is_added_to_integers_carries_no_derivative(f):
    tl.check_grads(f, (X,), modes=("rev",))
    with pytest.raises(tl.UnsupportedError, match="array of integers"):
        tl.jvp(f, (X,), (X,))
    tl.check_grads(lambda x: f(x, "float"), (X,), order=2)


def ramp(v):
    return 0 if v < 0.6 else 3.0 * v


def of_entries(x):
    return np.sum(np.vectorize(ramp)(x))


def of_entries_of_two(x):
    return np.sum(np.vectorize(lambda v, w: 0 if v < 0.6 else v * w)(x, x))


def of_rows(x):
    return np.sum(np.apply_along_axis(lambda row: ramp(row[0]), 1, x[:, None]))


@pytest.mark.parametrize("f", [of_entries, of_entries_of_two, of_rows])
def test_results_rounded_to_the_class_of_the_first(f):
    tl.check_grads(f, (X[::-1].copy(),), order=2)
    for derive in (lambda: tl.grad(f)(X), lambda: tl.jvp(f, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="an integer, to which it rounds") as error:
            derive()
        assert error.value.place.file == __file__


def contiguous_counts(x, kind=int):
    return np.sum(np.ascontiguousarray(9.0 * x, dtype=kind) * x)


def test_contiguous_integers_are_a_cast():
    tl.check_grads(lambda x: contiguous_counts(x, float), (X,), order=2)
    for derive in (tl.grad(contiguous_counts), lambda x: tl.jvp(contiguous_counts, (x,), (x,))):
        with pytest.raises(tl.UnsupportedError, match="cuts the derivative"):
            derive(X)
