"""PaddleSeg from its configuration files: trained, resumed, predicting; its networks and losses one by one."""

from __future__ import annotations

import os
import random
from pathlib import Path

import cv2
import numpy as np
from common import fill, normal
from facts import gradients, numbers
from paddleseg.core import predict, train
from paddleseg.cvlibs import Config, SegBuilder, manager
from paddleseg.transforms import Compose

import paddle

CLASSES = 3
# At ten times this rate the reference's own losses differ by 1e-2 where weights do by 2e-6: nothing to compare with.
SETTINGS = """
batch_size: 4
iters: 4
train_dataset:
  type: Dataset
  dataset_root: images
  train_path: images/list.txt
  num_classes: 3
  mode: train
  transforms:
    - {type: ResizeStepScaling, min_scale_factor: 0.75, max_scale_factor: 1.25, scale_step_size: 0.25}
    - {type: RandomPaddingCrop, crop_size: [64, 64]}
    - {type: RandomHorizontalFlip}
    - {type: RandomDistort, brightness_range: 0.2, contrast_range: 0.2, saturation_range: 0.2}
    - {type: Normalize}
optimizer: {type: SGD, momentum: 0.9, weight_decay: 4.0e-5}
lr_scheduler:
  {type: PolynomialDecay, learning_rate: 1.0e-4, end_lr: 0, power: 0.9, warmup_iters: 2, warmup_start_lr: 1.0e-5}
loss:
  types: [{type: DiceLoss}, {type: DiceLoss}, {type: BootstrappedCrossEntropyLoss, min_K: 1000, loss_th: 0.3}]
  coef: [0.4, 0.4, 1]
model:
  type: PPLiteSeg
  backbone: {type: STDC1}
  arm_out_chs: [16, 24, 32]
  seg_head_inter_chs: [16, 16, 16]
  cm_out_ch: 32
"""
# What PaddleSeg calls them, and their arguments.
NETWORKS = {
    "BiSeNetV2": {},
    "DeepLabV3P": {"backbone": ("ResNet18_vd", {"output_stride": 8}), "backbone_indices": [0, 3]},
    "FCN": {"backbone": ("HRNet_W18_Small_V1", {}), "backbone_indices": [-1], "num_classes": CLASSES},
    "MobileSeg": {"backbone": ("MobileNetV3_small_x1_0", {}), "cm_out_ch": 32, "arm_out_chs": [16, 24, 32]},
    "SegFormer": {"backbone": ("MixVisionTransformer_B0", {}), "embedding_dim": 32},
    "UNet": {},
}
LOSSES = {
    "BootstrappedCrossEntropyLoss": {"min_K": 64, "loss_th": 0.3},
    "DiceLoss": {},
    "MultiClassFocalLoss": {"num_class": CLASSES},
}


def draw_images() -> None:
    """Images of a disc and a bar on noise, and which pixel is which."""
    Path("images").mkdir()
    rng = np.random.RandomState(0)
    rows, columns = np.mgrid[:72, :80]
    lines = []
    for i in range(8):
        disc = (rows - rng.randint(20, 52)) ** 2 + (columns - rng.randint(20, 60)) ** 2 < 15**2
        label = np.where(disc, 1, np.where(abs(columns - rng.randint(10, 70)) < 5, 2, 0)).astype("uint8")
        image = rng.randint(0, 60, (72, 80, 3)) + np.array([[30, 60, 90], [180, 40, 60], [40, 160, 190]])[label]
        cv2.imwrite(f"images/{i}.png", image.astype("uint8"))
        cv2.imwrite(f"images/{i}_label.png", label)
        lines.append(f"{i}.png {i}_label.png\n")
    Path("images/list.txt").write_text("".join(lines))


class Recorded(paddle.nn.Layer):
    """A loss whose values are kept."""

    def __init__(self, loss: paddle.nn.Layer) -> None:
        super().__init__()
        self.loss = loss
        self.values: list[float] = []

    def forward(self, logits, labels):
        result = self.loss(logits, labels)
        self.values.append(float(result))
        return result


def job(iterations: int, **options) -> dict:
    """A run of PaddleSeg's training loop, and what it leaves. Parameters have the names of those in a new process."""
    with paddle.utils.unique_name.guard():
        return _job(iterations, **options)


def _job(iterations: int, **options) -> dict:
    builder = SegBuilder(Config("settings.yml", iters=iterations))
    if "resume_model" not in options:
        fill(builder.model)
    configured = builder.loss
    recorded = [Recorded(loss) for loss in configured["types"]]
    random.seed(1)
    np.random.seed(1)
    train(
        builder.model,
        builder.train_dataset,
        optimizer=builder.optimizer,
        losses={"types": recorded, "coef": configured["coef"]},
        iters=iterations,
        batch_size=4,
        log_iters=100,
        **options,
    )
    return {"losses": [r.values for r in recorded], "rate": builder.optimizer.get_lr()}


def training() -> dict:
    draw_images()
    Path("settings.yml").write_text(SETTINGS)
    results = {}
    results["training"] = job(4, save_dir="output", save_interval=2)
    results["resumed"] = job(6, save_dir="output", save_interval=2, resume_model="output/iter_4")
    results["saved"] = sorted(os.listdir("output"))
    predict(
        SegBuilder(Config("settings.yml")).model,
        "output/iter_4/model.pdparams",
        Compose([manager.TRANSFORMS["Normalize"]()]),
        [f"images/{i}.png" for i in range(2)],
        image_dir="images",
        save_dir="predicted",
        aug_pred=True,
        scales=[0.75, 1.0],
        flip_horizontal=True,
    )
    colors = [cv2.imread(f"predicted/pseudo_color_prediction/{i}.png") for i in range(2)]
    results["predicted"] = [float(np.mean(c)) for c in colors]
    return results


def networks() -> dict:
    results = {}
    x = normal(3, 1, 3, 64, 64)
    for name, arguments in NETWORKS.items():
        arguments = {"num_classes": CLASSES, **arguments}
        if "backbone" in arguments:
            backbone, options = arguments["backbone"]
            arguments["backbone"] = manager.BACKBONES[backbone](**options)
        network = fill(manager.MODELS[name](**arguments))
        network.eval()
        logits = network(x)
        sum((part**2).mean() for part in logits).backward()
        results[name] = {"logits": [numbers(part) for part in logits], "gradients": gradients(network)}
    return results


def criteria() -> dict:
    labels = paddle.to_tensor(np.random.RandomState(5).randint(0, CLASSES, (2, 24, 24)).astype("int64"))
    labels[0, :3] = 255  # ignored
    results = {}
    for name, arguments in LOSSES.items():
        logits = normal(4, 2, CLASSES, 24, 24)
        logits.stop_gradient = False
        loss = manager.LOSSES[name](**arguments)(logits, labels)
        loss.backward()
        results[name] = {"loss": float(loss), "gradient": numbers(logits.grad)}
    return results


def run() -> dict:
    return {**training(), "networks": networks(), "losses": criteria()}
