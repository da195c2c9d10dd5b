"""PaddleSpeech: keywords spotted, speakers and sounds told apart, on features that PaddleAudio computes."""

from __future__ import annotations

import numpy as np
from common import fill
from facts import gradients, numbers
from paddleaudio.features import LogMelSpectrogram
from paddlespeech.cls.models.panns import CNN6, SoundClassifier
from paddlespeech.kws.models import MDTC
from paddlespeech.kws.models.loss import max_pooling_loss
from paddlespeech.vector.models.ecapa_tdnn import EcapaTdnn
from paddlespeech.vector.modules.loss import AdditiveAngularMargin, LogSoftmaxWrapper
from paddlespeech.vector.modules.sid_model import SpeakerIdetification

import paddle

RATE = 8000
COUNT = 6


def sounds() -> paddle.Tensor:
    """Tones of three pitches with noise."""
    rng = np.random.RandomState(7)
    t = np.arange(RATE // 2) / RATE
    tones = [np.sin(2 * np.pi * 300 * (1 + i % 3) * t) + 0.1 * rng.standard_normal(t.size) for i in range(COUNT)]
    return paddle.to_tensor(np.stack(tones).astype("float32"))


class KeywordSpotter(paddle.nn.Layer):
    """PaddleSpeech's network under a layer that says how likely the keyword is."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = MDTC(stack_num=2, stack_size=2, in_channels=24, res_channels=16, kernel_size=3, causal=True)
        self.linear = paddle.nn.Linear(self.backbone.hidden_dim, 1)

    def forward(self, x):
        return paddle.nn.functional.sigmoid(self.linear(self.backbone(x)[0]))


def trained(network, optimizer, loss_of, steps: int, name: str) -> dict:
    """Losses of steps, the gradients of the first, and whether what was saved goes on as well as what was not."""
    fill(network)
    network.train()
    losses = []
    for step in range(steps):
        loss = loss_of()
        loss.backward()
        if step == 0:
            norms = gradients(network)
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    paddle.save(network.state_dict(), f"{name}.pdparams")
    after = float(loss_of())
    fill(network)
    network.set_state_dict(paddle.load(f"{name}.pdparams"))
    return {"losses": losses, "gradients": norms, "after": after, "loaded": float(loss_of())}


def keywords(features: paddle.Tensor) -> dict:
    network = KeywordSpotter()
    x = features.transpose([0, 2, 1])
    target = paddle.to_tensor([0, -1] * (COUNT // 2))
    lengths = paddle.to_tensor([x.shape[1] - i for i in range(COUNT)])
    clip = paddle.nn.ClipGradByGlobalNorm(5.0)
    optimizer = paddle.optimizer.Adam(0.005, parameters=network.parameters(), grad_clip=clip)
    return trained(network, optimizer, lambda: max_pooling_loss(network(x), target, lengths)[0], 3, "keywords")


def speakers(features: paddle.Tensor) -> dict:
    backbone = EcapaTdnn(24, lin_neurons=24, channels=[32, 32, 32, 32, 96], attention_channels=16, se_channels=16)
    network = SpeakerIdetification(backbone, num_class=3, dropout=0)
    criterion = LogSoftmaxWrapper(AdditiveAngularMargin(margin=0.2, scale=30))
    lengths = paddle.to_tensor([1.0, 0.9, 0.8] * (COUNT // 3))
    labels = paddle.arange(COUNT) % 3
    schedule = paddle.optimizer.lr.CyclicLR(1e-5, 1e-4, step_size_up=2)
    optimizer = paddle.optimizer.Adam(schedule, parameters=network.parameters())

    def loss_of():
        schedule.step()
        return criterion(network(features, lengths), labels)

    results = trained(network, optimizer, loss_of, 3, "speakers")
    network.eval()
    embedding = network.backbone(features, lengths).squeeze(-1)
    similar = paddle.nn.functional.cosine_similarity(embedding[:3], embedding[3:])
    return {**results, "embedding": numbers(embedding), "similar": similar.tolist()}


def kinds(sound: paddle.Tensor) -> dict:
    """In evaluation mode: in training, PaddleSpeech's network drops what a generator draws."""
    features = LogMelSpectrogram(sr=RATE, n_fft=256, hop_length=80, n_mels=64)(sound).transpose([0, 2, 1])
    network = fill(SoundClassifier(CNN6(extract_embedding=True), num_class=3))
    network.eval()
    logits = network(features)
    loss = paddle.nn.functional.cross_entropy(logits, paddle.arange(COUNT) % 3)
    loss.backward()
    return {"logits": numbers(logits), "loss": float(loss), "gradients": gradients(network)}


def run() -> dict:
    sound = sounds()
    features = LogMelSpectrogram(sr=RATE, n_fft=256, hop_length=80, n_mels=24)(sound)
    return {"keywords": keywords(features), "speakers": speakers(features / 20), "kinds": kinds(sound)}
