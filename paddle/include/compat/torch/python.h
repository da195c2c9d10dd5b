#pragma once
#include "umiak/aten_python.h"
