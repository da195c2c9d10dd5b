/* From calls by the host to functions in C++: PD_KERNEL, PD_INFER_SHAPE, PD_INFER_DTYPE.

   The parameters of a function say what it gets, each the next of its sort: inputs for tensors, attributes for numbers and texts,
   outputs for pointers to tensors. */
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "umiak/tensor.h"

UMIAK_BEGIN
namespace umiak {

/* --- values of the host as those of C++ */

inline std::vector<paddle::Tensor> tensors_of(const umiak_value& v) {
  std::vector<paddle::Tensor> out;
  if (v.kind == UMIAK_NONE || (v.kind == UMIAK_INTS && !v.count)) return out;  // an empty list is of any kind
  if (v.kind != UMIAK_TENSORS) throw Error("a list of tensors is required, got another argument");
  for (int64_t i = 0; i < v.count; ++i) out.push_back(paddle::Tensor::borrow(v.as.tensors[i]));
  return out;
}

inline paddle::Tensor tensor_of(const umiak_value& v) {
  if (v.kind == UMIAK_NONE) return {};
  if (v.kind != UMIAK_TENSOR) throw Error("a tensor is required, got another argument");
  return paddle::Tensor::borrow(v.as.tensor);
}

/* An attribute as T. NAME is for messages. */
template <typename T>
struct Attribute;

#define UMIAK_INTEGER(T, NAME)                                                                     \
  template <>                                                                                      \
  struct Attribute<T> {                                                                            \
    static constexpr const char* name = NAME;                                                      \
    static bool take(const umiak_value& v, T& out) {                                               \
      if (v.kind != UMIAK_IS_INT && v.kind != UMIAK_IS_BOOL) return false;                          \
      out = static_cast<T>(v.as.integer);                                                          \
      if (static_cast<int64_t>(out) != v.as.integer) {                                             \
        throw Error("OverflowError", text_of("an attribute ", NAME, " is too narrow for ", v.as.integer), nullptr, 0); \
      }                                                                                            \
      return true;                                                                                 \
    }                                                                                              \
  };
UMIAK_INTEGER(bool, "bool")
UMIAK_INTEGER(int, "int")
UMIAK_INTEGER(int64_t, "int64_t")
#undef UMIAK_INTEGER

#define UMIAK_REAL(T, NAME)                          \
  template <>                                        \
  struct Attribute<T> {                              \
    static constexpr const char* name = NAME;        \
    static bool take(const umiak_value& v, T& out) { \
      if (v.kind == UMIAK_IS_INT) {                  \
        out = static_cast<T>(v.as.integer);          \
      } else if (v.kind == UMIAK_IS_FLOAT) {         \
        out = static_cast<T>(v.as.real);             \
      } else {                                       \
        return false;                                \
      }                                              \
      return true;                                   \
    }                                                \
  };
UMIAK_REAL(float, "float")
UMIAK_REAL(double, "double")
#undef UMIAK_REAL

template <>
struct Attribute<std::string> {
  static constexpr const char* name = "std::string";
  static bool take(const umiak_value& v, std::string& out) {
    if (v.kind != UMIAK_IS_TEXT) return false;
    out.assign(v.as.text, static_cast<size_t>(v.count));
    return true;
  }
};

template <>
struct Attribute<std::vector<std::string>> {
  static constexpr const char* name = "std::vector<std::string>";
  static bool take(const umiak_value& v, std::vector<std::string>& out) {
    if (v.kind != UMIAK_TEXTS && v.count) return false;
    for (int64_t i = 0; i < v.count; ++i) out.emplace_back(v.as.texts[i].data, static_cast<size_t>(v.as.texts[i].length));
    return true;
  }
};

template <typename T>
struct Attribute<std::vector<T>> {
  static constexpr const char* name = "a std::vector of numbers";
  static bool take(const umiak_value& v, std::vector<T>& out) {
    for (int64_t i = 0; i < v.count; ++i) {
      umiak_value item{};
      if (v.kind == UMIAK_FLOATS) {
        item.kind = UMIAK_IS_FLOAT;
        item.as.real = v.as.reals[i];
      } else if (v.kind == UMIAK_INTS || v.kind == UMIAK_BOOLS) {
        item.kind = UMIAK_IS_INT;
        item.as.integer = v.as.ints[i];
      }
      T value{};
      if (!Attribute<T>::take(item, value)) return false;
      out.push_back(value);
    }
    return v.kind == UMIAK_FLOATS || v.kind == UMIAK_INTS || v.kind == UMIAK_BOOLS;
  }
};

/* --- what the next parameter of each sort is */

/* A call on its way through the parameters of a function. */
struct Cursor {
  umiak_call* call;
  int64_t n_inputs;
  int64_t input = 0, attribute = 0, output = 0;
  std::vector<std::vector<paddle::Tensor>>* outputs = nullptr;  // by declared output
  const std::vector<int>* plain = nullptr;                      // the outputs that no input stands for
  const char* function = "";

  bool has_input() const { return input < n_inputs; }
  const umiak_value& next_input() {
    if (!has_input()) throw Error(text_of(function, " has more tensors as parameters than there are Inputs (", n_inputs, ")"));
    return call->arguments[input++];
  }
  template <typename T>
  T next_attribute() {
    const int64_t at = n_inputs + attribute++;
    if (at >= call->n_arguments) {
      throw Error(text_of(function, " has more attributes as parameters than there are Attrs (", call->n_arguments - n_inputs, ")"));
    }
    T value{};
    if (!Attribute<T>::take(call->arguments[at], value)) {
      throw Error("TypeError", text_of(function, " requires attribute ", at - n_inputs, " to be ", Attribute<T>::name,
                                       ", got another type"), nullptr, 0);
    }
    return value;
  }
  std::vector<paddle::Tensor>& next_output() {
    if (!outputs || output >= static_cast<int64_t>(plain->size())) {
      throw Error(text_of(function, " has more pointers to tensors as parameters than there are Outputs"));
    }
    return (*outputs)[static_cast<size_t>((*plain)[static_cast<size_t>(output++)])];
  }
};

/* A parameter of a kernel: its value while the function runs. */
template <typename T>
struct Parameter {
  explicit Parameter(Cursor& c) : value(c.next_attribute<T>()) {}
  T& get() { return value; }
  T value;
};

template <>
struct Parameter<paddle::Tensor> {
  explicit Parameter(Cursor& c) : value(tensor_of(c.next_input())) {
    if (!value.defined()) {
      throw Error("TypeError", text_of(c.function, " requires a tensor as input ", c.input - 1, ", got none"), nullptr, 0);
    }
  }
  paddle::Tensor& get() { return value; }
  std::vector<paddle::Tensor> now() const { return {value}; }
  paddle::Tensor value;
};

template <>
struct Parameter<paddle::optional<paddle::Tensor>> {
  explicit Parameter(Cursor& c) {
    paddle::Tensor x = tensor_of(c.next_input());
    if (x.defined()) value = x;
  }
  paddle::optional<paddle::Tensor>& get() { return value; }
  std::vector<paddle::Tensor> now() const { return value ? std::vector<paddle::Tensor>{*value} : std::vector<paddle::Tensor>{}; }
  paddle::optional<paddle::Tensor> value;
};

template <>
struct Parameter<std::vector<paddle::Tensor>> {
  explicit Parameter(Cursor& c) : value(tensors_of(c.next_input())) {}
  std::vector<paddle::Tensor>& get() { return value; }
  std::vector<paddle::Tensor> now() const { return value; }
  std::vector<paddle::Tensor> value;
};

template <>
struct Parameter<paddle::optional<std::vector<paddle::Tensor>>> {
  explicit Parameter(Cursor& c) {
    const umiak_value& v = c.next_input();
    if (v.kind != UMIAK_NONE) value = tensors_of(v);
  }
  paddle::optional<std::vector<paddle::Tensor>>& get() { return value; }
  std::vector<paddle::Tensor> now() const { return value ? *value : std::vector<paddle::Tensor>{}; }
  paddle::optional<std::vector<paddle::Tensor>> value;
};

template <>
struct Parameter<paddle::Tensor*> {
  explicit Parameter(Cursor& c) {
    std::vector<paddle::Tensor>& own = c.next_output();
    if (own.empty()) own.emplace_back();
    value = &own[0];
  }
  paddle::Tensor*& get() { return value; }
  paddle::Tensor* value;
};

template <>
struct Parameter<std::vector<paddle::Tensor*>> {
  explicit Parameter(Cursor& c) {
    for (paddle::Tensor& x : c.next_output()) value.push_back(&x);
  }
  std::vector<paddle::Tensor*>& get() { return value; }
  std::vector<paddle::Tensor*> value;
};

template <typename P, typename = void>
struct IsInput : std::false_type {};
template <typename P>
struct IsInput<P, std::void_t<decltype(std::declval<const P&>().now())>> : std::true_type {};

/* --- kernels */

/* The declared facts that a kernel's call needs. */
struct KernelContext {
  umiak_call* call;
  int64_t n_inputs;
  std::vector<int> input_of_output;  // for each output the input that stands for it, or -1
  std::vector<int> plain;
  std::vector<std::vector<paddle::Tensor>> outputs;
  std::vector<bool> optional;  // outputs that are one tensor or none
};

template <typename F, F f>
struct Kernel;

template <typename R, typename... Args, R (*f)(Args...)>
struct Kernel<R (*)(Args...), f> {
  static void run(KernelContext* k) {
    Cursor cursor{k->call, k->n_inputs};
    cursor.outputs = &k->outputs;
    cursor.plain = &k->plain;
    cursor.function = "its kernel";
    // Braces: the next of each sort is taken from left to right.
    std::tuple<Parameter<std::decay_t<Args>>...> parameters{Parameter<std::decay_t<Args>>(cursor)...};
    check(cursor);
    if constexpr (std::is_void<R>::value) {
      std::apply([](auto&... p) { f(p.get()...); }, parameters);
    } else {
      assign(*k, std::apply([](auto&... p) { return f(p.get()...); }, parameters));
    }
    // Inputs that stand for outputs.
    std::vector<std::vector<paddle::Tensor>> inputs;
    std::apply([&](auto&... p) { (collect(inputs, p), ...); }, parameters);
    for (size_t i = 0; i < k->outputs.size(); ++i) {
      if (k->input_of_output[i] >= 0) k->outputs[i] = inputs[static_cast<size_t>(k->input_of_output[i])];
    }
  }

 private:
  static void check(const Cursor& c) {
    if (c.input != c.n_inputs || c.attribute != c.call->n_arguments - c.n_inputs) {
      throw Error(text_of("its kernel requires parameters for ", c.n_inputs, " Inputs and ", c.call->n_arguments - c.n_inputs,
                          " Attrs, got a function of ", c.input, " and ", c.attribute));
    }
  }
  static void assign(KernelContext& k, std::vector<paddle::Tensor> results) {
    size_t wanted = 0, absent = 0;
    for (const int i : k.plain) {
      const size_t at = static_cast<size_t>(i), count = k.outputs[at].size();
      wanted += count;
      absent += count == 0 && k.optional[at];
    }
    // A kernel may leave out what is the gradient of nothing, or return any tensor in its place.
    const bool leaves_out = results.size() == wanted;
    if (!leaves_out && results.size() != wanted + absent) {
      throw Error("ValueError", text_of("its kernel requires ", wanted, " results, as its Outputs say, got ", results.size()), nullptr, 0);
    }
    size_t next = 0;
    for (const int i : k.plain) {
      const size_t at = static_cast<size_t>(i);
      for (paddle::Tensor& x : k.outputs[at]) x = std::move(results[next++]);
      next += !leaves_out && k.outputs[at].empty() && k.optional[at];
    }
  }
  static void assign(KernelContext& k, paddle::Tensor result) { assign(k, std::vector<paddle::Tensor>{std::move(result)}); }
  template <typename P>
  static void collect(std::vector<std::vector<paddle::Tensor>>& inputs, P& p) {
    if constexpr (IsInput<P>::value) inputs.push_back(p.now());
  }
};

/* --- functions of shapes and dtypes */

inline std::vector<int64_t> sizes_of(const umiak_meta& m) { return std::vector<int64_t>(m.sizes, m.sizes + m.ndim); }
inline paddle::DataType dtype_of(const umiak_meta& m) { return static_cast<paddle::DataType>(m.dtype); }

/* READ takes from a umiak_meta what a function is of: T. Anything else among the parameters is an attribute. */
template <typename P, typename T, T (*READ)(const umiak_meta&)>
struct Fact {
  explicit Fact(Cursor& c) : value(c.next_attribute<P>()) {}
  P value;
};

template <typename T, T (*READ)(const umiak_meta&)>
struct Fact<T, T, READ> {
  explicit Fact(Cursor& c) {
    if constexpr (std::is_same<T, std::vector<int64_t>>::value) {
      if (!c.has_input()) {
        value = c.next_attribute<T>();
        return;
      }
    }
    const umiak_value& v = c.next_input();
    if (v.kind == UMIAK_META) value = READ(v.as.metas[0]);
    else if (v.kind != UMIAK_NONE) throw Error(text_of(c.function, " requires a list as parameter for input ", c.input - 1));
  }
  T value{};
};

template <typename T, T (*READ)(const umiak_meta&)>
struct Fact<paddle::optional<T>, T, READ> {
  explicit Fact(Cursor& c) {
    const umiak_value& v = c.next_input();
    if (v.kind == UMIAK_META) value = READ(v.as.metas[0]);
  }
  paddle::optional<T> value;
};

template <typename T, T (*READ)(const umiak_meta&)>
struct Fact<std::vector<T>, T, READ> {
  explicit Fact(Cursor& c) {
    const umiak_value& v = c.next_input();
    for (int64_t i = 0; i < v.count; ++i) value.push_back(READ(v.as.metas[i]));
  }
  std::vector<T> value;
};

template <typename T, T (*READ)(const umiak_meta&)>
struct Fact<paddle::optional<std::vector<T>>, T, READ> {
  explicit Fact(Cursor& c) {
    const umiak_value& v = c.next_input();
    if (v.kind == UMIAK_NONE) return;
    std::vector<T> all;
    for (int64_t i = 0; i < v.count; ++i) all.push_back(READ(v.as.metas[i]));
    value = std::move(all);
  }
  paddle::optional<std::vector<T>> value;
};

template <typename F, F f, typename T, T (*READ)(const umiak_meta&)>
struct Inference;

template <typename R, typename... Args, R (*f)(Args...), typename T, T (*READ)(const umiak_meta&)>
struct Inference<R (*)(Args...), f, T, READ> {
  static std::vector<T> run(Cursor* cursor) {
    std::tuple<Fact<std::decay_t<Args>, T, READ>...> parameters{Fact<std::decay_t<Args>, T, READ>(*cursor)...};
    if (cursor->has_input()) {
      throw Error(text_of(cursor->function, " requires a parameter for each of ", cursor->n_inputs, " Inputs, got ", cursor->input));
    }
    return std::apply([](auto&... p) { return f(p.value...); }, parameters);
  }
};

}  // namespace umiak

namespace paddle {
using CustomOpKernelContext = ::umiak::KernelContext;
using KernelFunc = void (*)(::umiak::KernelContext*);
using InferShapeFunc = std::vector<std::vector<int64_t>> (*)(::umiak::Cursor*);
using InferDtypeFunc = std::vector<DataType> (*)(::umiak::Cursor*);
}  // namespace paddle
UMIAK_END

#define PD_KERNEL(...) ::umiak::Kernel<decltype(&__VA_ARGS__), &__VA_ARGS__>::run
#define PD_INFER_SHAPE(...) \
  ::umiak::Inference<decltype(&__VA_ARGS__), &__VA_ARGS__, std::vector<int64_t>, &::umiak::sizes_of>::run
#define PD_INFER_DTYPE(...) \
  ::umiak::Inference<decltype(&__VA_ARGS__), &__VA_ARGS__, ::paddle::DataType, &::umiak::dtype_of>::run
