"""Sound files: what is written is read, by both backends and by Python's own module; broken files are refused."""

from __future__ import annotations

import io
import struct
import tracemalloc
import wave

import numpy as np
import pytest
from numpy.testing import assert_allclose

import paddle
from paddle.audio import backends

BACKENDS = backends.list_available_backends()


@pytest.fixture(params=["wave_backend", "soundfile"])
def backend(request):
    if request.param not in BACKENDS:
        pytest.skip("the package soundfile is not installed")
    backends.set_backend(request.param)
    yield request.param
    backends.set_backend("wave_backend")


@pytest.mark.parametrize(
    ("encoding", "bits", "step"),
    [
        (None, 8, 2**-7),
        (None, 16, 2**-15),
        ("PCM_S", 24, 2**-23),
        ("PCM_S", 32, 2**-23),
        ("PCM_F", 32, 0),
        ("PCM_F", 64, 0),
    ],
)
@pytest.mark.parametrize("channels", [1, 2])
def test_what_is_written_is_read(rng, tmp_path, backend, encoding, bits, step, channels):
    path, samples = str(tmp_path / "a.wav"), rng.uniform(-1, 1, (channels, 51)).astype("float32")
    paddle.audio.save(path, paddle.to_tensor(samples), 16000, encoding=encoding, bits_per_sample=bits)
    about = paddle.audio.info(path)
    assert (about.sample_rate, about.num_samples, about.num_channels, about.bits_per_sample) == (
        16000,
        51,
        channels,
        bits,
    )
    assert about.encoding == (encoding or {8: "PCM_U", 16: "PCM_S"}[bits])
    read, rate = paddle.audio.load(path)
    assert rate == 16000
    assert read.dtype == (paddle.float64 if bits == 64 else paddle.float32)
    assert_allclose(read.numpy(), samples, atol=step, rtol=0)
    part, _ = paddle.audio.load(path, frame_offset=7, num_frames=11, channels_first=False)
    assert_allclose(part.numpy(), read.numpy().T[7:18])
    raw, _ = paddle.audio.load(path, normalize=False)
    scale = 1 if encoding == "PCM_F" else 2.0 ** (bits - 1)
    assert_allclose(raw.numpy(), read.numpy() * np.float32(scale))


def test_both_backends_read_the_same(rng, tmp_path):
    if len(BACKENDS) < 2:
        pytest.skip("the package soundfile is not installed")
    for bits in (8, 16, 24, 32):
        path = str(tmp_path / f"{bits}.wav")
        with wave.open(path, "wb") as f:
            f.setnchannels(2)
            f.setsampwidth(bits // 8)
            f.setframerate(8000)
            f.writeframes(rng.bytes(33 * 2 * bits // 8))
        read = []
        for name in BACKENDS:
            backends.set_backend(name)
            read.append(paddle.audio.load(path)[0].numpy())
        backends.set_backend("wave_backend")
        assert read[0].shape == (2, 33)
        assert_allclose(read[0], read[1], rtol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "values"), [("uint8", [0, 128, 255]), ("int16", [-32768, 0, 32767]), ("int32", [-(2**31), 5])]
)
def test_integers_are_written_as_they_are(tmp_path, backend, dtype, values):
    path = str(tmp_path / "a.wav")
    paddle.audio.save(path, paddle.to_tensor([values], dtype=dtype), 8000, bits_per_sample=None)
    raw, _ = paddle.audio.load(path, normalize=False)
    assert_allclose(raw.numpy()[0], np.array(values) - (128 if dtype == "uint8" else 0), rtol=1e-7)


def test_samples_beyond_the_range_are_cut_off(tmp_path, backend):
    path = str(tmp_path / "a.wav")
    paddle.audio.save(path, paddle.to_tensor([[2.0, -2.0, 1.0]]), 8000)
    assert paddle.audio.load(path, normalize=False)[0].tolist() == [[32767.0, -32768.0, 32767.0]]


def test_python_reads_what_is_written(tmp_path):
    path = str(tmp_path / "a.wav")
    paddle.audio.save(path, paddle.to_tensor([[0.5, -0.5, 0.25]]), 8000, bits_per_sample=24)
    with wave.open(path) as f:
        assert (f.getnchannels(), f.getsampwidth(), f.getframerate(), f.getnframes()) == (1, 3, 8000, 3)


def test_open_files_and_chunks_before_the_samples():
    made = io.BytesIO()
    paddle.audio.save(made, paddle.to_tensor([[0.5, -0.5]]), 8000)
    data = made.getvalue()
    # A chunk of odd size is followed by a byte that does not count.
    more = data[:12] + b"LIST" + struct.pack("<I", 3) + b"abc\0" + data[12:]
    assert paddle.audio.load(io.BytesIO(more))[0].tolist() == [[0.5, -0.5]]
    assert paddle.audio.info(io.BytesIO(more)).num_samples == 2


def test_the_extensible_format():
    form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4) + struct.pack("<H", 1) + b"\0" * 14
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<Ih", 2, 16384)
    assert paddle.audio.load(io.BytesIO(b"RIFF" + struct.pack("<I", len(body)) + body))[0].tolist() == [[0.5]]


def whole(**changes: int) -> bytes:
    """A file of ten samples, whose header says something else."""
    form = {"format": 1, "channels": 1, "rate": 8000, "block": 2, "bits": 16, "length": 20, **changes}
    head = struct.pack("<HHIIHH", form["format"], form["channels"], form["rate"], 0, form["block"], form["bits"])
    return (
        b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", form["length"]) + bytes(20)
    )


BROKEN = {
    "empty": b"", "text": b"import wave\n" * 9, "cut in the header": whole()[:30], "no samples": whole()[:36],
    "cut in the samples": whole()[:50], "huge": whole(length=0xFFFFFFFF), "odd": whole(length=19),
    "no channels": whole(channels=0), "no rate": whole(rate=0), "other size": whole(block=4),
    "compressed": whole(format=85), "12 bits": whole(bits=12), "samples first": b"RIFF\0\0\0\0WAVE" + whole()[36:],
    "endless header": b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 0xFFFFFFFF) + whole()[20:],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(tmp_path, name):
    path = tmp_path / "a.wav"
    path.write_bytes(BROKEN[name])
    tracemalloc.start()
    for read in (paddle.audio.load, paddle.audio.info):
        with pytest.raises(NotImplementedError, match=r"a\.wav") as caught:
            read(str(path))
        assert isinstance(caught.value, ValueError)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_soundfile_refuses_broken_files(tmp_path, backend):
    path = tmp_path / "a.wav"
    path.write_bytes(BROKEN["text"])
    with pytest.raises(NotImplementedError, match="requires"):
        paddle.audio.load(str(path))
    with pytest.raises(FileNotFoundError):
        paddle.audio.load(str(tmp_path / "missing.wav"))


def test_soundfile_writes_other_formats(rng, tmp_path):
    if "soundfile" not in BACKENDS:
        pytest.skip("the package soundfile is not installed")
    backends.set_backend("soundfile")
    try:
        path, samples = str(tmp_path / "a.flac"), rng.uniform(-1, 1, (1, 500)).astype("float32")
        paddle.audio.save(path, paddle.to_tensor(samples), 16000, bits_per_sample=24)
        assert_allclose(paddle.audio.load(path)[0].numpy(), samples, atol=2**-22)
        with pytest.raises(NotImplementedError, match="soundfile writes"):
            paddle.audio.save(str(tmp_path / "a.xyz"), paddle.to_tensor(samples), 16000)
    finally:
        backends.set_backend("wave_backend")


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ValueError, {"src": paddle.zeros([4])}),
        (ValueError, {"src": paddle.zeros([0, 4])}),
        (ValueError, {"sample_rate": 0}),
        (ValueError, {"bits_per_sample": 7}),
        (ValueError, {"encoding": "other"}),
        (TypeError, {"src": np.zeros((1, 4))}),
        (TypeError, {"src": paddle.zeros([1, 4], "int64")}),
        (ValueError, {"src": paddle.to_tensor([[float("nan")]])}),
        (ValueError, {"encoding": "PCM_U", "bits_per_sample": 16}),
        (ValueError, {"src": paddle.zeros([1, 4], "int32")}),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, kind, change):
    path = tmp_path / "a.wav"
    with pytest.raises(kind, match=r"\[save\]"):
        paddle.audio.save(**{"filepath": str(path), "src": paddle.zeros([1, 4]), "sample_rate": 8000, **change})
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        paddle.audio.save(str(tmp_path / "missing" / "a.wav"), paddle.zeros([1, 4]), 8000)


def test_parts_beyond_the_end(tmp_path):
    path = str(tmp_path / "a.wav")
    paddle.audio.save(path, paddle.zeros([2, 9]), 8000)
    assert paddle.audio.load(path, frame_offset=20)[0].shape == [2, 0]
    assert paddle.audio.load(path, frame_offset=4, num_frames=1 << 40)[0].shape == [2, 5]
    for wrong in ({"frame_offset": -1}, {"num_frames": -2}):
        with pytest.raises(ValueError, match=r"\[load\]"):
            paddle.audio.load(path, **wrong)


def test_an_unknown_backend_is_refused():
    with pytest.raises(NotImplementedError, match="wave_backend, soundfile"):
        backends.set_backend("other")
    assert backends.get_current_backend() == "wave_backend"
