"""Files of tensors: our own container, safetensors, and folders of the latter with an index."""
