/* PD_DISPATCH_…(dtype, "name", ([&] { … data_t … })): a function for the type of elements that a tensor has. */
#pragma once

#include "umiak/types.h"

#define UMIAK_CASE(NAME, ...)                                                       \
  case ::paddle::DataType::NAME: {                                                  \
    using data_t = typename ::umiak::TypeOf<::paddle::DataType::NAME>::type;        \
    __VA_ARGS__();                                                                  \
    break;                                                                          \
  }

UMIAK_BEGIN
namespace umiak {
template <phi::DataType dtype>
struct TypeOf;
#define UMIAK_TYPE(NAME, CPP)             \
  template <>                             \
  struct TypeOf<phi::DataType::NAME> {    \
    using type = CPP;                     \
  };
UMIAK_TYPE(BOOL, bool)
UMIAK_TYPE(UINT8, uint8_t)
UMIAK_TYPE(INT8, int8_t)
UMIAK_TYPE(INT16, int16_t)
UMIAK_TYPE(INT32, int)
UMIAK_TYPE(INT64, int64_t)
UMIAK_TYPE(FLOAT32, float)
UMIAK_TYPE(FLOAT64, double)
UMIAK_TYPE(FLOAT16, phi::dtype::float16)
UMIAK_TYPE(BFLOAT16, phi::dtype::bfloat16)
UMIAK_TYPE(COMPLEX64, phi::dtype::complex<float>)
UMIAK_TYPE(COMPLEX128, phi::dtype::complex<double>)
#undef UMIAK_TYPE
}  // namespace umiak
UMIAK_END

#define UMIAK_SWITCH(TYPE, NAME, ...)                                                                              \
  [&] {                                                                                                            \
    const ::paddle::DataType umiak_dtype_of_call = TYPE;                                                           \
    switch (umiak_dtype_of_call) {                                                                                 \
      __VA_ARGS__                                                                                                  \
      default:                                                                                                     \
        throw ::umiak::Error("TypeError", ::umiak::text_of(NAME, " has no kernel for ", umiak_dtype_of_call), __FILE__, __LINE__); \
    }                                                                                                              \
  }()

#define UMIAK_FLOATING(...) UMIAK_CASE(FLOAT32, __VA_ARGS__) UMIAK_CASE(FLOAT64, __VA_ARGS__)
#define UMIAK_HALVES(...) UMIAK_CASE(FLOAT16, __VA_ARGS__) UMIAK_CASE(BFLOAT16, __VA_ARGS__)
#define UMIAK_INTEGRAL(...)                                                                                    \
  UMIAK_CASE(INT32, __VA_ARGS__) UMIAK_CASE(INT64, __VA_ARGS__) UMIAK_CASE(INT8, __VA_ARGS__) UMIAK_CASE(UINT8, __VA_ARGS__) \
      UMIAK_CASE(INT16, __VA_ARGS__)
#define UMIAK_COMPLEX(...) UMIAK_CASE(COMPLEX64, __VA_ARGS__) UMIAK_CASE(COMPLEX128, __VA_ARGS__)
#define UMIAK_ONE(DTYPE, ...)                                                       \
  case DTYPE: {                                                                     \
    using data_t = typename ::umiak::TypeOf<DTYPE>::type;                           \
    __VA_ARGS__();                                                                  \
    break;                                                                          \
  }

#define PD_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) UMIAK_SWITCH(TYPE, NAME, UMIAK_FLOATING(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_HALF_TYPES(TYPE, NAME, ...) \
  UMIAK_SWITCH(TYPE, NAME, UMIAK_FLOATING(__VA_ARGS__) UMIAK_HALVES(__VA_ARGS__))
#define PD_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) UMIAK_SWITCH(TYPE, NAME, UMIAK_INTEGRAL(__VA_ARGS__))
#define PD_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) UMIAK_SWITCH(TYPE, NAME, UMIAK_COMPLEX(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_TYPES(TYPE, NAME, ...) \
  UMIAK_SWITCH(TYPE, NAME, UMIAK_FLOATING(__VA_ARGS__) UMIAK_INTEGRAL(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  UMIAK_SWITCH(TYPE, NAME, UMIAK_FLOATING(__VA_ARGS__) UMIAK_COMPLEX(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_COMPLEX_AND_1_TYPE(DTYPE, TYPE, NAME, ...) \
  UMIAK_SWITCH(TYPE, NAME, UMIAK_FLOATING(__VA_ARGS__) UMIAK_COMPLEX(__VA_ARGS__) UMIAK_ONE(DTYPE, __VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_COMPLEX_AND_2_TYPES(DTYPE1, DTYPE2, TYPE, NAME, ...)                              \
  UMIAK_SWITCH(TYPE, NAME,                                                                                         \
               UMIAK_FLOATING(__VA_ARGS__) UMIAK_COMPLEX(__VA_ARGS__) UMIAK_ONE(DTYPE1, __VA_ARGS__) UMIAK_ONE(DTYPE2, __VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  UMIAK_SWITCH(TYPE, NAME, UMIAK_FLOATING(__VA_ARGS__) UMIAK_INTEGRAL(__VA_ARGS__) UMIAK_COMPLEX(__VA_ARGS__))
