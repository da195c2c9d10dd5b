"""Lists whose length data decide hold copies: what Python's list would share is refused where it is written to; what
has the list by another name, or asks for its type, finds it."""

import numpy as np
import pytest

import paddle

UP, DOWN = np.float32([1, 2]), np.float32([-3, 1])


def grown(x, items):
    if x.sum() > 0:
        items.append(x * 3)


def of_one_shape(f):
    return paddle.jit.to_static(f, full_graph=True, input_spec=[paddle.static.InputSpec([2])])


def appended_and_written(x):
    y, items = x + 1, []
    while x.sum() < 9:
        items.append(y)
        x = x * 2 + 9
    y.add_(x)
    return paddle.stack(items)


def written_before_it_is_appended_again(x):
    y, items, i = x + 1, [], paddle.zeros([])
    while i < 3:
        y.add_(paddle.ones([2]))
        items.append(y)
        i = i + 1
    return paddle.stack(items)


def first_item_and_written(x):
    y = x + 1
    items = [y]
    if x.sum() > 0:
        items.append(x)
    y.add_(x)
    return paddle.stack(items)


def read_and_written_behind_an_append(x):
    items = [x + 1]
    if x.sum() > 0:
        items.append(x)
    t = items[0]
    items.append(x)
    t.add_(x)
    return items[0]


def written_in_a_loop_over_them(x):
    items = [x + 1]
    if x.sum() > 0:
        items.append(x * 2)
    for t in items:
        t.add_(x)
    return paddle.stack(items)


REFUSED = (
    appended_and_written,
    written_before_it_is_appended_again,
    first_item_and_written,
    read_and_written_behind_an_append,
    written_in_a_loop_over_them,
)


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_writes_that_a_list_would_show_are_refused(f):
    with pytest.raises(Exception, match="in a list whose length a loop or branch on tensors decides"):
        paddle.jit.to_static(f, full_graph=True)(paddle.to_tensor(UP))


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_in_a_program_for_files_too(f, tmp_path):
    with pytest.raises(Exception, match="in a list whose length a loop or branch on tensors decides"):
        paddle.jit.save(of_one_shape(f), str(tmp_path / "m"))


def test_rows_of_a_tensor_of_open_length_are_not_written_to(tmp_path):
    def f(x):
        y = x + 1
        for row in y:
            row.add_(row)
        return y

    spec = [paddle.static.InputSpec([None, 2])]
    with pytest.raises(Exception, match="a row of the tensor that a loop runs over"):
        paddle.jit.save(paddle.jit.to_static(f, full_graph=True, input_spec=spec), str(tmp_path / "m"))


def item_by_number(x):
    items = [x + 1]
    if x.sum() > 0:
        items.append(x * 2)
    items[0].add_(x)
    items[-1][1] = 7.0
    return items[0] + items[-1]


def joined_and_written(x):
    items = [x + 1]
    if x.sum() > 0:
        items.append(x * 2)
    stacked, joined = paddle.stack(items), paddle.concat(items)
    stacked.add_(x)
    joined.add_(paddle.to_tensor(2.0))
    return items[0] * 100 + stacked[0] * 10 + joined[:2]


def other_name(x):
    items = []
    grown(x, items)
    if not items:
        items.append(x)
    return x * len(items) + paddle.stack(items).sum(0)


def in_a_tuple(x):
    items = []
    pair = (items, 1)
    if x.sum() > 0:
        items.append(x * 3)
    return x * 2 + len(pair[0]) if pair[0] else x * 7


def types(x):
    items = [x]
    if x.sum() > 0:
        items.append(x * 3)
    if isinstance(items, (list, tuple)) and type(items) is list and not isinstance(items, dict):
        return paddle.stack(items).sum(0)
    return x * 100


def by_another_name(x):
    items = [x]
    others = same = items
    while x.sum() < 9:
        items.append(x)
        x = x * 2 + 9
    others.append(x + 1)
    same += [x + 2]
    others[0] = x + 3
    others.insert(1, x + 4)
    del same[2]
    return paddle.stack(items) * len(others) + others[-1] + sum(v.sum() for v in same)


def by_the_first_name(x):
    first, count = [x], 1
    items, count = first, count + 1
    if x.sum() > 0:
        items.append(x * 3)
    first.pop(0)
    first.append(x)
    return paddle.stack(first) + paddle.stack(items) * count


def by_an_item(x):
    items = [x]
    held = {"a": items, "b": (items, 1)}
    if x.sum() > 0:
        items.append(x * 3)
    held["a"].append(x + 1)
    held["b"][0].extend([x + 2, x + 3])
    return paddle.stack(items)


def by_a_choice(x):
    items, other = [x], []
    chosen = items if x.shape[0] == 2 else other
    for _ in range(2):
        if x.sum() > 0:
            items.append(x * 3)
        chosen.append(x + 1)
    return paddle.stack(items)


NAMES = by_another_name, by_the_first_name, by_an_item, by_a_choice


@pytest.mark.parametrize("f", [item_by_number, joined_and_written, other_name, in_a_tuple, types, *NAMES])
def test_as_in_eager_mode(f, tmp_path):
    captured = of_one_shape(f)
    paddle.jit.save(captured, str(tmp_path / "m"))
    loaded = paddle.jit.load(str(tmp_path / "m"))
    for data in (UP, DOWN):
        expected = f(paddle.to_tensor(data)).numpy()
        np.testing.assert_array_equal(captured(paddle.to_tensor(data)).numpy(), expected)
        np.testing.assert_array_equal(loaded(paddle.to_tensor(data)).numpy(), expected)


def by_an_item_of_a_list(x):
    items = [x]
    held = [items]
    if x.sum() > 0:
        items.append(x * 3)
    held[0][0] = x + 1
    return paddle.stack(items)


def test_a_change_that_the_array_does_not_have_is_refused(tmp_path):
    with pytest.raises(Exception, match=r"requires 'items', whose length .+ to be changed by that name"):
        paddle.jit.save(of_one_shape(by_an_item_of_a_list), str(tmp_path / "m"))
    x = paddle.to_tensor(UP)
    np.testing.assert_array_equal(of_one_shape(by_an_item_of_a_list)(x).numpy(), by_an_item_of_a_list(x).numpy())


class Keeping(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.kept = [paddle.zeros([2])]

    def forward(self, x):
        if x.sum() > 0:
            self.kept.append(x)
        return paddle.stack(self.kept).sum(0)


def test_lists_from_outside_are_what_they_were_behind_a_save(tmp_path):
    layer, outer = Keeping(), [1.0]

    def f(x):
        while x.sum() < 9:
            outer.append(2.0)
            x = x * 2 + 1
        return x * len(outer)

    kept = list(layer.kept)
    paddle.jit.save(layer, str(tmp_path / "layer"), input_spec=[paddle.static.InputSpec([2])])
    paddle.jit.save(of_one_shape(f), str(tmp_path / "f"))
    assert type(layer.kept) is list and len(layer.kept) == 1 and layer.kept[0] is kept[0]
    assert outer == [1.0] and f.__closure__[0].cell_contents is outer
    loaded = paddle.jit.load(str(tmp_path / "f"))
    np.testing.assert_array_equal(loaded(paddle.to_tensor(UP)).numpy(), f(paddle.to_tensor(UP)).numpy())
