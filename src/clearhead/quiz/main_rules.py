"""The wrong rules that a sheet must tell apart wherever they can occur; a draw that does not is drawn again.

Many sheets tell other rules of the marker apart as well, but by chance. The names are those of
`clearhead.check.misconceptions`.
"""

MAIN_RULES = frozenset(
    {
        *("weights transposed", "WX instead of XW", "KQᵀ instead of QKᵀ", "QK instead of QKᵀ"),
        *("no scaling", "divided by d_k"),
        *("softmax down the columns", "no exp (divided by the sum)", "base 2", "not divided by the sum"),
        *("mask forgotten", "mask transposed", "mask with 0 instead of −∞"),
        *("AᵀV instead of AV", "K used for V", "V computed with W_K"),
        *("heads joined in the wrong order", "W_O forgotten", "W on the wrong side in the multiplicative score"),
        *("bias forgotten", "ReLU forgotten", "tanh forgotten", "sigmoid forgotten", "additive score without tanh"),
        *("residual forgotten", "norm before the addition", "position forgotten", "filter reversed"),
        *("n−1 in the variance", "standard deviation instead of variance", "divided by the variance"),
        *("positions from 1", "degrees instead of radians", "sine and cosine swapped", "rotation forgotten"),
        *("rotated in the wrong direction", "h_t used for h_{t−1}", "z used for 1 - z", "minus forgotten"),
        *("target minus probability", "not divided by the lengths", "square root forgotten"),
    }
)
