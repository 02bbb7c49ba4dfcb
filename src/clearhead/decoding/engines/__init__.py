"""Engines that run the model, behind one protocol: PyTorch, CTranslate2 and NumPy."""
