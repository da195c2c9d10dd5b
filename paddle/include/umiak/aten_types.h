/* Types under PyTorch's names: ScalarType, Device, ArrayRef, Scalar, TensorOptions. */
#pragma once

#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "umiak/types.h"

UMIAK_BEGIN
namespace c10 {

/* The numbers are PyTorch's. */
enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  BFloat16 = 15,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
  Undefined = 46,
};

struct ScalarTypeRow {
  ScalarType type;
  phi::DataType dtype;
  const char* name;
};

inline constexpr ScalarTypeRow scalar_types[] = {
    {ScalarType::Byte, phi::DataType::UINT8, "Byte"},
    {ScalarType::Char, phi::DataType::INT8, "Char"},
    {ScalarType::Short, phi::DataType::INT16, "Short"},
    {ScalarType::Int, phi::DataType::INT32, "Int"},
    {ScalarType::Long, phi::DataType::INT64, "Long"},
    {ScalarType::Half, phi::DataType::FLOAT16, "Half"},
    {ScalarType::Float, phi::DataType::FLOAT32, "Float"},
    {ScalarType::Double, phi::DataType::FLOAT64, "Double"},
    {ScalarType::ComplexFloat, phi::DataType::COMPLEX64, "ComplexFloat"},
    {ScalarType::ComplexDouble, phi::DataType::COMPLEX128, "ComplexDouble"},
    {ScalarType::Bool, phi::DataType::BOOL, "Bool"},
    {ScalarType::BFloat16, phi::DataType::BFLOAT16, "BFloat16"},
    {ScalarType::Float8_e5m2, phi::DataType::FLOAT8_E5M2, "Float8_e5m2"},
    {ScalarType::Float8_e4m3fn, phi::DataType::FLOAT8_E4M3FN, "Float8_e4m3fn"},
    {ScalarType::UInt16, phi::DataType::UINT16, "UInt16"},
    {ScalarType::UInt32, phi::DataType::UINT32, "UInt32"},
    {ScalarType::UInt64, phi::DataType::UINT64, "UInt64"},
};

inline ScalarType scalar_type_of(phi::DataType dtype) {
  for (const ScalarTypeRow& row : scalar_types) {
    if (row.dtype == dtype) return row.type;
  }
  return ScalarType::Undefined;
}

inline phi::DataType dtype_of(ScalarType type) {
  for (const ScalarTypeRow& row : scalar_types) {
    if (row.type == type) return row.dtype;
  }
  return phi::DataType::UNDEFINED;
}

inline const char* toString(ScalarType type) {
  for (const ScalarTypeRow& row : scalar_types) {
    if (row.type == type) return row.name;
  }
  return "Undefined";
}

inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }
inline size_t elementSize(ScalarType type) { return phi::SizeOf(dtype_of(type)); }
inline bool isFloatingType(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::BFloat16;
}

template <typename T>
struct CppTypeToScalarType {
  static constexpr phi::DataType dtype = phi::CppTypeToDataType<T>::Type();
};

using Half = phi::dtype::float16;
using BFloat16 = phi::dtype::bfloat16;
using Float8_e4m3fn = phi::dtype::float8_e4m3fn;
using Float8_e5m2 = phi::dtype::float8_e5m2;
template <typename T>
using complex = phi::dtype::complex<T>;
template <typename T>
using optional = std::optional<T>;
using std::nullopt;
using std::nullopt_t;
using string_view = std::string_view;

using DeviceIndex = int8_t;
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, XPU = 12, Meta = 14, PrivateUse1 = 20 };
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kMeta = DeviceType::Meta;

class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}  // NOLINT
  explicit Device(const phi::Place& place) : place_(place) {
    const std::string name = place.GetDeviceType();
    type_ = name == "cpu" ? kCPU : name == "gpu" ? kCUDA : name == "xpu" ? DeviceType::XPU : name == "null" ? kMeta : DeviceType::PrivateUse1;
    index_ = type_ == kCPU ? -1 : place.GetDeviceId();
  }
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_meta() const { return type_ == kMeta; }
  std::string str() const {
    const phi::Place p = place();
    return p.GetDeviceType() + (index_ >= 0 ? ":" + std::to_string(index_) : "");
  }
  phi::Place place() const {
    if (place_.GetType() != phi::AllocationType::UNDEFINED) return place_;
    const char* name = type_ == kCPU ? "cpu" : type_ == kCUDA ? "gpu" : type_ == DeviceType::XPU ? "xpu" : "null";
    return phi::Place(name, index_ < 0 ? 0 : index_);
  }
  friend bool operator==(const Device& a, const Device& b) { return a.place() == b.place(); }
  friend bool operator!=(const Device& a, const Device& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

 private:
  DeviceType type_;
  DeviceIndex index_;
  phi::Place place_;
};

/* A view of elements that somebody else keeps. */
template <typename T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const T& one) : data_(&one), size_(1) {}                                            // NOLINT
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}                      // NOLINT
  ArrayRef(const std::initializer_list<T>& v) : ArrayRef(std::data(v), v.size()) {}            // NOLINT
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    if (i >= size_) throw ::umiak::Error("IndexError", ::umiak::text_of("index ", i, " of ", size_), nullptr, 0);
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }
  friend bool operator!=(ArrayRef a, ArrayRef b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, ArrayRef a) {
    out << "[";
    for (size_t i = 0; i < a.size_; ++i) out << (i ? ", " : "") << a[i];
    return out << "]";
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;

class Scalar : public paddle::experimental::Scalar {
 public:
  using paddle::experimental::Scalar::Scalar;
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  bool toBool() const { return to<bool>(); }
};

/* dtype and device of new tensors, where they are said. */
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : type_(type) {}      // NOLINT
  TensorOptions(Device device) : device_(device) {}    // NOLINT
  TensorOptions dtype(ScalarType type) const {
    TensorOptions o = *this;
    o.type_ = type;
    return o;
  }
  TensorOptions device(Device device) const {
    TensorOptions o = *this;
    o.device_ = device;
    return o;
  }
  TensorOptions requires_grad(bool = true) const { return *this; }
  ScalarType scalar_type() const { return type_ ? *type_ : ScalarType::Float; }
  Device device() const { return device_ ? *device_ : Device(kCPU); }
  bool has_dtype() const { return type_.has_value(); }
  bool has_device() const { return device_.has_value(); }

 private:
  std::optional<ScalarType> type_;
  std::optional<Device> device_;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device device) { return TensorOptions(device); }

}  // namespace c10

namespace at {
using c10::ArrayRef;
using c10::BFloat16;
using c10::Device;
using c10::DeviceType;
using c10::device;
using c10::dtype;
using c10::Half;
using c10::IntArrayRef;
using c10::kCPU;
using c10::kCUDA;
using c10::kMeta;
using c10::Scalar;
using c10::ScalarType;
using c10::TensorOptions;
using c10::toString;
inline constexpr ScalarType kByte = ScalarType::Byte;
inline constexpr ScalarType kChar = ScalarType::Char;
inline constexpr ScalarType kShort = ScalarType::Short;
inline constexpr ScalarType kInt = ScalarType::Int;
inline constexpr ScalarType kLong = ScalarType::Long;
inline constexpr ScalarType kHalf = ScalarType::Half;
inline constexpr ScalarType kFloat = ScalarType::Float;
inline constexpr ScalarType kDouble = ScalarType::Double;
inline constexpr ScalarType kBool = ScalarType::Bool;
inline constexpr ScalarType kBFloat16 = ScalarType::BFloat16;
}  // namespace at
UMIAK_END
