/* TORCH_LIBRARY and its kin: operators by schemas, with functions for keys. */
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "umiak/aten.h"
#include "umiak/operator.h"

UMIAK_BEGIN
namespace umiak {

/* --- arguments: what a C++ type takes, and its word in a schema */

template <typename T>
T as_attribute(const umiak_value& v) {
  T value{};
  if (!Attribute<T>::take(v, value)) throw Error("TypeError", text_of("its kernel requires ", Attribute<T>::name, ", got another type"), nullptr, 0);
  return value;
}

template <typename T>
struct TorchType;

#define UMIAK_TORCH_TYPE(T, WORD, ...)                     \
  template <>                                              \
  struct TorchType<T> {                                    \
    static std::string word() { return WORD; }             \
    static T take(const umiak_value& v) { __VA_ARGS__ }    \
  };
UMIAK_TORCH_TYPE(at::Tensor, "Tensor", return at::Tensor(tensor_of(v));)
UMIAK_TORCH_TYPE(int64_t, "int", return as_attribute<int64_t>(v);)
UMIAK_TORCH_TYPE(double, "float", return as_attribute<double>(v);)
UMIAK_TORCH_TYPE(bool, "bool", return as_attribute<bool>(v);)
UMIAK_TORCH_TYPE(std::string, "str", return as_attribute<std::string>(v);)
UMIAK_TORCH_TYPE(std::vector<int64_t>, "int[]", return as_attribute<std::vector<int64_t>>(v);)
UMIAK_TORCH_TYPE(std::vector<double>, "float[]", return as_attribute<std::vector<double>>(v);)
UMIAK_TORCH_TYPE(at::ScalarType, "ScalarType", if (v.kind != UMIAK_IS_DTYPE) throw Error("its kernel requires a dtype");
                 return c10::scalar_type_of(static_cast<phi::DataType>(v.as.integer));)
UMIAK_TORCH_TYPE(at::Scalar, "Scalar", if (v.kind == UMIAK_IS_FLOAT) return at::Scalar(v.as.real);
                 if (v.kind == UMIAK_IS_BOOL) return at::Scalar(v.as.integer != 0);
                 return at::Scalar(as_attribute<int64_t>(v));)
UMIAK_TORCH_TYPE(std::vector<at::Tensor>, "Tensor[]", std::vector<at::Tensor> out;
                 for (auto& x : tensors_of(v)) out.emplace_back(std::move(x));
                 return out;)
#undef UMIAK_TORCH_TYPE

template <typename T>
struct TorchType<std::optional<T>> {
  static std::string word() { return TorchType<T>::word() + "?"; }
  static std::optional<T> take(const umiak_value& v) {
    if (v.kind == UMIAK_NONE) return std::nullopt;
    return TorchType<T>::take(v);
  }
};

/* What is kept while a function runs, where it gets a view. */
template <typename T>
struct Kept {
  using type = T;
};
template <typename T>
struct Kept<c10::ArrayRef<T>> {
  using type = std::vector<T>;
};
template <>
struct Kept<std::string_view> {
  using type = std::string;
};
template <typename T>
using kept_t = typename Kept<std::decay_t<T>>::type;

/* --- results */

inline void give(umiak_call* call, const at::Tensor& x) {
  if (call->n_results == call->room) throw Error(text_of("at most ", call->room, " results are allowed"));
  if (x.defined()) host().retain(x.base().handle());
  call->results[call->n_results++] = x.base().handle();
}
inline void give(umiak_call* call, const std::vector<at::Tensor>& xs) {
  for (const at::Tensor& x : xs) give(call, x);
}
template <typename... Ts>
void give(umiak_call* call, const std::tuple<Ts...>& xs) {
  std::apply([&](const auto&... x) { (give(call, x), ...); }, xs);
}

template <typename R>
struct TorchResult {
  static std::string word() { return TorchType<R>::word(); }
};
template <>
struct TorchResult<void> {
  static std::string word() { return "()"; }
};
template <typename... Ts>
struct TorchResult<std::tuple<Ts...>> {
  static std::string word() {
    std::string words;
    ((words += (words.empty() ? "" : ", ") + TorchType<std::decay_t<Ts>>::word()), ...);
    return "(" + words + ")";
  }
};

/* --- functions */

template <typename F>
struct Signature : Signature<decltype(&F::operator())> {};
template <typename R, typename... Args>
struct Signature<R(Args...)> {
  static std::string text(const std::string& name) {
    std::string words;
    int i = 0;
    ((words += (i ? ", " : "") + TorchType<kept_t<Args>>::word() + " a" + std::to_string(i), ++i), ...);
    return name + "(" + words + ") -> " + TorchResult<std::decay_t<R>>::word();
  }
  template <typename F>
  static void run(const F& f, umiak_call* call) {
    if (call->n_arguments != static_cast<int64_t>(sizeof...(Args))) {
      throw Error("TypeError", text_of("its kernel is a function of ", sizeof...(Args), " arguments, got ", call->n_arguments), nullptr, 0);
    }
    run(f, call, std::index_sequence_for<Args...>());
  }

 private:
  template <typename F, size_t... I>
  static void run(const F& f, umiak_call* call, std::index_sequence<I...>) {
    std::tuple<kept_t<Args>...> kept{TorchType<kept_t<Args>>::take(call->arguments[I])...};
    (void)kept;
    call->n_results = 0;
    if constexpr (std::is_void<R>::value) {
      f(std::get<I>(kept)...);
    } else {
      give(call, f(std::get<I>(kept)...));
    }
  }
};
template <typename R, typename... Args>
struct Signature<R (*)(Args...)> : Signature<R(Args...)> {};
template <typename C, typename R, typename... Args>
struct Signature<R (C::*)(Args...) const> : Signature<R(Args...)> {};
template <typename C, typename R, typename... Args>
struct Signature<R (C::*)(Args...)> : Signature<R(Args...)> {};

/* A schema or a function of an operator. */
class Entry {
 public:
  Entry(int kind, std::string name, std::string key, const char* file, int line) : name_(std::move(name)), key_(std::move(key)) {
    row.size = sizeof(row);
    row.kind = kind;
    row.name = name_.c_str();
    row.key = key_.c_str();
    row.file = file;
    row.line = line;
    row.self = this;
  }
  Entry(const Entry&) = delete;
  template <typename F>
  void set(F f) {
    function_ = [f](umiak_call* call) { Signature<F>::run(f, call); };
    row.run = [](void* self, umiak_call* call) { return guarded(call, [&] { static_cast<Entry*>(self)->function_(call); }); };
  }
  umiak_operator row{};

 private:
  std::string name_, key_;
  std::function<void(umiak_call*)> function_;
};

}  // namespace umiak

namespace torch {

/* What TORCH_LIBRARY's body fills. */
class Library {
 public:
  Library(std::string space, std::string key, const char* file, int line, std::vector<std::unique_ptr<::umiak::Entry>>& entries)
      : space_(std::move(space)), key_(std::move(key)), file_(file), line_(line), entries_(entries) {}

  Library& def(const std::string& schema) & {
    add(UMIAK_SCHEMA, schema, "");
    return *this;
  }
  /* With a function for all devices; a name alone gets the schema of the function. */
  template <typename F>
  Library& def(const std::string& schema, F f) & {
    const bool named = schema.find('(') == std::string::npos;
    add(UMIAK_SCHEMA, named ? ::umiak::Signature<F>::text(schema) : schema, "").set(f);
    return *this;
  }
  template <typename F>
  Library& impl(const std::string& name, F f) & {
    add(UMIAK_IMPLEMENTATION, name, key_).set(f);
    return *this;
  }

 private:
  ::umiak::Entry& add(int kind, const std::string& name, const std::string& key) {
    const bool spaced = name.substr(0, name.find('(')).find("::") != std::string::npos;
    entries_.push_back(std::make_unique<::umiak::Entry>(kind, spaced ? name : space_ + "::" + name, key, file_, line_));
    return *entries_.back();
  }

  std::string space_, key_;
  const char* file_;
  int line_;
  std::vector<std::unique_ptr<::umiak::Entry>>& entries_;
};

}  // namespace torch

namespace umiak {

/* The body of a TORCH_LIBRARY, which runs when the host loads the library. */
class LibraryBody : public Declared {
 public:
  LibraryBody(const char* space, const char* key, void (*body)(torch::Library&), const char* file, int line)
      : space_(space), key_(key), body_(body), file_(file), line_(line) {}
  void add_to(std::vector<const umiak_operator*>& operators) override {
    torch::Library library(space_, key_, file_, line_, entries_);
    body_(library);
    for (const auto& entry : entries_) operators.push_back(&entry->row);
  }

 private:
  const char* space_;
  const char* key_;
  void (*body_)(torch::Library&);
  const char* file_;
  int line_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

struct LibraryDeclaration {
  LibraryDeclaration(const char* space, const char* key, void (*body)(torch::Library&), const char* file, int line) {
    declarations().push_back(std::make_unique<LibraryBody>(space, key, body, file, line));
  }
};

}  // namespace umiak
UMIAK_END

#define UMIAK_JOIN_(A, B) A##B
#define UMIAK_JOIN(A, B) UMIAK_JOIN_(A, B)
#define UMIAK_LIBRARY(SPACE, KEY, M, ID)                                                                     \
  static void UMIAK_JOIN(umiak_library_body_, ID)(::torch::Library & M);                                     \
  static const ::umiak::LibraryDeclaration UMIAK_JOIN(umiak_library_, ID)(                                   \
      #SPACE, KEY, &UMIAK_JOIN(umiak_library_body_, ID), __FILE__, __LINE__);                                \
  static void UMIAK_JOIN(umiak_library_body_, ID)(::torch::Library & M)
#define TORCH_LIBRARY(SPACE, M) UMIAK_LIBRARY(SPACE, "", M, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(SPACE, M) UMIAK_LIBRARY(SPACE, "", M, __COUNTER__)
#define TORCH_LIBRARY_IMPL(SPACE, KEY, M) UMIAK_LIBRARY(SPACE, #KEY, M, __COUNTER__)
#define TORCH_FN(F) (&F)
#define TORCH_BOX(F) (F)
