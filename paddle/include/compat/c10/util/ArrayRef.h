#pragma once
#include "umiak/aten.h"
