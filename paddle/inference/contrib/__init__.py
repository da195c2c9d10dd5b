"""Helpers beside predictors."""

from paddle.inference.contrib import utils as utils
