"""Engines that run the model, behind one protocol: PyTorch and CTranslate2."""
