/* Operators in C++ (docs/guide/cpp-operators.md). */
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "paddle/extension.h requires C++17 (-std=c++17)"
#endif

#include "umiak/blob.h"
#include "umiak/dispatch.h"
#include "umiak/enforce.h"
#include "umiak/functions.h"
#include "umiak/operator.h"
#include "umiak/standard.h"

/* Where pybind11 is: Python's headers and it take longer to compile than all the rest. */
#if !defined(PADDLE_NO_PYTHON) && __has_include(<pybind11/pybind11.h>) && __has_include(<Python.h>)
#include "paddle/utils/pybind.h"
#endif
