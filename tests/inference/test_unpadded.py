"""Documents of uneven lengths behind one another: an encoder that is saved gives what it gives for padded ones."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.inference import Config, create_predictor
from paddle.nn.functional.flash_attention import flash_attn_unpadded
from paddle.static import InputSpec

WIDTH, HEADS, LONGEST = 16, 2, 9


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words, self.qkv, self.out = nn.Embedding(50, WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def heads(self, x):
        return self.qkv(x).reshape([*x.shape[:-1], 3, HEADS, WIDTH // HEADS]).unbind(-3)

    def padded(self, words, counts):
        x = self.words(words)
        mask = ((1 - counts) * -1e4).unsqueeze([1, 2])
        y = F.scaled_dot_product_attention(*self.heads(x), attn_mask=mask)
        return self.out(x + y.reshape(x.shape))

    def forward(self, words, ends):
        x = self.words(words)
        scale = (WIDTH // HEADS) ** -0.5
        y, _ = flash_attn_unpadded(*self.heads(x), ends, ends, LONGEST, LONGEST, scale, training=False)
        return self.out(x + y.reshape(x.shape))


@pytest.fixture
def encoder():
    paddle.seed(3)
    made = Encoder()
    made.eval()
    return made


def test_saved_encoder(tmp_path, encoder):
    """One file serves any number of documents of any lengths."""
    specs = [InputSpec([None], "int64", "words"), InputSpec([None], "int32", "ends")]
    path = str(tmp_path / "m")
    paddle.jit.save(encoder, path, specs)
    predictor = create_predictor(Config(path + ".json", path + ".pdiparams"))
    rng = np.random.default_rng(0)
    for lengths in ([4, 9, 1], [7], [2, 2, 5, 8, 3]):
        words = np.zeros((len(lengths), LONGEST), "int64")
        counts = np.zeros((len(lengths), LONGEST), "float32")
        for i, n in enumerate(lengths):
            words[i, :n], counts[i, :n] = rng.integers(1, 50, n), 1
        with paddle.no_grad():
            wanted = encoder.padded(paddle.to_tensor(words), paddle.to_tensor(counts)).numpy()
        given = {"words": words[counts > 0], "ends": np.cumsum([0, *lengths]).astype("int32")}
        for name, x in given.items():
            predictor.get_input_handle(name).copy_from_cpu(x)
        predictor.run()
        found = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        np.testing.assert_allclose(found, wanted[counts > 0], rtol=1e-5, atol=1e-6)
