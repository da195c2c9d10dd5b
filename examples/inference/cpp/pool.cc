// A pool of predictors, one for each thread, with the reference framework's names.
//
//   pool MODEL PARAMETERS INPUT SIZE...      of libumiak_inference.so
//   pool - - INPUT SIZE...                   of a compiled model with its weights inside
//
// INPUT is the name of an input of float32 of the given sizes. Each thread fills it with a number of its own, runs, and the sums of the
// first outputs are printed in the order of the threads.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "paddle_inference_api.h"

static double RunOnce(paddle_infer::Predictor* predictor, const std::string& name, const std::vector<int>& shape, float value) {
  auto input = predictor->GetInputHandle(name);
  size_t count = 1;
  for (int n : shape) count *= static_cast<size_t>(n);
  const std::vector<float> data(count, value);
  input->Reshape(shape);
  input->CopyFromCpu(data.data());
  predictor->Run();
  auto output = predictor->GetOutputHandle(predictor->GetOutputNames()[0]);
  size_t results = 1;
  for (int n : output->shape()) results *= static_cast<size_t>(n);
  std::vector<float> out(results);
  output->CopyToCpu(out.data());
  double sum = 0;
  for (float x : out) sum += x;
  return sum;
}

int main(int count, char** arguments) {
  constexpr size_t kThreads = 4;
  if (count < 4) return 2;
  try {
    paddle_infer::Config config;
    if (std::string(arguments[1]) != "-") config.SetModel(arguments[1], arguments[2]);
    config.SetCpuMathLibraryNumThreads(1);
    paddle_infer::services::PredictorPool pool(config, kThreads);
    std::vector<int> shape;
    for (int i = 4; i < count; i++) shape.push_back(std::atoi(arguments[i]));
    std::vector<double> sums(kThreads);
    std::vector<std::exception_ptr> failed(kThreads);
    std::vector<std::thread> threads;
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kThreads; i++)
      threads.emplace_back([&, i] {
        try {
          sums[i] = RunOnce(pool.Retrieve(i), arguments[3], shape, 0.25f * static_cast<float>(i + 1));
        } catch (...) {
          failed[i] = std::current_exception();
        }
      });
    for (auto& thread : threads) thread.join();
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
    for (auto& error : failed)
      if (error) std::rethrow_exception(error);
    for (double sum : sums) std::printf("%.6f\n", sum);
    std::fprintf(stderr, "%.3f ms\n", passed.count());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
