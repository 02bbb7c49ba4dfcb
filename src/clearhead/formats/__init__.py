"""Models in files: clearhead's own checkpoints, MarianMT's (OPUS-MT), and the blocks of torch.nn.Transformer."""

from clearhead.formats.checkpoint import load_checkpoint, save_checkpoint
from clearhead.formats.marian import export_marian, from_marian, from_marian_tensors, import_marian, to_marian
from clearhead.formats.torch_transformer import from_torch_transformer, to_torch_transformer

__all__ = [
    "export_marian",
    "from_marian",
    "from_marian_tensors",
    "from_torch_transformer",
    "import_marian",
    "load_checkpoint",
    "save_checkpoint",
    "to_marian",
    "to_torch_transformer",
]
