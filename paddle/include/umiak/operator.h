/* Declarations of operators, PD_BUILD_OP, and the table of them that the host reads. */
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "umiak/kernel.h"
#include "umiak/spmd.h"

UMIAK_BEGIN
namespace umiak {

/* Run `body`; what it throws becomes a complaint. Nothing is thrown into the host, which is C. */
template <typename F>
int guarded(umiak_call* call, F&& body) noexcept {
  const char* kind = "RuntimeError";
  std::string text;
  try {
    body();
    return UMIAK_OK;
  } catch (const HostError&) {
    return UMIAK_HOST_FAILED;
  } catch (const Error& e) {
    kind = e.kind();
    text = e.what();
  } catch (const std::bad_alloc&) {
    kind = "MemoryError";
    text = "std::bad_alloc: no memory is left";
  } catch (const std::invalid_argument& e) {
    kind = "ValueError";
    text = e.what();
  } catch (const std::domain_error& e) {
    kind = "ValueError";
    text = e.what();
  } catch (const std::out_of_range& e) {
    kind = "IndexError";
    text = e.what();
  } catch (const std::exception& e) {
    text = e.what();
  } catch (const char* e) {
    text = e;
  } catch (const std::string& e) {
    text = e;
  } catch (...) {
    text = "an exception that is no std::exception";
  }
  call->complain(call->context, kind, text.c_str());
  return UMIAK_FAILED;
}

/* Names as the table has them. */
class Names {
 public:
  void set(std::vector<std::string> names) {
    names_ = std::move(names);
    pointers_.clear();
    for (const std::string& name : names_) pointers_.push_back(name.c_str());
  }
  const std::vector<std::string>& get() const { return names_; }
  umiak_names table() const { return {static_cast<int64_t>(pointers_.size()), pointers_.data()}; }
  int find(const std::string& name) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  std::vector<std::string> names_;
  std::vector<const char*> pointers_;
};

/* What a library has declared, in the order of declaration. */
class Declared {
 public:
  virtual ~Declared() = default;
  /* May throw: the host is there. */
  virtual void add_to(std::vector<const umiak_operator*>& operators) = 0;
};

inline std::vector<std::unique_ptr<Declared>>& declarations() {
  static std::vector<std::unique_ptr<Declared>> all;
  return all;
}

}  // namespace umiak

namespace paddle {

inline std::string Grad(const std::string& name) { return name + "@GRAD"; }
inline std::string Vec(const std::string& name) { return name + "@VECTOR"; }
inline std::string New(const std::string& name) { return name + "@NEW"; }
inline std::string Optional(const std::string& name) { return name + "@OPTIONAL"; }

/* An operator: names and functions. */
class OpMetaInfo : public ::umiak::Declared {
 public:
  OpMetaInfo(std::string name, const char* file, int line) : name_(std::move(name)), file_(file), line_(line) {}

  void add_to(std::vector<const umiak_operator*>& operators) override {
    for (const auto& pair : inplace_map) {
      const int input = inputs.find(pair.first), output = outputs.find(pair.second);
      if (input < 0 || output < 0) {
        throw ::umiak::Error("ValueError", "[" + name_ + "] requires an input and an output in SetInplaceMap, got {" + pair.first +
                                               ", " + pair.second + "}", file_, line_);
      }
      pairs_.push_back(pair.first);
      pairs_.push_back(pair.second);
    }
    inplace_.set(pairs_);
    for (size_t i = 0; i < outputs.get().size(); ++i) {
      int from = -1;
      for (const auto& pair : inplace_map) {
        if (pair.second == outputs.get()[i]) from = inputs.find(pair.first);
      }
      if (from < 0) plain_.push_back(static_cast<int>(i));
      const auto says = [&](const std::string& word) { return outputs.get()[i].find(word) != std::string::npos; };
      optional_.push_back(says(paddle::Optional("")) && !says(paddle::Vec("")));
      input_of_output_.push_back(from);
    }
    row_.size = sizeof(row_);
    row_.kind = UMIAK_OPERATOR;
    row_.name = name_.c_str();
    row_.key = "";
    row_.file = file_;
    row_.line = line_;
    row_.inputs = inputs.table();
    row_.outputs = outputs.table();
    row_.attributes = attributes.table();
    row_.inplace = inplace_.table();
    row_.self = this;
    row_.run = kernel ? &run : nullptr;
    row_.infer_shape = infer_shape ? &shapes : nullptr;
    row_.infer_dtype = infer_dtype ? &dtypes : nullptr;
    row_.infer_sharding = infer_spmd ? &sharding : nullptr;
    operators.push_back(&row_);
  }

  ::umiak::Names inputs, outputs, attributes;
  std::unordered_map<std::string, std::string> inplace_map;
  KernelFunc kernel = nullptr;
  InferShapeFunc infer_shape = nullptr;
  InferDtypeFunc infer_dtype = nullptr;
  InferSpmdFunc infer_spmd = nullptr;

 private:
  int64_t n_inputs() const { return static_cast<int64_t>(inputs.get().size()); }

  static int run(void* self, umiak_call* call) noexcept {
    return ::umiak::guarded(call, [&] {
      const OpMetaInfo& op = *static_cast<OpMetaInfo*>(self);
      ::umiak::KernelContext k{call, op.n_inputs(), op.input_of_output_, op.plain_, {}, op.optional_};
      for (size_t i = 0; i < op.outputs.get().size(); ++i) k.outputs.emplace_back(static_cast<size_t>(call->counts[i]));
      op.kernel(&k);
      call->n_results = 0;
      for (const auto& own : k.outputs) {
        for (const Tensor& x : own) {
          if (call->n_results == call->room) throw ::umiak::Error(::umiak::text_of("at most ", call->room, " results are allowed"));
          if (x.defined()) ::umiak::host().retain(x.handle());
          call->results[call->n_results++] = x.handle();
        }
      }
    });
  }
  ::umiak::Cursor cursor(umiak_call* call, const char* function) const {
    ::umiak::Cursor c{call, n_inputs()};
    c.function = function;
    return c;
  }
  static int shapes(void* self, umiak_call* call) noexcept {
    return ::umiak::guarded(call, [&] {
      const OpMetaInfo& op = *static_cast<OpMetaInfo*>(self);
      ::umiak::Cursor c = op.cursor(call, "its InferShapeFn");
      for (const auto& shape : op.infer_shape(&c)) call->give_shape(call->context, static_cast<int32_t>(shape.size()), shape.data());
    });
  }
  static int dtypes(void* self, umiak_call* call) noexcept {
    return ::umiak::guarded(call, [&] {
      const OpMetaInfo& op = *static_cast<OpMetaInfo*>(self);
      ::umiak::Cursor c = op.cursor(call, "its InferDtypeFn");
      for (const DataType dtype : op.infer_dtype(&c)) call->give_dtype(call->context, static_cast<int32_t>(dtype));
    });
  }
  static int sharding(void* self, umiak_call* call) noexcept {
    return ::umiak::guarded(call, [&] {
      const OpMetaInfo& op = *static_cast<OpMetaInfo*>(self);
      ::umiak::Cursor c = op.cursor(call, "its InferSpmdFn");
      ::umiak::give_placement(call, op.infer_spmd(&c));
    });
  }

  std::string name_;
  const char* file_;
  int line_;
  std::vector<std::string> pairs_;
  ::umiak::Names inplace_;
  std::vector<int> plain_, input_of_output_;
  std::vector<bool> optional_;
  umiak_operator row_{};
};

/* What a PD_BUILD_… statement makes: it fills in the declaration. */
class OpMetaInfoBuilder {
 public:
  OpMetaInfoBuilder(std::string name, int order, const char* file, int line) {
    for (int i = 0; i < order; ++i) name += "_grad";
    auto declared = std::make_unique<OpMetaInfo>(std::move(name), file, line);
    info_ = declared.get();
    ::umiak::declarations().push_back(std::move(declared));
  }
  OpMetaInfoBuilder& Inputs(std::vector<std::string> names) {
    info_->inputs.set(std::move(names));
    return *this;
  }
  OpMetaInfoBuilder& Outputs(std::vector<std::string> names) {
    info_->outputs.set(std::move(names));
    return *this;
  }
  OpMetaInfoBuilder& Attrs(std::vector<std::string> names) {
    info_->attributes.set(std::move(names));
    return *this;
  }
  OpMetaInfoBuilder& SetInplaceMap(std::unordered_map<std::string, std::string> map) {
    info_->inplace_map = std::move(map);
    return *this;
  }
  OpMetaInfoBuilder& SetKernelFn(KernelFunc function) {
    info_->kernel = function;
    return *this;
  }
  OpMetaInfoBuilder& SetInferShapeFn(InferShapeFunc function) {
    info_->infer_shape = function;
    return *this;
  }
  OpMetaInfoBuilder& SetInferDtypeFn(InferDtypeFunc function) {
    info_->infer_dtype = function;
    return *this;
  }
  OpMetaInfoBuilder& SetInferSpmdFn(InferSpmdFunc function) {
    info_->infer_spmd = function;
    return *this;
  }

 private:
  OpMetaInfo* info_;
};

}  // namespace paddle

namespace umiak {

/* The table, or why there is none. It is made once. */
inline const umiak_extension_table* extension_table(const umiak_host* host) noexcept {
  static umiak_extension_table table{};
  static std::vector<const umiak_operator*> operators;
  static std::string error;
  if (table.size) return &table;
  table.abi_major = UMIAK_ABI_MAJOR;
  table.abi_minor = UMIAK_ABI_MINOR;
#ifdef __VERSION__
  table.compiler = __VERSION__;
#else
  table.compiler = "";
#endif
  table.size = sizeof(table);
  if (!host || host->abi_major != UMIAK_ABI_MAJOR || host->size < sizeof(umiak_host)) {
    table.error = "it was built for another version of the interface of extensions";
    return &table;
  }
  host_slot() = host;
  try {
    for (const auto& declared : declarations()) declared->add_to(operators);
  } catch (const std::exception& e) {
    error = e.what();
    table.error = error.c_str();
  } catch (...) {
    table.error = "an exception that is no std::exception, in a declaration";
  }
  table.n_operators = static_cast<int64_t>(operators.size());
  table.operators = operators.data();
  return &table;
}

}  // namespace umiak
UMIAK_END

extern "C" {
__attribute__((visibility("default"), used)) inline const umiak_extension_table* umiak_extension(const umiak_host* host) {
  return ::umiak::extension_table(host);
}
}

#define UMIAK_DECLARE(NAME, ORDER) \
  static ::paddle::OpMetaInfoBuilder umiak_operator_##NAME##_##ORDER = ::paddle::OpMetaInfoBuilder(#NAME, ORDER, __FILE__, __LINE__)
#define PD_BUILD_OP(NAME) UMIAK_DECLARE(NAME, 0)
#define PD_BUILD_GRAD_OP(NAME) UMIAK_DECLARE(NAME, 1)
#define PD_BUILD_DOUBLE_GRAD_OP(NAME) UMIAK_DECLARE(NAME, 2)
