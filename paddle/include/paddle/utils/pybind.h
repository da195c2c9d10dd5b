#pragma once
#include "umiak/python.h"
