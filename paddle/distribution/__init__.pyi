"""Made by ``tools/public_stubs.py``."""

from paddle.distribution.continuous import Beta as Beta
from paddle.distribution.continuous import Cauchy as Cauchy
from paddle.distribution.continuous import Chi2 as Chi2
from paddle.distribution.continuous import ContinuousBernoulli as ContinuousBernoulli
from paddle.distribution.continuous import Dirichlet as Dirichlet
from paddle.distribution.continuous import Exponential as Exponential
from paddle.distribution.continuous import Gamma as Gamma
from paddle.distribution.continuous import Gumbel as Gumbel
from paddle.distribution.continuous import Laplace as Laplace
from paddle.distribution.continuous import Normal as Normal
from paddle.distribution.continuous import StudentT as StudentT
from paddle.distribution.continuous import Uniform as Uniform
from paddle.distribution.discrete import Bernoulli as Bernoulli
from paddle.distribution.discrete import Binomial as Binomial
from paddle.distribution.discrete import Categorical as Categorical
from paddle.distribution.discrete import Geometric as Geometric
from paddle.distribution.discrete import Multinomial as Multinomial
from paddle.distribution.discrete import Poisson as Poisson
from paddle.distribution.distribution import Distribution as Distribution
from paddle.distribution.distribution import ExponentialFamily as ExponentialFamily
from paddle.distribution.distribution import kl_divergence as kl_divergence
from paddle.distribution.distribution import register_kl as register_kl
from paddle.distribution.multivariate import LKJCholesky as LKJCholesky
from paddle.distribution.multivariate import MultivariateNormal as MultivariateNormal
from paddle.distribution.transform import AbsTransform as AbsTransform
from paddle.distribution.transform import AffineTransform as AffineTransform
from paddle.distribution.transform import ChainTransform as ChainTransform
from paddle.distribution.transform import ExpTransform as ExpTransform
from paddle.distribution.transform import IndependentTransform as IndependentTransform
from paddle.distribution.transform import PowerTransform as PowerTransform
from paddle.distribution.transform import ReshapeTransform as ReshapeTransform
from paddle.distribution.transform import SigmoidTransform as SigmoidTransform
from paddle.distribution.transform import SoftmaxTransform as SoftmaxTransform
from paddle.distribution.transform import StackTransform as StackTransform
from paddle.distribution.transform import StickBreakingTransform as StickBreakingTransform
from paddle.distribution.transform import TanhTransform as TanhTransform
from paddle.distribution.transform import Transform as Transform
from paddle.distribution.transformed import Independent as Independent
from paddle.distribution.transformed import LogNormal as LogNormal
from paddle.distribution.transformed import TransformedDistribution as TransformedDistribution

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "ChainTransform",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Geometric",
    "Gumbel",
    "Independent",
    "IndependentTransform",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "Poisson",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
