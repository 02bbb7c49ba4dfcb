"""Training with several processes: ranks that share each batch, agree on every decision, and fail together."""
