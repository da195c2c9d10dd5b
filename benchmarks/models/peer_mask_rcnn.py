"""The model of mask_rcnn.py on PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from models.inference import BOXES_PIXELS
from models.mask_rcnn import CLASSES, MASKS, MOST_LOG, PROPOSALS, SIDES, STRIDE, WIDTH, anchors
from models.peer_resnet50 import STAGES, Bottleneck
from models.peer_vision import conv_norm
from torch import nn


def decoded(boxes, moves):
    centre = boxes[..., :2] + moves[..., :2] * boxes[..., 2:]
    half = boxes[..., 2:] * torch.exp(moves[..., 2:].clamp(max=MOST_LOG)) / 2
    return torch.cat([centre - half, centre + half], -1).clamp(0, BOXES_PIXELS)


def regions(features, boxes, size: int):
    """Features in boxes: means of two by two samples in each of ``size · size`` parts."""
    images, count = boxes.shape[:2]
    steps = (torch.arange(2 * size) + 0.5) / (2 * size)
    low, high = boxes[..., :2] / STRIDE, boxes[..., 2:] / STRIDE
    at = low[..., None, :] + (high - low)[..., None, :] * steps[:, None]
    extent = torch.tensor([features.shape[3], features.shape[2]])
    at = 2 * at / extent - 1  # of a grid whose ends are the borders of the image
    x, y = at[..., 0], at[..., 1]
    grid = torch.stack(torch.broadcast_tensors(x[:, :, None, :], y[:, :, :, None]), -1)
    sampled = F.grid_sample(features, grid.reshape(images, -1, 2 * size, 2), padding_mode="border", align_corners=False)
    parts = F.avg_pool2d(sampled, 2).unflatten(2, (count, size))
    return parts.transpose(1, 2).flatten(0, 1)


class MaskRCNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [*conv_norm(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        i = 64
        for width, blocks, stride in STAGES[:3]:
            for b in range(blocks):
                layers.append(Bottleneck(i, width, 1 if b else stride))
                i = 4 * width
        self.body = nn.Sequential(*layers)
        self.reduce = nn.Conv2d(1024, WIDTH, 1)
        self.shared = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.score, self.move = nn.Conv2d(WIDTH, len(SIDES), 1), nn.Conv2d(WIDTH, 4 * len(SIDES), 1)
        self.box_head = nn.Sequential(
            nn.Flatten(), nn.Linear(WIDTH * 49, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()
        )
        self.kind, self.refine = nn.Linear(1024, CLASSES + 1), nn.Linear(1024, 4)
        convs = [layer for _ in range(4) for layer in (nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(inplace=True))]
        self.mask_head = nn.Sequential(
            *convs, nn.ConvTranspose2d(WIDTH, WIDTH, 2, stride=2), nn.ReLU(inplace=True), nn.Conv2d(WIDTH, CLASSES, 1)
        )
        self.register_buffer("anchors", torch.from_numpy(anchors()))

    def forward(self, image):
        features = F.relu(self.reduce(self.body(image)))
        hidden = F.relu(self.shared(features))
        scores = self.score(hidden).permute(0, 2, 3, 1).flatten(1)
        moves = self.move(hidden).permute(0, 2, 3, 1).reshape(len(image), -1, 4)
        best = scores.topk(PROPOSALS, 1)[1]
        boxes = decoded(self.anchors[best], moves.gather(1, best[..., None].expand(-1, -1, 4)))

        hidden = self.box_head(regions(features, boxes, 7))
        kinds = F.softmax(self.kind(hidden), -1).reshape(-1, PROPOSALS, CLASSES + 1)
        sides = boxes[..., 2:] - boxes[..., :2]
        middle = torch.cat([boxes[..., :2] + sides / 2, sides], -1)
        refined = decoded(middle, self.refine(hidden).reshape(-1, PROPOSALS, 4))
        sure, kind = kinds[..., :CLASSES].max(-1)
        sure, surest = sure.topk(MASKS, 1)
        found = refined.gather(1, surest[..., None].expand(-1, -1, 4))
        masks = torch.sigmoid(self.mask_head(regions(features, found, 14)))
        kind = kind.gather(1, surest)
        own = masks[torch.arange(len(masks)), kind.flatten()]
        return found, sure, kind, own.reshape(-1, MASKS, 28, 28)


NETWORKS = {"mask_rcnn": MaskRCNN}
