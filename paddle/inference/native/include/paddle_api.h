// The name that programs of PaddlePaddle include beside paddle_inference_api.h.
#pragma once
#include "paddle_inference_api.h"
