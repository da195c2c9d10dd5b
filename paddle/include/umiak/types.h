/* Types beside tensors: DataType, Place, DDim, Scalar, IntArray, optional. */
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "umiak/errors.h"
#include "umiak/extension_abi.h"
#include "umiak/scalars.h"

UMIAK_BEGIN
namespace phi {

enum class DataType : int32_t {
  UNDEFINED = UMIAK_UNDEFINED,
  BOOL = UMIAK_BOOL,
  UINT8 = UMIAK_UINT8,
  INT8 = UMIAK_INT8,
  UINT16 = UMIAK_UINT16,
  INT16 = UMIAK_INT16,
  UINT32 = UMIAK_UINT32,
  INT32 = UMIAK_INT32,
  UINT64 = UMIAK_UINT64,
  INT64 = UMIAK_INT64,
  FLOAT32 = UMIAK_FLOAT32,
  FLOAT64 = UMIAK_FLOAT64,
  COMPLEX64 = UMIAK_COMPLEX64,
  COMPLEX128 = UMIAK_COMPLEX128,
  FLOAT16 = UMIAK_FLOAT16,
  BFLOAT16 = UMIAK_BFLOAT16,
  FLOAT8_E4M3FN = UMIAK_FLOAT8_E4M3FN,
  FLOAT8_E5M2 = UMIAK_FLOAT8_E5M2,
};

inline const char* DataTypeToString(DataType dtype) {
  static const char* const names[] = {"undefined", "bool",      "uint8",      "int8",    "uint16",   "int16",
                                      "uint32",    "int32",     "uint64",     "int64",   "float32",  "float64",
                                      "complex64", "complex128", "float16",   "bfloat16", "float8_e4m3fn", "float8_e5m2"};
  const auto i = static_cast<uint32_t>(dtype);
  return i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown";
}

inline std::ostream& operator<<(std::ostream& out, DataType dtype) { return out << DataTypeToString(dtype); }

inline size_t SizeOf(DataType dtype) {
  static const unsigned char bytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 2, 2, 1, 1};
  const auto i = static_cast<uint32_t>(dtype);
  return i < sizeof(bytes) ? bytes[i] : 0;
}

template <typename T>
struct CppTypeToDataType {
  static constexpr DataType Type() { return DataType::UNDEFINED; }
};

#define UMIAK_TYPE_OF(CPP, NAME)                              \
  template <>                                                 \
  struct CppTypeToDataType<CPP> {                             \
    static constexpr DataType Type() { return DataType::NAME; } \
  };
UMIAK_TYPE_OF(bool, BOOL)
UMIAK_TYPE_OF(uint8_t, UINT8)
UMIAK_TYPE_OF(int8_t, INT8)
UMIAK_TYPE_OF(uint16_t, UINT16)
UMIAK_TYPE_OF(int16_t, INT16)
UMIAK_TYPE_OF(uint32_t, UINT32)
UMIAK_TYPE_OF(int32_t, INT32)
UMIAK_TYPE_OF(uint64_t, UINT64)
UMIAK_TYPE_OF(int64_t, INT64)
UMIAK_TYPE_OF(long long, INT64)
UMIAK_TYPE_OF(float, FLOAT32)
UMIAK_TYPE_OF(double, FLOAT64)
UMIAK_TYPE_OF(dtype::float16, FLOAT16)
UMIAK_TYPE_OF(dtype::bfloat16, BFLOAT16)
UMIAK_TYPE_OF(dtype::float8_e4m3fn, FLOAT8_E4M3FN)
UMIAK_TYPE_OF(dtype::float8_e5m2, FLOAT8_E5M2)
UMIAK_TYPE_OF(dtype::complex<float>, COMPLEX64)
UMIAK_TYPE_OF(dtype::complex<double>, COMPLEX128)
#undef UMIAK_TYPE_OF

}  // namespace phi

namespace paddle {
/* An older word for places; kGPU is the first device of that type. */
enum class PlaceType { kUNK = -1, kCPU, kGPU };
}  // namespace paddle

namespace phi {

enum class AllocationType : int8_t { UNDEFINED = 0, CPU = 1, GPU = 2, GPUPINNED = 3, XPU = 4, CUSTOM = 9 };

class Place {
 public:
  Place() = default;
  explicit Place(AllocationType type, int8_t id = 0, const std::string& name = "") : type_(type), id_(id), name_(name) {}
  /* By the name of a type of devices, as in Python. */
  Place(const std::string& device_type, int id)
      : type_(device_type == "cpu"   ? AllocationType::CPU
              : device_type == "gpu" ? AllocationType::GPU
              : device_type == "xpu" ? AllocationType::XPU
                                     : AllocationType::CUSTOM),
        id_(static_cast<int8_t>(id)),
        name_(type_ == AllocationType::CUSTOM ? device_type : "") {}

  Place(paddle::PlaceType type)  // NOLINT: functions that take a place take this
      : type_(type == paddle::PlaceType::kCPU   ? AllocationType::CPU
              : type == paddle::PlaceType::kGPU ? AllocationType::GPU
                                                : AllocationType::UNDEFINED) {}

  AllocationType GetType() const { return type_; }
  int8_t GetDeviceId() const { return id_; }
  std::string GetDeviceType() const {
    switch (type_) {
      case AllocationType::CPU:
        return "cpu";
      case AllocationType::GPU:
      case AllocationType::GPUPINNED:
        return "gpu";
      case AllocationType::XPU:
        return "xpu";
      default:
        return name_;
    }
  }
  /* "cpu", "gpu:0", as Python writes it; empty where it is undefined. */
  std::string text() const {
    if (type_ == AllocationType::UNDEFINED || type_ == AllocationType::CPU) return GetDeviceType();
    return GetDeviceType() + ":" + std::to_string(id_);
  }
  std::string DebugString() const { return "Place(" + text() + ")"; }
  friend bool operator==(const Place& a, const Place& b) { return a.type_ == b.type_ && a.id_ == b.id_ && a.name_ == b.name_; }
  friend bool operator!=(const Place& a, const Place& b) { return !(a == b); }
  /* A type stands for all devices of it. */
  friend bool operator==(const Place& a, paddle::PlaceType b) { return a.type_ == Place(b).type_; }
  friend bool operator!=(const Place& a, paddle::PlaceType b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Place& p) { return out << p.DebugString(); }

 private:
  AllocationType type_ = AllocationType::UNDEFINED;
  int8_t id_ = 0;
  std::string name_;
};

class CPUPlace : public Place {
 public:
  CPUPlace() : Place(AllocationType::CPU) {}
};

class GPUPlace : public Place {
 public:
  explicit GPUPlace(int8_t id = 0) : Place(AllocationType::GPU, id) {}
};

class GPUPinnedPlace : public Place {
 public:
  GPUPinnedPlace() : Place(AllocationType::GPUPINNED) {}
};

class XPUPlace : public Place {
 public:
  explicit XPUPlace(int8_t id = 0) : Place(AllocationType::XPU, id) {}
};

class CustomPlace : public Place {
 public:
  explicit CustomPlace(const std::string& name, int8_t id = 0) : Place(AllocationType::CUSTOM, id, name) {}
};

enum class DataLayout { UNDEFINED = 0, ANY = 0, NHWC, NCHW, NCDHW, NDHWC };

}  // namespace phi

namespace common {

/* Sizes of a tensor. */
class DDim {
 public:
  DDim() = default;
  DDim(const int64_t* sizes, int rank) : sizes_(sizes, sizes + rank) {}
  DDim(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  explicit DDim(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  int size() const { return static_cast<int>(sizes_.size()); }
  int64_t& operator[](int i) { return sizes_[i]; }
  int64_t operator[](int i) const { return sizes_[i]; }
  int64_t at(int i) const {
    if (i < 0 || i >= size()) throw ::umiak::Error("IndexError", ::umiak::text_of("axis ", i, " of ", size()), nullptr, 0);
    return sizes_[i];
  }
  const int64_t* Get() const { return sizes_.data(); }
  const std::vector<int64_t>& values() const { return sizes_; }
  bool operator==(const DDim& o) const { return sizes_ == o.sizes_; }
  bool operator!=(const DDim& o) const { return sizes_ != o.sizes_; }
  friend std::ostream& operator<<(std::ostream& out, const DDim& d) {
    for (int i = 0; i < d.size(); ++i) out << (i ? ", " : "") << d[i];
    return out;
  }

 private:
  std::vector<int64_t> sizes_;
};

inline DDim make_ddim(const std::vector<int64_t>& sizes) { return DDim(sizes); }
template <typename T = int64_t>
std::vector<T> vectorize(const DDim& d) {
  return std::vector<T>(d.values().begin(), d.values().end());
}
inline int64_t product(const DDim& d) {
  int64_t n = 1;
  for (const int64_t size : d.values()) n *= size;
  return n;
}

}  // namespace common

namespace phi {
using common::DDim;
using common::make_ddim;
using common::product;
using common::vectorize;
}  // namespace phi

namespace paddle {

using phi::AllocationType;
using phi::CPUPlace;
using phi::CustomPlace;
using phi::DataLayout;
using phi::DataType;
using phi::GPUPinnedPlace;
using phi::GPUPlace;
using phi::Place;
using phi::XPUPlace;

struct none_t {
  explicit constexpr none_t(int) {}
};
inline constexpr none_t none{0};

/* A value or none. */
template <typename T>
class optional : public std::optional<T> {
 public:
  using std::optional<T>::optional;
  optional() = default;
  optional(none_t) {}  // NOLINT
  template <typename U, std::enable_if_t<std::is_constructible<T, U&&>::value && !std::is_base_of<optional, std::decay_t<U>>::value, int> = 0>
  optional& operator=(U&& value) {
    this->emplace(std::forward<U>(value));
    return *this;
  }
  optional& operator=(none_t) {
    this->reset();
    return *this;
  }
  bool is_initialized() const { return this->has_value(); }
  T& get() { return this->value(); }
  const T& get() const { return this->value(); }
  T* get_ptr() { return this->has_value() ? &**this : nullptr; }
  const T* get_ptr() const { return this->has_value() ? &**this : nullptr; }
  const T& get_value_or(const T& other) const { return this->has_value() ? **this : other; }
};

template <typename T>
optional<T> make_optional(const T& value) {
  return optional<T>(value);
}
/* None where the condition is false. */
template <typename T>
optional<T> make_optional(bool condition, const T& value) {
  return condition ? optional<T>(value) : optional<T>();
}
template <typename T>
const T& get_optional_value_or(const optional<T>& x, const T& other) {
  return x ? *x : other;
}

namespace experimental {

/* A number of any type. */
class Scalar {
 public:
  Scalar() : Scalar(0) {}
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  Scalar(T value) {  // NOLINT: a function that takes one takes numbers
    if (std::is_same<T, bool>::value) {
      kind_ = UMIAK_IS_BOOL;
      integer_ = static_cast<int64_t>(value);
      real_ = static_cast<double>(integer_);
    } else if (std::is_integral<T>::value) {
      kind_ = UMIAK_IS_INT;
      integer_ = static_cast<int64_t>(value);
      real_ = static_cast<double>(value);
    } else {
      kind_ = UMIAK_IS_FLOAT;
      real_ = static_cast<double>(value);
    }
  }
  Scalar(phi::dtype::float16 value) : Scalar(static_cast<float>(value)) {}   // NOLINT
  Scalar(phi::dtype::bfloat16 value) : Scalar(static_cast<float>(value)) {}  // NOLINT

  template <typename T>
  T to() const {
    return kind_ == UMIAK_IS_FLOAT ? static_cast<T>(real_) : static_cast<T>(integer_);
  }
  umiak_value value() const {
    umiak_value v{};
    v.kind = kind_;
    if (kind_ == UMIAK_IS_FLOAT) v.as.real = real_;
    else v.as.integer = integer_;
    return v;
  }

 private:
  int32_t kind_;
  int64_t integer_ = 0;
  double real_ = 0;
};

/* Sizes or axes. */
class IntArray {
 public:
  IntArray() = default;
  IntArray(const std::vector<int64_t>& values) : values_(values) {}                                // NOLINT
  IntArray(const std::vector<int>& values) : values_(values.begin(), values.end()) {}              // NOLINT
  IntArray(std::initializer_list<int64_t> values) : values_(values) {}
  explicit IntArray(const common::DDim& d) : values_(d.values()) {}
  const std::vector<int64_t>& GetData() const { return values_; }
  size_t size() const { return values_.size(); }
  int64_t operator[](size_t i) const { return values_[i]; }

 private:
  std::vector<int64_t> values_;
};

}  // namespace experimental
using experimental::IntArray;
using experimental::Scalar;

}  // namespace paddle

namespace phi {
using paddle::experimental::IntArray;
using paddle::experimental::Scalar;
}  // namespace phi
UMIAK_END
