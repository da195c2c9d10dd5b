// Runs a model once, and a hundred times for its latency, with the reference framework's names.
//
//   predict MODEL PARAMETERS INPUT SIZE...   of libumiak_inference.so
//   predict - - INPUT SIZE...                of a compiled model with its weights inside
//
// INPUT is the name of an input of float32 of the given sizes, which is filled with numbers that follow from their places. The first
// numbers of each output of float32 are printed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "paddle_inference_api.h"

static size_t Elements(const std::vector<int>& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<size_t>());
}

static void Show(const std::string& name, paddle_infer::Tensor* output) {
  constexpr size_t kShown = 8;
  if (output->type() != paddle_infer::DataType::FLOAT32) return;
  const std::vector<int> shape = output->shape();
  std::vector<float> numbers(Elements(shape));
  output->CopyToCpu(numbers.data());
  std::printf("%s [", name.c_str());
  for (size_t axis = 0; axis < shape.size(); axis++) std::printf(axis ? ", %d" : "%d", shape[axis]);
  std::printf("]");
  for (size_t i = 0; i < kShown && i < numbers.size(); i++) std::printf(" %.6g", static_cast<double>(numbers[i]));
  std::printf("\n");
}

int main(int count, char** arguments) {
  constexpr int kRuns = 100;
  if (count < 4) return 2;
  try {
    paddle_infer::Config config;
    if (std::string(arguments[1]) != "-") config.SetModel(arguments[1], arguments[2]);
    config.SetCpuMathLibraryNumThreads(1);
    auto predictor = paddle_infer::CreatePredictor(config);

    std::vector<int> shape;
    for (int i = 4; i < count; i++) shape.push_back(std::atoi(arguments[i]));
    std::vector<float> data(Elements(shape));
    for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<float>(static_cast<double>(i * 37 % 101) / 101);
    auto input = predictor->GetInputHandle(arguments[3]);
    input->Reshape(shape);
    input->CopyFromCpu(data.data());
    predictor->Run();
    for (const std::string& name : predictor->GetOutputNames()) Show(name, predictor->GetOutputHandle(name).get());

    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRuns; i++) predictor->Run();
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "%.3f ms\n", passed.count() / kRuns);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
