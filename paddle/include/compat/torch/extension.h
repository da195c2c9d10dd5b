#pragma once
#include "torch/library.h"

#if __has_include(<pybind11/pybind11.h>) && __has_include(<Python.h>)
#include "torch/python.h"
#endif
