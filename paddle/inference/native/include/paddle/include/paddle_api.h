// Where the package of PaddlePaddle has it.
#pragma once
#include "../../paddle_api.h"
