/* Tensor: a reference to a tensor of the host, with its facts at hand. */
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef PADDLE_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

#include "umiak/host.h"
#include "umiak/types.h"

UMIAK_BEGIN
namespace umiak {

/* A reference that the host has given, and what it says about the tensor. */
class Held {
 public:
  explicit Held(umiak_tensor* x) : handle(x) {
    umiak_tensor_info info{};
    info.size = sizeof(info);
    if (host().describe(x, &info)) {
      host().release(x);
      raise_host_error();
    }
    dtype = static_cast<phi::DataType>(info.dtype);
    numel = info.numel;
    data = info.data;
    sizes = common::DDim(info.sizes, info.ndim);
    strides = common::DDim(info.strides, info.ndim);
    place = phi::Place(info.device_type, info.device_id);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { host().release(handle); }

  umiak_tensor* handle;
  phi::DataType dtype;
  int64_t numel;
  void* data;
  common::DDim sizes, strides;
  phi::Place place;
};

}  // namespace umiak

namespace paddle {

#ifdef PADDLE_WITH_CUDA
using gpuStream_t = cudaStream_t;
#endif

class Tensor final {
 public:
  Tensor() = default;
  /* Without memory yet: mutable_data<T>() makes it. */
  explicit Tensor(const Place& place) : wanted_place_(place) {}
  Tensor(const Place& place, const std::vector<int64_t>& shape) : wanted_place_(place), wanted_shape_(shape) {}
  explicit Tensor(const std::string& name) : name_(name) {}

  /* Takes over a reference of the host's. */
  static Tensor own(umiak_tensor* x) {
    Tensor t;
    if (x) t.held_ = std::make_shared<::umiak::Held>(x);
    return t;
  }
  /* A new reference to the same. */
  static Tensor borrow(umiak_tensor* x) {
    if (x) ::umiak::host().retain(x);
    return own(x);
  }
  umiak_tensor* handle() const { return held_ ? held_->handle : nullptr; }

  bool defined() const { return held_ != nullptr; }
  bool initialized() const { return held_ != nullptr; }
  bool is_initialized() const { return held_ != nullptr; }
  bool has_allocation() const { return held_ != nullptr; }
  void reset() { held_.reset(); }

  int64_t numel() const { return held("numel").numel; }
  int64_t size() const { return numel(); }
  const common::DDim& dims() const { return held("dims").sizes; }
  std::vector<int64_t> shape() const { return held_ ? held_->sizes.values() : wanted_shape_; }
  const common::DDim& strides() const { return held("strides").strides; }
  DataType dtype() const { return held("dtype").dtype; }
  DataType type() const { return dtype(); }
  DataLayout layout() const { return DataLayout::NCHW; }
  const Place& place() const { return held_ ? held_->place : wanted_place_; }

  bool is_dense_tensor() const { return defined(); }
  bool is_dist_tensor() const { return false; }
  bool is_selected_rows() const { return false; }
  bool is_sparse_coo_tensor() const { return false; }
  bool is_sparse_csr_tensor() const { return false; }
  bool is_string_tensor() const { return false; }
  bool is_cpu() const { return place().GetType() == AllocationType::CPU; }
  bool is_gpu() const { return place().GetType() == AllocationType::GPU; }
  bool is_gpu_pinned() const { return place().GetType() == AllocationType::GPUPINNED; }
  bool is_xpu() const { return place().GetType() == AllocationType::XPU; }
  bool is_xpu_pinned() const { return false; }
  bool is_custom_device() const { return place().GetType() == AllocationType::CUSTOM; }

  bool is_contiguous() const {
    const ::umiak::Held& h = held("is_contiguous");
    int64_t step = 1;
    for (int i = h.sizes.size() - 1; i >= 0; --i) {
      if (h.sizes[i] != 1 && h.strides[i] != step && h.numel > 1) return false;
      step *= h.sizes[i];
    }
    return true;
  }
  inline Tensor contiguous() const;

#ifdef PADDLE_WITH_CUDA
  /* The current stream of the device: kernels that the running call launches go there. */
  gpuStream_t stream() const { return static_cast<gpuStream_t>(::umiak::stream_of(held("stream").handle)); }
#endif

  void* data() { return held("data").data; }
  const void* data() const { return held("data").data; }
  template <typename T>
  T* data() {
    return static_cast<T*>(typed<T>());
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(typed<T>());
  }
  /* As data(); a tensor without memory of this dtype gets some first. */
  template <typename T>
  T* mutable_data() {
    return mutable_data<T>(place());
  }
  template <typename T>
  T* mutable_data(const Place& place) {
    const DataType wanted = phi::CppTypeToDataType<std::remove_cv_t<T>>::Type();
    if (!held_ || held_->dtype != wanted || held_->place != place) allocate(shape(), wanted, place);
    return data<T>();
  }

  const std::string& name() const { return name_; }
  void set_name(const std::string& name) { name_ = name; }

  inline void reshape(const std::vector<int64_t>& shape);
  inline Tensor slice(int64_t begin, int64_t end) const;
  inline Tensor cast(DataType dtype) const;
  inline Tensor copy_to(const Place& place, bool blocking = true) const;
  template <typename T>
  Tensor copy_to(const Place& place) const {
    return copy_to(place, true);
  }
  inline void copy_(const Tensor& source, const Place& place, bool blocking);

#define UMIAK_BINARY(NAME)               \
  inline Tensor NAME(const Tensor& y) const; \
  inline Tensor NAME(const Scalar& y) const;
  UMIAK_BINARY(add)
  UMIAK_BINARY(subtract)
  UMIAK_BINARY(multiply)
  UMIAK_BINARY(divide)
  UMIAK_BINARY(pow)
  UMIAK_BINARY(operator+)
  UMIAK_BINARY(operator-)
  UMIAK_BINARY(operator*)
  UMIAK_BINARY(operator/)
#undef UMIAK_BINARY
#define UMIAK_BINARY(NAME) inline Tensor NAME(const Tensor& y) const;
  UMIAK_BINARY(equal)
  UMIAK_BINARY(not_equal)
  UMIAK_BINARY(less_than)
  UMIAK_BINARY(less_equal)
  UMIAK_BINARY(greater_than)
  UMIAK_BINARY(greater_equal)
  UMIAK_BINARY(maximum)
  UMIAK_BINARY(minimum)
  UMIAK_BINARY(bitwise_and)
  UMIAK_BINARY(bitwise_or)
  UMIAK_BINARY(bitwise_xor)
  UMIAK_BINARY(elementwise_pow)
  UMIAK_BINARY(gather_nd)
  UMIAK_BINARY(operator==)
  UMIAK_BINARY(operator!=)
  UMIAK_BINARY(operator<)
  UMIAK_BINARY(operator<=)
  UMIAK_BINARY(operator>)
  UMIAK_BINARY(operator>=)
  UMIAK_BINARY(operator&)
  UMIAK_BINARY(operator|)
  UMIAK_BINARY(operator^)
#undef UMIAK_BINARY
  inline Tensor operator-() const;
  inline Tensor operator~() const;
  inline Tensor bitwise_not() const;
  inline Tensor abs() const;
  inline Tensor exp() const;
  inline Tensor floor() const;
  inline Tensor log() const;
  inline Tensor assign() const;
  inline Tensor matmul(const Tensor& y, bool transpose_x = false, bool transpose_y = false) const;
  inline Tensor sum(const IntArray& axis = {}, DataType dtype = DataType::UNDEFINED, bool keepdim = false) const;
  inline Tensor max(const IntArray& axis = {}, bool keepdim = false) const;
  inline Tensor expand(const IntArray& shape) const;
  inline Tensor tile(const IntArray& times) const;
  inline Tensor roll(const IntArray& shifts = {}, const std::vector<int64_t>& axis = {}) const;
  inline Tensor scatter(const Tensor& index, const Tensor& updates, bool overwrite = true) const;
  inline Tensor scatter_nd_add(const Tensor& index, const Tensor& updates) const;
  inline Tensor scale(const Scalar& scale = 1.0, const Scalar& bias = 0.0, bool bias_after_scale = true) const;

 private:
  const ::umiak::Held& held(const char* what) const {
    if (!held_) {
      throw ::umiak::Error(std::string("Tensor::") + what + "() requires a tensor with data, got an undefined one");
    }
    return *held_;
  }
  template <typename T>
  void* typed() const {
    const ::umiak::Held& h = held("data");
    constexpr DataType wanted = phi::CppTypeToDataType<std::remove_cv_t<T>>::Type();
    static_assert(wanted != DataType::UNDEFINED, "Tensor::data<T>() requires a type of elements as T");
    if (h.dtype != wanted) {
      throw ::umiak::Error(::umiak::text_of("Tensor::data<", wanted, ">() requires a tensor of this dtype, got ", h.dtype));
    }
#ifndef PADDLE_WITH_CUSTOM_DEVICE
    if (h.place.GetType() == AllocationType::CUSTOM) {
      throw ::umiak::Error(::umiak::text_of("Tensor::data<", wanted, ">() requires memory that the processor can read, got that of ",
                                            h.place,
                                            ". Copy the tensor to paddle::CPUPlace(), or define PADDLE_WITH_CUSTOM_DEVICE where "
                                            "the source computes on this device"));
    }
#endif
    return h.data;
  }
  void allocate(const std::vector<int64_t>& shape, DataType dtype, const Place& place) {
    const std::string type = place.GetDeviceType();
    umiak_tensor* x = ::umiak::host().empty(static_cast<int32_t>(dtype), static_cast<int32_t>(shape.size()), shape.data(),
                                            type.empty() ? nullptr : type.c_str(), place.GetDeviceId());
    if (!x) ::umiak::raise_host_error();
    *this = own(x);
  }

  std::shared_ptr<::umiak::Held> held_;
  Place wanted_place_;
  std::vector<int64_t> wanted_shape_;
  std::string name_;
};

}  // namespace paddle
UMIAK_END
