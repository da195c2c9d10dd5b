/* Operators by schemas, as kernels for PyTorch register them (docs/guide/cpp-operators.md). */
#pragma once
#include "umiak/library.h"
