// paddle_infer::Tensor: an input or output of a predictor.
#ifndef PADDLE_TENSOR_H
#define PADDLE_TENSOR_H

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "paddle_tensor_value.h"
#include "umiak_inference.h"

namespace paddle_infer {

enum DataType { FLOAT32, INT64, INT32, UINT8, INT8, FLOAT16, BOOL, FLOAT64, BFLOAT16, INT16 };
enum class PlaceType { kUNK = -1, kCPU, kGPU, kXPU, kNPU, kIPU, kCUSTOM };
enum class DataLayout { kUNK = -1, kAny, kNHWC, kNCHW };

using CallbackFunc = void (*)(void*);
using OutputTensorHookFunc = std::function<void(const std::string&, const std::string&, const paddle::Tensor&)>;
using InputTensorHookFunc = OutputTensorHookFunc;

namespace details {

inline void Check(umiak_status status) {
  if (status != UMIAK_OK) throw std::runtime_error(umiak_last_error());
}

struct TypePair {
  DataType ours;
  umiak_dtype theirs;
};
inline const std::vector<TypePair>& Types() {
  static const std::vector<TypePair> pairs = {
      {DataType::FLOAT32, UMIAK_FLOAT32}, {DataType::INT64, UMIAK_INT64},     {DataType::INT32, UMIAK_INT32},
      {DataType::UINT8, UMIAK_UINT8},     {DataType::INT8, UMIAK_INT8},       {DataType::FLOAT16, UMIAK_FLOAT16},
      {DataType::BOOL, UMIAK_BOOL},       {DataType::FLOAT64, UMIAK_FLOAT64}, {DataType::BFLOAT16, UMIAK_BFLOAT16},
      {DataType::INT16, UMIAK_INT16}};
  return pairs;
}
inline umiak_dtype FromDataType(DataType type) {
  for (const auto& pair : Types())
    if (pair.ours == type) return pair.theirs;
  throw std::runtime_error("there is no such DataType");
}
inline DataType ToDataType(umiak_dtype dtype) {
  for (const auto& pair : Types())
    if (pair.theirs == dtype) return pair.ours;
  throw std::runtime_error("there is no such dtype");
}

// The dtype of elements of T. Numbers of 16 bits stand for themselves and for both floats of that size.
template <typename T>
bool Holds(umiak_dtype dtype) {
  if (std::is_same<T, bool>::value) return dtype == UMIAK_BOOL;
  if (std::is_floating_point<T>::value) return dtype == (sizeof(T) == 4 ? UMIAK_FLOAT32 : UMIAK_FLOAT64);
  if (sizeof(T) == 2) return dtype == UMIAK_INT16 || dtype == UMIAK_FLOAT16 || dtype == UMIAK_BFLOAT16;
  if (sizeof(T) == 1) return dtype == (std::is_signed<T>::value ? UMIAK_INT8 : UMIAK_UINT8);
  return dtype == (sizeof(T) == 4 ? UMIAK_INT32 : UMIAK_INT64);
}

// A predictor, and what its handles know beside it.
struct State {
  umiak_predictor* predictor = nullptr;
  struct Input {
    std::vector<int64_t> shape;
    std::vector<int64_t> given;  // the sizes of its data, or of what mutable_data gave out
    bool is_given = false;
    std::vector<char> staged;  // what mutable_data gave out, until the next run
    bool has_staged = false;
    std::vector<std::vector<size_t>> lod;
  };
  std::vector<Input> inputs;
  struct Hook {
    State* state;
    OutputTensorHookFunc call;
  };
  std::vector<std::unique_ptr<Hook>> hooks;
  std::exception_ptr thrown;  // by a hook during a run

  explicit State(umiak_predictor* p) : predictor(p) {
    size_t count = 0;
    Check(umiak_input_count(p, &count));
    inputs.resize(count);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { umiak_predictor_destroy(predictor); }

  umiak_tensor_info Info(size_t index, bool input) const {
    umiak_tensor_info info;
    Check(input ? umiak_input_info(predictor, index, &info) : umiak_output_info(predictor, index, &info));
    return info;
  }
  void Set(size_t index, const void* data) {
    const auto& shape = inputs[index].shape;
    Check(umiak_set_input(predictor, index, data, Info(index, true).dtype, static_cast<int32_t>(shape.size()), shape.data()));
    inputs[index].has_staged = false;
    Give(index);
  }
  void Give(size_t index) {
    inputs[index].given = inputs[index].shape;
    inputs[index].is_given = true;
  }
  static int32_t CallHook(void* hook, const char* operation, const umiak_tensor_info* info, const void* data, size_t) {
    const auto* registered = static_cast<Hook*>(hook);
    try {
      paddle::Tensor x(const_cast<void*>(data), std::vector<int64_t>(info->shape, info->shape + info->rank),
                       static_cast<paddle::DataType>(info->dtype));
      x.set_name(info->name);
      registered->call(operation, info->name, x);
      return 0;
    } catch (...) {  // nothing may be thrown through C
      registered->state->thrown = std::current_exception();
      return 1;
    }
  }
  void AddHook(umiak_hook_kind kind, const OutputTensorHookFunc& call) {
    hooks.emplace_back(new Hook{this, call});
    Check(umiak_add_hook(predictor, kind, &State::CallHook, hooks.back().get()));
  }
  void Run() {
    Flush();
    thrown = nullptr;
    const umiak_status status = umiak_run(predictor);
    if (thrown) std::rethrow_exception(thrown);
    Check(status);
  }
  void Flush() {
    for (size_t i = 0; i < inputs.size(); i++)  // before one is taken: memory of other sizes may end too early
      if (inputs[i].is_given && inputs[i].given != inputs[i].shape)
        throw std::runtime_error(std::string(Info(i, true).name) + " was reshaped: it needs data of these sizes before the next run");
    for (size_t i = 0; i < inputs.size(); i++)
      if (inputs[i].has_staged) Set(i, inputs[i].staged.data());
  }
};

}  // namespace details

/// An input or output of a predictor, as long as that lives.
class Tensor {
 public:
  /// Say which sizes the next data of an input have.
  void Reshape(const std::vector<int>& shape) { Input().shape.assign(shape.begin(), shape.end()); }

  /// Copy data to an input of the sizes that Reshape was given, or that the model has.
  template <typename T>
  void CopyFromCpu(const T* data) {
    Require<T>();
    Sizes();
    state_->Set(index_, data);
  }

  /// Take data for the next runs; they are copied.
  template <typename T>
  void ShareExternalData(const T* data, const std::vector<int>& shape, PlaceType place, DataLayout = DataLayout::kNCHW) {
    RequireCpu(place);
    Reshape(shape);
    CopyFromCpu(data);
  }

  /// Memory of an input, to be filled before the next run.
  template <typename T>
  T* mutable_data(PlaceType place) {
    RequireCpu(place);
    Require<T>();
    size_t bytes = sizeof(T);
    for (int64_t n : Sizes()) bytes *= static_cast<size_t>(n);
    auto& input = Input();
    input.staged.resize(bytes + alignof(T));
    input.has_staged = true;
    state_->Give(index_);
    return reinterpret_cast<T*>(input.staged.data());
  }

  /// Copy an output, whose data must have room.
  template <typename T>
  void CopyToCpu(T* data) const {
    PlaceType place;
    int size = 0;
    const T* from = this->data<T>(&place, &size);
    std::memcpy(data, from, static_cast<size_t>(size) * sizeof(T));
  }

  /// Copy an output, which is done when this returns: there are no streams.
  template <typename T>
  void CopyToCpuAsync(T* data, void* exec_stream) const {
    if (exec_stream) throw std::runtime_error("there are no streams: CopyToCpuAsync takes nullptr");
    CopyToCpu(data);
  }
  template <typename T>
  void CopyToCpuAsync(T* data, CallbackFunc done, void* parameters) const {
    CopyToCpu(data);
    if (done) done(parameters);
  }

  /// The data of an output; `size` elements.
  template <typename T>
  T* data(PlaceType* place, int* size) const {
    Require<T>();
    const void* data = nullptr;
    size_t bytes = 0;
    if (input_) throw std::runtime_error(name_ + " is an input: its data were copied");
    details::Check(umiak_output_data(state_->predictor, index_, &data, &bytes));
    if (place) *place = PlaceType::kCPU;
    if (size) *size = static_cast<int>(bytes / sizeof(T));
    return static_cast<T*>(const_cast<void*>(data));
  }

  /// Say how rows of an input are packed into sequences: offsets for each level. Models of PaddlePaddle 3 have no such inputs.
  void SetLoD(const std::vector<std::vector<size_t>>& lod) {
    auto& input = Input();
    std::vector<size_t> counts;
    std::vector<int64_t> offsets;
    for (const auto& level : lod) {
      counts.push_back(level.size());
      offsets.insert(offsets.end(), level.begin(), level.end());
    }
    details::Check(umiak_set_lod(state_->predictor, index_, counts.size(), counts.data(), offsets.data()));
    input.lod = lod;
  }
  std::vector<std::vector<size_t>> lod() const {
    if (input_) return state_->inputs[index_].lod;
    std::vector<std::vector<size_t>> found;
    std::vector<int64_t> offsets;
    for (size_t count = 0;; found.emplace_back(offsets.begin(), offsets.end())) {
      details::Check(umiak_output_lod(state_->predictor, index_, found.size(), nullptr, 0, &count));
      if (!count) return found;
      offsets.resize(count);
      details::Check(umiak_output_lod(state_->predictor, index_, found.size(), offsets.data(), count, &count));
    }
  }

  std::vector<int> shape() const {
    if (input_ && !state_->inputs[index_].shape.empty()) {
      const auto& set = state_->inputs[index_].shape;
      return std::vector<int>(set.begin(), set.end());
    }
    const umiak_tensor_info info = state_->Info(index_, input_);
    return std::vector<int>(info.shape, info.shape + info.rank);
  }
  DataType type() const { return details::ToDataType(state_->Info(index_, input_).dtype); }
  PlaceType place() const { return PlaceType::kCPU; }
  const std::string& name() const { return name_; }

 private:
  friend class Predictor;
  Tensor(std::shared_ptr<details::State> state, std::string name, size_t index, bool input)
      : state_(std::move(state)), name_(std::move(name)), index_(index), input_(input) {}

  details::State::Input& Input() {
    if (!input_) throw std::runtime_error(name_ + " is an output");
    return state_->inputs[index_];
  }
  /// The sizes of an input: those that were set, else the model's.
  const std::vector<int64_t>& Sizes() {
    auto& input = Input();
    const umiak_tensor_info info = state_->Info(index_, true);
    if (input.shape.empty()) {
      for (int i = 0; i < info.rank; i++)
        if (info.shape[i] < 0) throw std::runtime_error("Reshape " + name_ + " first: the model leaves its sizes open");
      input.shape.assign(info.shape, info.shape + info.rank);
    }
    return input.shape;
  }
  template <typename T>
  void Require() const {
    if (!details::Holds<T>(state_->Info(index_, input_).dtype)) throw std::runtime_error(name_ + " has elements of another type");
  }
  static void RequireCpu(PlaceType place) {
    if (place != PlaceType::kCPU) throw std::runtime_error("only memory of the host is there: PlaceType::kCPU");
  }

  std::shared_ptr<details::State> state_;
  std::string name_;
  size_t index_;
  bool input_;
};

}  // namespace paddle_infer

#endif
