"""Run a saved model by a predictor: its files are all that is needed."""

from __future__ import annotations

import argparse
import os

from digits import Digits, accuracy

from paddle.inference import Config, create_predictor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where the model is")
    parser.add_argument("--name", default="digits", help="which of the models there (%(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    path = os.path.join(options.folder, options.name)
    config = Config(path + ".json", path + ".pdiparams")
    config.set_cpu_math_library_num_threads(options.threads)
    predictor = create_predictor(config)

    test = Digits(test=True, inverted=options.name == "inverted")
    (name,) = predictor.get_input_names()
    predictor.get_input_handle(name).copy_from_cpu(test.images)
    predictor.run()
    scores = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
    print(f"the first digits are {scores[:10].argmax(-1).tolist()}, test accuracy {accuracy(scores, test.labels):.1f}%")


if __name__ == "__main__":
    main()
