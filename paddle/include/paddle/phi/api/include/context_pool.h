#pragma once
#include "paddle/phi/backends/context_pool.h"
