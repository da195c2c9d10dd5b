"""Masks by columns against their definitions: families, densities, tiles, conversion from dense masks, pictures."""

import doctest
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from umiak import masks
from umiak.masks import ColumnMask, Tile, column_mask, families, picture

LENGTH = 10
ROW, COLUMN = np.arange(LENGTH)[:, None], np.arange(LENGTH)
CAUSAL = ROW >= COLUMN
DOCUMENT = np.repeat([0, 1, 2], [4, 3, 3])
SAME = DOCUMENT[:, None] == DOCUMENT
OTHER = np.repeat([0, 1, 2], [3, 2, 5])
IN_PREFIX = COLUMN - np.repeat([0, 3, 5], [3, 2, 5]) < 2
SPAN = (COLUMN >= 3) & (COLUMN < 6)
GONE = np.array([3, 10, 4, 5, 9, 10, 8, 10, 9, 10])

FAMILIES = {
    "full": (masks.full(LENGTH), np.ones_like(CAUSAL)),
    "causal": (masks.causal(LENGTH), CAUSAL),
    "sliding window": (masks.sliding_window(LENGTH, 3), CAUSAL & (ROW - COLUMN <= 3)),
    "two-sided window": (masks.sliding_window(LENGTH, 3, 2), (ROW - COLUMN <= 3) & (COLUMN - ROW <= 2)),
    "causal document": (masks.causal_document([4, 3, 3]), CAUSAL & SAME),
    "document": (masks.document([4, 3, 3]), SAME),
    "shared question": (masks.share_question([(4, [3, 3])]), CAUSAL & (SAME | (COLUMN < 4))),
    "global and sliding": (
        masks.global_sliding(LENGTH, 2, 2, 1),
        (ROW < 2) | (COLUMN < 2) | ((ROW - COLUMN <= 2) & (COLUMN - ROW <= 1)),
    ),
    "causal blockwise": (masks.causal_blockwise([4, 3, 3]), CAUSAL & (SAME | (DOCUMENT[:, None] == 2))),
    "prefix": (masks.prefix(LENGTH, 5), CAUSAL | (COLUMN < 5)),
    "prefix document": (
        masks.prefix_document([3, 2, 5], [2, 2, 2]),
        (OTHER[:, None] == OTHER) & (CAUSAL | IN_PREFIX),
    ),
    "QK-sparse": (masks.qk_sparse(LENGTH, [(3, 3)]), CAUSAL & ~(SPAN & SPAN[:, None])),
    "random eviction": (masks.random_eviction(GONE), CAUSAL & (ROW < GONE)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    mask, expected = FAMILIES[name]
    np.testing.assert_array_equal(mask.visible()[0, 0], expected)
    assert mask.density() == pytest.approx(expected.mean())
    again = masks.from_dense(expected)
    np.testing.assert_array_equal(again.visible()[0, 0], expected)
    assert again.indices.shape[3] <= mask.indices.shape[3]


def test_hash_sparse_has_indices_for_each_head():
    mask = masks.hash_sparse([[4, 6], [3, 0, 7]])
    assert mask.indices.shape == (1, 2, 10, 1)
    for head, sizes in enumerate(([4, 6], [3, 7])):
        bucket = np.repeat([0, 1], sizes)
        np.testing.assert_array_equal(mask.visible()[0, head], CAUSAL & (bucket[:, None] == bucket))


def test_the_worked_example():
    """Indices of ten tokens in documents of 4, 3 and 3."""
    columns = lambda mask: np.moveaxis(mask.indices[0, 0], 1, 0).tolist()  # noqa: E731
    assert columns(masks.causal_document([4, 3, 3])) == [[4, 4, 4, 4, 7, 7, 7, 10, 10, 10]]
    assert columns(masks.document([4, 3, 3]))[1] == [0, 0, 0, 0, 4, 4, 4, 7, 7, 7]
    assert columns(masks.share_question([(4, [3, 3])])) == [[10, 10, 10, 10, 7, 7, 7, 10, 10, 10]]
    assert columns(masks.prefix(10, 5))[1] == [0, 0, 0, 0, 0, 5, 6, 7, 8, 9]


FORMS = [(True, 1), (True, 2), (False, 2), (False, 4)]


@pytest.mark.parametrize(("causal", "columns"), FORMS)
@pytest.mark.parametrize(("queries", "keys"), [(7, 6), (6, 7), (1, 5), (5, 1)])
def test_any_mask_goes_to_a_dense_one_and_back(rng, causal, columns, queries, keys):
    for _ in range(50):
        indices = rng.integers(-2, queries + 3, (2, 3, keys, columns)).astype(np.int32)
        mask = ColumnMask(indices, causal, queries)
        again = masks.from_dense(mask.visible())
        np.testing.assert_array_equal(again.visible(), mask.visible())


@pytest.mark.parametrize(("causal", "columns"), FORMS)
def test_tiles_are_exact_also_at_ragged_ends(rng, causal, columns):
    """Of unequal lengths, and of indices outside of the queries, too; so is the density."""
    for _ in range(30):
        queries, keys, height, width = rng.integers(1, 20, 4)
        indices = rng.integers(-3, queries + 4, (1, 2, keys, columns)).astype(np.int32)
        mask = ColumnMask(indices, causal, int(queries))
        seen, tiles = mask.visible(), mask.tiles(int(height), int(width))
        for (b, h, i, k), kind in np.ndenumerate(tiles):
            part = seen[b, h, i * height : (i + 1) * height, k * width : (k + 1) * width]
            assert kind == (Tile.FULL if part.all() else Tile.PARTIAL if part.any() else Tile.SKIP)
        assert mask.tile_density(int(height), int(width)) == pytest.approx((tiles != Tile.SKIP).mean())
        assert mask.density() == pytest.approx(seen.mean())


@pytest.mark.parametrize(("queries", "keys"), [(0, 3), (3, 0), (0, 0)])
def test_masks_of_nothing(queries, keys):
    mask = ColumnMask(np.zeros((1, 2, keys, 2), np.int32), False, queries)
    assert mask.density() == mask.tile_density() == 0
    assert mask.tiles().shape == (1, 2, min(queries, 1), min(keys, 1))


def test_long_masks_are_measured_without_the_dense_one():
    mask = masks.sliding_window(1 << 20, 255)
    assert mask.density() == pytest.approx(256 / (1 << 20), rel=1e-3)


def test_picture_shows_tiles_and_scores():
    text = masks.sliding_window(32, 5).svg(8, 8)
    tiles = masks.sliding_window(32, 5).tiles(8, 8)
    assert f"skip: {int((tiles == Tile.SKIP).sum())}" in text
    assert f"partial: {int((tiles == Tile.PARTIAL).sum())}" in text
    assert text.count("<rect") == 1 + tiles.size + 3
    assert text.count("z") - text.count("size") == int(masks.sliding_window(32, 5).visible().sum())


PICTURE = Path(__file__).parents[2] / "docs" / "guide" / "pictures" / "masks.svg"


def shown():
    """Masks of the guide's picture; ``PICTURE.write_text(masks.gallery(shown(), 4, 4))`` draws it anew."""
    n, lengths = 24, [10, 6, 8]
    gone = np.minimum(np.arange(n) + 1 + np.arange(n) * 7 % 11, n)
    return {
        "causal": masks.causal(n),
        "sliding window": masks.sliding_window(n, 5),
        "causal document": masks.causal_document(lengths),
        "document": masks.document(lengths),
        "shared question": masks.share_question([(8, [5, 5, 6])]),
        "global, sliding": masks.global_sliding(n, 2, 4, 2),
        "causal blockwise": masks.causal_blockwise([6, 6, 5, 7]),
        "prefix": masks.prefix(n, 9),
        "prefix document": masks.prefix_document(lengths, [5, 2, 4]),
        "QK-sparse": masks.qk_sparse(n, [(4, 5), (14, 6)]),
        "hash-sparse": masks.hash_sparse([[4, 8, 5, 7]]),
        "random eviction": masks.random_eviction(gone),
    }


def test_the_picture_of_the_guide_is_up_to_date():
    text = masks.gallery(shown(), 4, 4)
    assert PICTURE.read_text() == text
    assert text.count("<rect") == 1 + 3 + sum(mask.tiles(4, 4).size for mask in shown().values())
    assert all(name in text for name in shown())


def pixels_of(file):
    """The pixels of a PNG, as another decoder reads them, and its text."""
    image = Image.open(io.BytesIO(file))
    return np.asarray(image.convert("RGB")), image.text["Description"]


@pytest.mark.parametrize(
    ("mask", "tile"), [(masks.sliding_window(32, 5), 8), (masks.prefix(300, 100), 64), (masks.document([900, 700]), 1)]
)
def test_a_picture_as_png(mask, tile):
    """Inside of each tile is the colour of its class, and squares are the scores that count."""
    pixels, text = pixels_of(mask.png(tile, tile))
    kinds, n = mask.tiles(tile, tile)[0, 0], mask.queries
    assert pixels.shape == (480, 480, 3)
    assert text == f"{n} queries, {n} keys; {mask.density():.1%} visible; " + "; ".join(
        f"{kind.name.lower()}: {int((kinds == kind).sum())}" for kind in Tile
    )
    colours = {Tile.SKIP: (0xF4, 0xF5, 0xF7), Tile.PARTIAL: (0xFF, 0xE2, 0xB8), Tile.FULL: (0x8F, 0xC7, 0xA6)}
    seen = mask.visible()[0, 0]
    rng = np.random.default_rng(0)
    for y, x in rng.integers(0, 480, (300, 2)):
        at = (y + 0.5) * n / 480, (x + 0.5) * n / 480
        i, k = int(at[0]), int(at[1])
        colour = tuple(pixels[y, x])
        if min(at[0] % tile, at[1] % tile) < n / 480 and tile > 1:  # a border
            continue
        inside = n <= 64 and seen[i, k] and all(0.2 < a % 1 < 0.8 for a in at)
        assert colour == ((0x3D, 0x6F, 0xB4) if inside else colours[Tile(int(kinds[i // tile, k // tile]))])


@pytest.mark.parametrize(("queries", "keys"), [(0, 3), (3, 0), (0, 0), (1, 700)])
def test_pictures_of_next_to_nothing(queries, keys):
    pixels, text = pixels_of(ColumnMask(np.zeros((1, 2, keys, 2), np.int32), False, queries).png())
    assert 0 not in pixels.shape and text.startswith(f"{queries} queries, {keys} keys")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: masks.gallery({}), r"\[gallery\] requires a mask or more, got none"),
        (lambda: masks.causal_document([4, 0]), r"\[causal_document\] requires lengths of 1 at least, got \[4, 0\]"),
        (lambda: masks.prefix(4, 5), r"\[prefix\] requires a prefix from 0 to 4, got 5"),
        (lambda: masks.prefix_document([3, 2], [4, 1]), r"\[prefix_document\] requires a prefix for each document"),
        (lambda: masks.qk_sparse(6, [(0, 3), (2, 2)]), r"\[qk_sparse\] requires spans that do not overlap"),
        (lambda: masks.random_eviction([0, 2]), r"\[random_eviction\] requires each key to be there"),
        (lambda: masks.hash_sparse([[3], [4]]), r"\[hash_sparse\] requires heads whose buckets hold equally many"),
        (lambda: masks.sliding_window(4, -1), r"\[sliding_window\] requires numbers of keys of 0 at least"),
        (lambda: masks.from_dense(np.ones((2, 2))), r"\[from_dense\] requires a mask of bool"),
        (lambda: masks.from_dense(np.arange(8)[:, None] % 2 == [0, 0]), r"at most two intervals of queries"),
        (lambda: ColumnMask(np.zeros((1, 1, 3, 4), np.int32), True, 3), r"\[ColumnMask\] requires indices of int32"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


CONSTRUCTORS = {
    "full": lambda n: masks.full(n),
    "causal": lambda n: masks.causal(n),
    "sliding_window": lambda n: masks.sliding_window(n, 2),
    "causal_document": lambda n: masks.causal_document([2, n]),
    "document": lambda n: masks.document([n, 3]),
    "share_question": lambda n: masks.share_question([(2, [n])]),
    "global_sliding": lambda n: masks.global_sliding(n, 0, 1, 1),
    "causal_blockwise": lambda n: masks.causal_blockwise([n]),
    "prefix": lambda n: masks.prefix(n, 0),
    "prefix_document": lambda n: masks.prefix_document([n], [0]),
    "qk_sparse": lambda n: masks.qk_sparse(n, []),
    "hash_sparse": lambda n: masks.hash_sparse([[n]]),
    "random_eviction": lambda n: masks.random_eviction([n]),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_lengths_that_are_none(name):
    """No length below 1, none that int32 cannot tell of, nothing but integers; nothing as long as that is made."""
    for length in (0, -1) if name == "random_eviction" else (0, -1, 2**31, 2**62):
        with pytest.raises(ValueError, match=rf"\[{name}\] requires "):
            CONSTRUCTORS[name](length)
    for length in (3.5, "abc", None, 2**70):
        with pytest.raises(TypeError, match=rf"\[{name}\] requires 64-bit integers, got"):
            CONSTRUCTORS[name](length)
    for length in (4, np.int32(4), np.uint8(4)):
        assert CONSTRUCTORS[name](length).keys in (1, 3, 4, 6, 7)


def test_windows_wider_than_any_mask():
    for far in (4, 2**31, 2**63 - 1):
        np.testing.assert_array_equal(masks.sliding_window(4, far).indices, masks.causal(4).indices)
        assert masks.sliding_window(4, far, far).visible().all()
        assert masks.global_sliding(4, 1, far, far).visible().all()


def test_what_is_no_list():
    for call in (
        lambda: masks.share_question([3, 4]),
        lambda: masks.hash_sparse([4, 4]),
        lambda: masks.qk_sparse(6, [1, 2]),
        lambda: masks.random_eviction([[1, 2]]),
        lambda: masks.document(5),
        lambda: masks.prefix_document([3, 2], 1),
        lambda: masks.full([3, 4]),
        lambda: masks.full(8).tiles(0, 4),
        lambda: masks.full(8).png(columns=-1),
    ):
        with pytest.raises((TypeError, ValueError), match=r"^\[[\w.]+\] requires "):
            call()


@pytest.mark.parametrize("module", [families, column_mask, picture], ids=lambda m: m.__name__)
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
