"""Engines that run the model, behind one protocol: PyTorch, CTranslate2, NumPy and ONNX."""
