"""What only explains a model: searches written down step by step, and traces as worksheets."""
