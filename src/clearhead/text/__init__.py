"""Turn text into token ids and back: normalisation, tokenisers, special tokens. Never imports torch."""
