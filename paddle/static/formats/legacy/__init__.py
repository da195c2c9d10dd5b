"""Programs in the formats before PaddlePaddle 3: protobuf messages in the operators of its older programs."""
