// Where the package of PaddlePaddle has it.
#pragma once
#include "../../paddle_inference_api.h"
