/* Sharding rules, PD_INFER_SPMD_RULE: functions of sizes and of the axes of a mesh that dims are sharded on.

   The host asks a rule about one dim at a time, so a rule that treats axes of the mesh alike is understood as it is. */
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "umiak/kernel.h"

UMIAK_BEGIN
namespace phi {
namespace distributed {

/* Where a tensor's dims are: for each the axis of the mesh, or -1; and the axes that it is a partial sum over. */
class TensorDistAttr {
 public:
  TensorDistAttr() = default;
  explicit TensorDistAttr(const std::vector<int64_t>& shape) : mapping_(shape.size(), -1) {}
  const std::vector<int64_t>& dims_mapping() const { return mapping_; }
  void set_dims_mapping(const std::vector<int64_t>& mapping) { mapping_ = mapping; }
  const std::set<int64_t> partial_dims() const { return partial_; }
  bool is_partial() const { return !partial_.empty(); }
  void set_partial_status(const std::vector<int64_t>& dims) { partial_ = std::set<int64_t>(dims.begin(), dims.end()); }
  void clean_partial_status() { partial_.clear(); }

 private:
  std::vector<int64_t> mapping_;
  std::set<int64_t> partial_;
};

/* Sizes of a tensor, and where its dims are. */
class DistMetaTensor {
 public:
  DistMetaTensor() = default;
  DistMetaTensor(const DDim& dims, const TensorDistAttr& attr) : dims_(dims), attr_(attr) {}
  DDim dims() const { return dims_; }
  const TensorDistAttr& dist_attr() const { return attr_; }
  bool initialized() const { return true; }

 private:
  DDim dims_;
  TensorDistAttr attr_;
};

using ArgDistAttr = std::variant<TensorDistAttr, std::vector<TensorDistAttr>>;
/* Of the inputs, as they have to be, and of the outputs. */
using SpmdInfo = std::pair<std::vector<ArgDistAttr>, std::vector<ArgDistAttr>>;

/* Element by element: the output is sharded as the input is. */
inline SpmdInfo ElementwiseUnaryInferSpmd(const DistMetaTensor& x) {
  TensorDistAttr attr = x.dist_attr();
  attr.clean_partial_status();
  return {{attr}, {attr}};
}

/* Element by element over tensors that are broadcast: dims that are aligned are sharded alike. */
inline SpmdInfo ElementwiseBinaryInferSpmd(const DistMetaTensor& x, const DistMetaTensor& y) {
  const DistMetaTensor* const both[] = {&x, &y};
  const int rank = x.dims().size() > y.dims().size() ? x.dims().size() : y.dims().size();
  std::vector<int64_t> merged(static_cast<size_t>(rank), -1);
  for (const DistMetaTensor* t : both) {
    const int missing = rank - t->dims().size();
    for (int d = 0; d < t->dims().size(); ++d) {
      int64_t& axis = merged[static_cast<size_t>(d + missing)];
      if (axis < 0 && t->dims()[d] != 1) axis = t->dist_attr().dims_mapping()[static_cast<size_t>(d)];
    }
  }
  std::vector<ArgDistAttr> inputs;
  for (const DistMetaTensor* t : both) {
    const int missing = rank - t->dims().size();
    std::vector<int64_t> own;
    for (int d = 0; d < t->dims().size(); ++d) own.push_back(t->dims()[d] == 1 ? -1 : merged[static_cast<size_t>(d + missing)]);
    TensorDistAttr attr;
    attr.set_dims_mapping(own);
    inputs.emplace_back(attr);
  }
  TensorDistAttr out;
  out.set_dims_mapping(merged);
  return {inputs, {out}};
}

}  // namespace distributed
}  // namespace phi

namespace umiak {

inline phi::distributed::DistMetaTensor placed_of(const umiak_meta& m) {
  phi::distributed::TensorDistAttr attr(sizes_of(m));
  if (m.mapping) attr.set_dims_mapping(std::vector<int64_t>(m.mapping, m.mapping + m.ndim));
  return {common::DDim(m.sizes, m.ndim), attr};
}

template <typename F, F f>
struct Placement;

template <typename... Args, phi::distributed::SpmdInfo (*f)(Args...)>
struct Placement<phi::distributed::SpmdInfo (*)(Args...), f> {
  static phi::distributed::SpmdInfo run(Cursor* cursor) {
    using Meta = phi::distributed::DistMetaTensor;
    std::tuple<Fact<std::decay_t<Args>, Meta, &placed_of>...> parameters{Fact<std::decay_t<Args>, Meta, &placed_of>(*cursor)...};
    return std::apply([](auto&... p) { return f(p.value...); }, parameters);
  }
};

inline void give_placement(umiak_call* call, const phi::distributed::SpmdInfo& info) {
  const auto give = [&](const phi::distributed::TensorDistAttr& attr, bool is_input) {
    const std::set<int64_t> dims = attr.partial_dims();
    const std::vector<int64_t> partial(dims.begin(), dims.end());
    const std::vector<int64_t>& mapping = attr.dims_mapping();
    call->give_mapping(call->context, is_input, static_cast<int32_t>(mapping.size()), mapping.data(),
                       static_cast<int32_t>(partial.size()), partial.data());
  };
  for (const bool is_input : {true, false}) {
    for (const auto& arg : is_input ? info.first : info.second) {
      if (const auto* one = std::get_if<phi::distributed::TensorDistAttr>(&arg)) {
        give(*one, is_input);
      } else {
        for (const auto& attr : std::get<1>(arg)) give(attr, is_input);
      }
    }
  }
}

}  // namespace umiak

namespace paddle {
using InferSpmdFunc = phi::distributed::SpmdInfo (*)(::umiak::Cursor*);
}
UMIAK_END

#define PD_INFER_SPMD_RULE(...) ::umiak::Placement<decltype(&__VA_ARGS__), &__VA_ARGS__>::run
