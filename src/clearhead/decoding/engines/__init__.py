"""What computes translations: the model in PyTorch, or CTranslate2, behind one protocol."""
