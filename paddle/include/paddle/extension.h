/* Operators in C++ (docs/guide/cpp-operators.md). */
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "paddle/extension.h requires C++17 (-std=c++17)"
#endif

#include "umiak/dispatch.h"
#include "umiak/enforce.h"
#include "umiak/functions.h"
#include "umiak/operator.h"
