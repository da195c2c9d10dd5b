/* What these headers define belongs to one library alone: two extensions in a process, perhaps of two versions, must not share it. */
#pragma once
#define UMIAK_BEGIN _Pragma("GCC visibility push(hidden)")
#define UMIAK_END _Pragma("GCC visibility pop")
